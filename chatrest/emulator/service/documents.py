"""Collections of documents, and single documents: a row says what they are, and serves their operations.

The handler file of a collection names its documents:

    REASONS = DocumentCollection(kind="moderation.reasons", missing="ERR_REASON_NOT_FOUND")
    HANDLERS = REASONS.handlers("moderation.reason", deleted=root_acked("The reason has been deleted."))

A body has been checked by the struct of its endpoint, and is stored as that gives it.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias, final

from msgspec import Struct

from ...resources import OPERATIONS
from ..store.documents import Document, DocumentSet
from .context import Context, Handler, ServiceCall
from .refusals import bad_request, refused
from .replies import Envelope, then

Owner: TypeAlias = Callable[[ServiceCall], str]
"""The user, provider or other document that documents belong to; refuses one that does not exist."""
Completion: TypeAlias = Callable[[Context, Document], Document]
"""Makes the document that is stored of one that was sent, with what the service adds to it."""


def nobody(call: ServiceCall) -> str:
    return ""


def as_sent(context: Context, document: Document) -> Document:
    return document


def selected(document: Mapping[str, Any], names: Mapping[str, Any] | tuple[str, ...]) -> Document:
    return {name: document[name] for name in names if name in document}


def digest(text: str) -> str:
    """Return a key that looks random, and is the same in every run."""
    return sha256(text.encode()).hexdigest()[:40]


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Return `old` with the members of `new`; objects that both have are merged likewise."""
    both = {
        name: merged(old[name], value)
        for name, value in new.items()
        if isinstance(value, dict) and isinstance(old.get(name), dict)
    }
    return {**old, **new, **both}


def apply_changes(record: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """Return `record` with the members of `changes`, and without those that its member `unset` names."""
    members = {**record, **changes}
    unset = members.pop("unset", ())
    return {name: value for name, value in members.items() if name not in unset}


@final
class DocumentCollection(Struct, frozen=True, kw_only=True):
    kind: str
    missing: str
    """The code of the error for an id that does not exist."""
    parameter: str | None = None
    """The path's parameter with the id, None for `key`; where the path has none, the id is in the body."""
    key: str = "id"
    """The document's member with the id."""
    new_key: str = "{number}"
    """The id of a document that was sent without one: of a number that no document ever had, the `digest` of
    that, the app's id (`app`), the document."""
    most: int | None = None
    """Documents of one owner: limits.counts."""
    owner: Owner = nobody
    stamp: Literal["now", "now_ms", "now_text"] | None = "now"
    """The form of `createdAt` and `updatedAt`; None for documents without them."""
    completed: Completion = as_sent

    def handlers(
        self, name: str, envelope: Envelope = lambda document: document, **others: Envelope
    ) -> dict[str, Handler]:
        """Return the handlers of the operations that there are for documents of this name.

        `name` is that of one of them, `collection.document`, or the collection alone. `others` are the
        envelopes of `listed`, `created`, `updated` and `deleted`, where they are not the `envelope` of all.
        """
        collection, _, document = name.partition(".")
        one, many = (f"_{document}", f"_{document}s") if document else ("", "")
        rows: dict[str, tuple[Handler, str]] = {
            f"list{many}": (self.list, "listed"),
            f"get{one}": (self.get, "got"),
            f"create{one}": (self.create, "created"),
            f"add{one}": (self.create, "created"),
            f"update{one}": (self.update, "updated"),
            f"delete{one}": (self.delete, "deleted"),
        }
        return {
            f"{collection}.{operation}": then(handler, others.get(result, envelope))
            for operation, (handler, result) in rows.items()
            if f"{collection}.{operation}" in OPERATIONS
        }

    def documents(self, call: ServiceCall) -> DocumentSet:
        return call.store.documents.of(self.kind, self.owner(call))

    def list(self, call: ServiceCall) -> list[Document]:
        return self.documents(call).list()

    def get(self, call: ServiceCall) -> Document:
        return self._existing(self.documents(call), call.path[self.parameter or self.key])

    def create(self, call: ServiceCall) -> Document:
        """Store a document and return it; 400 for an id that exists already, or for one too many."""
        documents = self.documents(call)
        if self.most is not None and len(documents.list()) >= self.most:
            raise refused("ERR_PLAN_QUOTA_RESTRICTION", self.most, self.kind.replace("_", " "))
        key = str(call.body.get(self.key) or self._new_key(call, call.body))
        if documents.get(key) is not None:
            raise bad_request({self.key: [f"The {self.key} has already been taken."]})
        times = self._times(call, "createdAt", "updatedAt")
        return self._put(call, documents, {**call.body, self.key: key, **times})

    def update(self, call: ServiceCall) -> Document:
        documents = self.documents(call)
        key = call.path.get(self.parameter or self.key) or str(call.body.get(self.key, ""))
        old = self._existing(documents, key)
        changed = {**merged(old, call.body), self.key: key, **self._times(call, "updatedAt")}
        return self._put(call, documents, changed)

    def delete(self, call: ServiceCall) -> Document:
        documents, key = self.documents(call), call.path[self.parameter or self.key]
        document = self._existing(documents, key)
        documents.delete(key)
        return document

    def _times(self, context: Context, *names: str) -> Document:
        return {} if self.stamp is None else dict.fromkeys(names, getattr(context, self.stamp))

    def _new_key(self, context: Context, document: Document) -> str:
        number, app = context.store.documents.next_number(), context.app.get("id")
        key = digest(f"{self.kind} {number}")
        return self.new_key.format(number=number, digest=key, app=app, document=document)

    def _put(self, context: Context, documents: DocumentSet, document: Document) -> Document:
        document = self.completed(context, document)
        documents.put(document, document[self.key])
        return document

    def _existing(self, documents: DocumentSet, key: str) -> Document:
        document = documents.get(key)
        if document is None:
            raise refused(self.missing, key)
        return document


@final
class SingleDocument(Struct, frozen=True, kw_only=True):
    kind: str
    defaults: Mapping[str, Any] | None = None
    """The values that hold where nothing was put; None: then there is no document, and a 404."""
    missing: str = ""
    """The code of the error for a document without defaults that was not put."""
    owner: Owner = nobody
    hidden: tuple[str, ...] = ()
    """Members that are accepted and never returned."""

    def get(self, call: ServiceCall) -> Document:
        document = self._documents(call).get()
        if document is None and self.defaults is None:
            raise refused(self.missing, self.kind.partition(".")[2])
        return merged(self.defaults or {}, document or {})

    def put(self, call: ServiceCall) -> Document:
        return self._store(call, call.body)

    def merge(self, call: ServiceCall) -> Document:
        return self._store(call, merged(self.get(call), call.body))

    def reset(self, call: ServiceCall) -> Document:
        self.get(call)
        self._documents(call).delete()
        return dict(self.defaults or {})

    def _documents(self, call: ServiceCall) -> DocumentSet:
        return call.store.documents.of(self.kind, self.owner(call))

    def _store(self, call: ServiceCall, document: Document) -> Document:
        document = {name: value for name, value in document.items() if name not in self.hidden}
        self._documents(call).put(document)
        return merged(self.defaults or {}, document)
