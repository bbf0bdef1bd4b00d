"""The operations of restricted features: any text is the key of a feature here."""

from typing import Final

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .envelopes import ack_reply, data_reply
from .item_acks import item_acks
from .numbered_pages import serve_pages
from .roles import role_of_path


def _features(context: Context, call: Call) -> DocumentSet:
    """Return the features that are switched off for the role of the path."""
    return context.store.documents.of("restricted_features", role_of_path(context, call))


def list_features(context: Context, call: Call) -> list[Document]:
    """Return the features that are switched off for a role."""
    return _features(context, call).list()


def restrict_features(context: Context, call: Call) -> bytes:
    """Switch features off; a repeated restriction is no error."""
    features = _features(context, call)
    keys = call.read()["featuresToRestrict"]
    return data_reply(item_acks(keys, lambda key: _restrict(context, features, key)))


def _restrict(context: Context, features: DocumentSet, key: str) -> str:
    if features.get(key) is None:
        title = key.rpartition(".")[2]
        record = {"title": title, "description": f"Restricts {title}.", "key": key, "path": ""}
        features.put(record | {"createdAt": context.now}, key)
    return f"The feature {key} has been restricted."


def allow_features(context: Context, call: Call) -> bytes:
    """Switch features on again; one that was not off is no error."""
    features, body = _features(context, call), call.read()
    if body.get("allowAll"):
        features.clear()
    for key in body.get("featuresToAllow", ()):
        features.delete(key)
    return ack_reply("The features have been allowed.")


HANDLERS: Final[dict[str, Handler]] = {
    "restricted_features.list": serve_pages(list_features),
    "restricted_features.restrict": restrict_features,
    "restricted_features.allow": allow_features,
}
