"""The operations of knowledge: uploads, texts, and what all sources have in common.

What the documents leave open: a text is indexed as soon as it is stored; a file that was announced never
comes, so it is indexing until it is synced; an agent may be given any id.
"""

from typing import Final

from msgspec.json import encode

from ..store.documents import Document
from .agent_documents import add_names, remove_names
from .agent_sources import (
    change_source,
    delete_source,
    get_source,
    in_window,
    members_of,
    new_source,
    source_type,
    sources,
)
from .context import Call, Context, Handler
from .documents import Operation, in_milliseconds, serve
from .envelopes import data_reply, root_reply, root_success, succeeded
from .numbered_pages import PageNumber, numbered_reply
from .opaque_pages import OpaquePages

_PAGES: Final = OpaquePages(member="uniqueId")
_LISTS: Final = {"uploads": "files", "website": "websites", "text": "otherKbIntegrations"}
"""The list of an agent that has the ids of each kind of source."""
_RECORD: Final = (
    "uniqueId", "appId", "sourceName", "type", "status", "lastSynced", "createdAt", "updatedAt"
)  # fmt: skip
_TEXT: Final = (
    "uniqueId", "title", "text", "fileName", "s3Key", "status", "vectorizationStatus", "isActive",
    "createdAt", "updatedAt",
)  # fmt: skip
_NEW_TEXT: Final = ("uniqueId", "title", "fileName", "s3Key", "status")
_UPLOAD: Final = ("uploadId", "fileName", "mimeType", "fileSize", "s3Key", "presignedUrl")


def list_knowledge(context: Context, call: Call) -> bytes:
    """A page of all sources, the newest first."""
    documents = in_window(sources(context).list(), call.query)
    return _PAGES.reply([members_of(each, _RECORD) for each in documents], call.query)


def list_source_pages(context: Context, call: Call) -> bytes:
    """A page of the pages of a source, one of them where no `limit` is given."""
    size, page = call.query.number("limit", 1, 1000) or 1, call.query.number("page", 1, 10**9) or 1
    call.query.check()
    texts = get_source(context, source_type(call), call.path["uniqueId"]).get("pages", [])
    rows = [
        encode({"content": text, "pageNumber": number, "charCount": len(text)})
        for number, text in enumerate(texts, start=1)
    ]
    return numbered_reply(rows[(page - 1) * size : page * size], len(rows), PageNumber(page, size))


def initiate_uploads(context: Context, call: Call) -> dict[str, list[Document]]:
    """Announce files; nothing listens at the addresses that are given."""
    files = call.read()["files"]
    return {"uploads": [members_of(_upload(context, file), _UPLOAD) for file in files]}


def _upload(context: Context, file: Document) -> Document:
    source = new_source(context, "uploads", file["fileName"], "indexing", **file)
    upload_id = source["uniqueId"]
    key = f"{context.app['id']}/{upload_id}"
    address = f"https://uploads.invalid/{key}?signature={upload_id[::-1]}"
    return change_source(context, source, uploadId=upload_id, s3Key=key, presignedUrl=address)


def list_texts(context: Context, call: Call) -> list[Document]:
    """Return the texts."""
    return [members_of(each, _TEXT) for each in sources(context).list() if each["type"] == "text"]


def get_text(context: Context, call: Call) -> Document:
    """Return a text."""
    return members_of(get_source(context, "text", call.path["uniqueId"]), _TEXT)


def create_text(context: Context, call: Call) -> Document:
    """Store a text, and return it as it was before it was indexed."""
    body = call.read()
    names = {"title": body["title"], "text": body["text"], "pages": [body["text"]]}
    source = new_source(
        context, "text", body["title"], "indexed", vectorizationStatus="completed", isActive=True, **names
    )
    file_name = f"{source['uniqueId']}.txt"
    key = f"{context.app['id']}/{file_name}"
    source = change_source(context, source, fileName=file_name, s3Key=key)
    return members_of(source | {"status": "indexing"}, _NEW_TEXT)


def update_text(context: Context, call: Call) -> Document:
    """Change a text, and return it."""
    source = get_source(context, "text", call.path["uniqueId"])
    body = members_of(call.read(), ("title", "text"))
    changed = source | body
    names = {"sourceName": changed["title"], "pages": [changed["text"]]}
    return members_of(change_source(context, source, **body, **names), _TEXT)


def delete(kind: str) -> Operation:
    """Return the operation that removes a source of this kind."""
    return lambda context, call: delete_source(context, kind, call.path["uniqueId"])


def poll_status(context: Context, call: Call) -> dict[str, str]:
    """Return the status of the sources that are known, by id."""
    ids = call.read()["uniqueId"]
    known = {each["uniqueId"]: each["status"] for each in sources(context).list()}
    return {each: known[each] for each in ids if each in known}


def sync_knowledge(context: Context, call: Call) -> None:
    """Index a source again."""
    source = get_source(context, source_type(call), call.path["uniqueId"])
    change_source(context, source, status="inSync", lastSynced=in_milliseconds(context))


def _by_source(operations: dict[str, Operation]) -> Operation:
    """Return the operation for the kind of source in the path."""
    return lambda context, call: operations[source_type(call)](context, call)


_ADD: Final = {kind: add_names(member, "uniqueIds") for kind, member in _LISTS.items()}
_REMOVE: Final = {kind: remove_names(member, "uniqueIds") for kind, member in _LISTS.items()}

KNOWLEDGE_HANDLERS: Final[dict[str, Handler]] = {
    "agents.list_knowledge": list_knowledge,
    "agents.list_source_pages": list_source_pages,
    "agents.initiate_uploads": serve(initiate_uploads, root_reply),
    "agents.delete_upload": serve(delete("uploads"), succeeded("The file has been deleted.")),
    "agents.list_texts": serve(list_texts, data_reply),
    "agents.get_text": serve(get_text, data_reply),
    "agents.create_text": serve(create_text, succeeded("The text has been stored.")),
    "agents.update_text": serve(update_text, succeeded("The text has been updated.")),
    "agents.delete_text": serve(delete("text"), succeeded("The text has been deleted.")),
    "agents.poll_knowledge_status": serve(poll_status, succeeded()),
    "agents.sync_knowledge": serve(sync_knowledge, root_success),
    "agents.add_knowledge": serve(_by_source(_ADD), root_success),
    "agents.remove_knowledge": serve(_by_source(_REMOVE), root_success),
}
