"""The shapes that the operations of many collections share: a collection of documents, and settings.

The handler file of a collection names its documents, and says which operation is which method, and in which
envelope its result is served:

    REASONS = DocumentCollection(kind="moderation.reasons", missing="ERR_REASON_NOT_FOUND")
    HANDLERS = {"moderation.get_reason": serve(REASONS.get, data_reply), …}

A body is checked by the struct of its endpoint, and stored as it was sent.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, final

from msgspec import Struct

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .envelopes import Envelope, current_reply
from .refusals import Refusal, bad_request, refused

Operation: TypeAlias = Callable[[Context, Call], Any]
"""Does what an operation does, and gives what its reply holds."""
Owner: TypeAlias = Callable[[Context, Call], str]
"""The user, provider or other document that documents belong to; refuses one that does not exist."""
Reader: TypeAlias = Callable[[Call], Document]
"""Makes a document of a call's body."""
Written: TypeAlias = Callable[[Context, Document], Document]
"""Makes the document that is stored of one that was sent, with what the service adds to it."""


def serve(operation: Operation, envelope: Envelope) -> Handler:
    def handle(context: Context, call: Call) -> bytes:
        return envelope(operation(context, call))

    return handle


def serve_list(operation: Operation, default_limit: int = 100) -> Handler:
    """Return the handler of a list with `meta.current`, whose query may have a `limit` (1 to 1000)."""

    def handle(context: Context, call: Call) -> bytes:
        limit = call.query.number("limit", 1, 1000) or default_limit
        call.query.check()
        return current_reply(operation(context, call)[:limit], limit)

    return handle


def nobody(context: Context, call: Call) -> str:
    return ""


def as_sent(context: Context, document: Document) -> Document:
    return document


def in_seconds(context: Context) -> int:
    return context.now


def in_milliseconds(context: Context) -> int:
    return int(context.clock() * 1000)


def as_iso_text(context: Context) -> str:
    """Return the current time as ISO 8601 text with milliseconds."""
    moment = datetime.fromtimestamp(context.clock(), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Return `old` with the members of `new`; objects that both have are merged likewise."""
    both = {
        name: merged(old[name], value)
        for name, value in new.items()
        if isinstance(value, dict) and isinstance(old.get(name), dict)
    }
    return {**old, **new, **both}


@final
class DocumentCollection(Struct, frozen=True, kw_only=True):
    """Documents with ids: list, get, create, update, delete."""

    kind: str
    missing: str
    """The code of the error for an id that does not exist."""
    parameter: str = "id"
    """The path's parameter with the id; where the path has none, the id is in the body."""
    key: str = "id"
    """The document's member with the id."""
    new_key: str = "{number}"
    """The id of a document that was sent without one: of a number that no document ever had, the app's id
    (`app`), the document."""
    owner: Owner = nobody
    stamp: Callable[[Context], Any] | None = in_seconds
    """The value of `createdAt` and `updatedAt`; None for documents without them."""
    read: Reader = Call.read
    written: Written = as_sent

    def documents(self, context: Context, call: Call) -> DocumentSet:
        return context.store.documents.of(self.kind, self.owner(context, call))

    def list(self, context: Context, call: Call) -> list[Document]:
        return self.documents(context, call).list()

    def get(self, context: Context, call: Call) -> Document:
        return self._existing(self.documents(context, call), call.path[self.parameter])

    def create(self, context: Context, call: Call) -> Document:
        """Store a document and return it; 400 for an id that exists already."""
        documents, document = self.documents(context, call), self.read(call)
        key = str(document.get(self.key) or self._key_of(context, document))
        if documents.get(key) is not None:
            raise bad_request({self.key: [f"The {self.key} has already been taken."]})
        times = {} if self.stamp is None else dict.fromkeys(("createdAt", "updatedAt"), self.stamp(context))
        document = self.written(context, {**document, self.key: key, **times})
        documents.put(document, key)
        return document

    def update(self, context: Context, call: Call) -> Document:
        """Change the members that were sent, and return the document; its id stays."""
        documents, change = self.documents(context, call), self.read(call)
        key = call.path.get(self.parameter) or str(change.get(self.key, ""))
        old = self._existing(documents, key)
        times = {} if self.stamp is None else {"updatedAt": self.stamp(context)}
        document = self.written(context, {**merged(old, change), self.key: key, **times})
        documents.put(document, key)
        return document

    def delete(self, context: Context, call: Call) -> Document:
        documents, key = self.documents(context, call), call.path[self.parameter]
        document = self._existing(documents, key)
        documents.delete(key)
        return document

    def _key_of(self, context: Context, document: Document) -> str:
        number, app = context.store.documents.next_number(), context.app.get("id")
        return self.new_key.format(number=number, app=app, document=document)

    def _existing(self, documents: DocumentSet, key: str) -> Document:
        document = documents.get(key)
        if document is None:
            raise refused(self.missing, key)
        return document


@final
class Settings(Struct, frozen=True, kw_only=True):
    """One document of the app, or of each user: get, put, merge, reset."""

    kind: str
    defaults: Mapping[str, Any] | None = None
    """The values that hold where nothing was put; None: then there is no document, and a 404."""
    missing: str = ""
    """The code of the error for a document without defaults that was not put."""
    owner: Owner = nobody
    written: Written = as_sent

    def get(self, context: Context, call: Call) -> Document:
        """Return the document, with the defaults of what was not put."""
        owner = self.owner(context, call)
        document = context.store.documents.of(self.kind, owner).get()
        if document is None and self.defaults is None and self.missing:
            raise refused(self.missing, self.kind.partition(".")[2])
        return merged(self.defaults or {}, document or {})

    def put(self, context: Context, call: Call) -> Document:
        return self._store(context, call, call.read())

    def merge(self, context: Context, call: Call) -> Document:
        """Change the parts that were sent, and return the document."""
        change = call.read()
        return self._store(context, call, merged(self.get(context, call), change))

    def reset(self, context: Context, call: Call) -> Document:
        """Remove what was put, and return the defaults."""
        self.get(context, call)
        context.store.documents.of(self.kind, self.owner(context, call)).delete()
        return dict(self.defaults or {})

    def _store(self, context: Context, call: Call, document: Document) -> Document:
        document = self.written(context, document)
        context.store.documents.of(self.kind, self.owner(context, call)).put(document)
        return merged(self.defaults or {}, document)


def with_quota(create: Operation, collection: DocumentCollection, most: int) -> Operation:
    """Return `create`, refused with 400 where there are `most` documents already (limits.counts)."""

    def create_within_quota(context: Context, call: Call) -> Any:
        if len(collection.list(context, call)) >= most:
            message = f"The plan allows {most} of {collection.kind.replace('_', ' ')}."
            raise Refusal(400, "ERR_PLAN_QUOTA_RESTRICTION", message)
        return create(context, call)

    return create_within_quota


def apply_changes(record: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `record` with the members of `changes`, and without those that its member `unset` names."""
    members = {**record, **changes}
    unset = members.pop("unset", ())
    return {name: value for name, value in members.items() if name not in unset}
