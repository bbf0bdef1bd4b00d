"""The sources of knowledge as documents of one kind: files, texts and websites, each with its `type`.

Their ids ascend with their age, as the lists of them go by the age.
"""

from collections.abc import Iterable
from typing import Any, Final

from ..store.documents import Document, DocumentSet
from .arguments import Arguments
from .context import Call, Context
from .documents import in_milliseconds
from .refusals import bad_request, refused

_SOURCES: Final = "agents.sources"
_TYPES: Final = ("uploads", "text", "website")


def sources(context: Context) -> DocumentSet:
    """Return all sources."""
    return context.store.documents.of(_SOURCES)


def new_id(context: Context, kind: str) -> str:
    """Return an id above all others of its kind, compared as text."""
    return f"{kind}-{context.store.documents.next_number():012}"


def new_source(context: Context, kind: str, name: str, status: str, **members: Any) -> Document:
    """Store a source, and return it."""
    times = dict.fromkeys(("createdAt", "updatedAt"), in_milliseconds(context))
    document = {
        "uniqueId": new_id(context, "source"), "appId": context.app["id"], "sourceName": name, "type": kind,
        "status": status, **times, **members,
    }  # fmt: skip
    sources(context).put(document, document["uniqueId"])
    return document


def get_source(context: Context, kind: str, id: str) -> Document:
    """Return a source; 404 where there is none of this kind."""
    document = sources(context).get(id)
    if document is None or document["type"] != kind:
        raise refused("ERR_KB_NOT_FOUND", id)
    return document


def change_source(context: Context, source: Document, **members: Any) -> Document:
    """Change members of a source, and return it."""
    document = {**source, **members, "updatedAt": in_milliseconds(context)}
    sources(context).put(document, document["uniqueId"])
    return document


def delete_source(context: Context, kind: str, id: str) -> dict[str, str]:
    """Remove a source, and return its id."""
    get_source(context, kind, id)
    sources(context).delete(id)
    return {"uniqueId": id}


def source_type(call: Call) -> str:
    """Return the kind of a source in a path; 400 for one that is not known."""
    kind = call.path["sourceType"]
    if kind not in _TYPES:
        raise bad_request({"sourceType": [f"The sourceType must be one of {', '.join(_TYPES)}."]})
    return kind


def in_window(documents: Iterable[Document], query: Arguments) -> list[Document]:
    """Return the documents that were created from `startTime` to `endTime`, both ends included."""
    start, end = query.number("startTime") or 0, query.number("endTime")
    query.check()
    return [each for each in documents if start <= each["createdAt"] <= (end or each["createdAt"])]


def members_of(document: Document, names: Iterable[str]) -> Document:
    """Return the members of a document that have these names."""
    return {name: document[name] for name in names if name in document}
