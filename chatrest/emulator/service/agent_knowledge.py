"""The operations of knowledge: uploads, texts and websites are documents of one kind, each with its `type`.

Their ids ascend with their age, as the lists of them go by the age. What the documents leave open: a text is
indexed as soon as it is stored; a file that was announced never comes, so it is indexing until it is synced;
an agent may be given any id. The emulator reads no website: each of them leads to a few addresses below its
own, whose contents are made up, and all of them are read without a failure.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.json import encode

from ..store.documents import Document, DocumentSet
from .agents import add_names, remove_names
from .arguments import Arguments
from .context import Call, Context, Handler
from .documents import Operation, as_iso_text, in_milliseconds, serve
from .envelopes import data_reply, root_reply, root_success, succeeded
from .pages import OpaquePages, PageNumber, numbered_reply
from .refusals import bad_request, refused

_SOURCES: Final = "agents.sources"
_TYPES: Final = ("uploads", "text", "website")


def sources(context: Context) -> DocumentSet:
    return context.store.documents.of(_SOURCES)


def new_id(context: Context, kind: str) -> str:
    """Return an id above all others of its kind, compared as text."""
    return f"{kind}-{context.store.documents.next_number():012}"


def new_source(context: Context, kind: str, name: str, status: str, **members: Any) -> Document:
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
    document = {**source, **members, "updatedAt": in_milliseconds(context)}
    sources(context).put(document, document["uniqueId"])
    return document


def delete_source(context: Context, kind: str, id: str) -> dict[str, str]:
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
    return {name: document[name] for name in names if name in document}


# ── sources of all kinds ──


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
    return [members_of(each, _TEXT) for each in sources(context).list() if each["type"] == "text"]


def get_text(context: Context, call: Call) -> Document:
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
    source = get_source(context, "text", call.path["uniqueId"])
    body = members_of(call.read(), ("title", "text"))
    changed = source | body
    names = {"sourceName": changed["title"], "pages": [changed["text"]]}
    return members_of(change_source(context, source, **body, **names), _TEXT)


def delete(kind: str) -> Operation:
    return lambda context, call: delete_source(context, kind, call.path["uniqueId"])


def poll_status(context: Context, call: Call) -> dict[str, str]:
    """Return the status of the sources that are known, by id."""
    ids = call.read()["uniqueId"]
    known = {each["uniqueId"]: each["status"] for each in sources(context).list()}
    return {each: known[each] for each in ids if each in known}


def sync_knowledge(context: Context, call: Call) -> None:
    source = get_source(context, source_type(call), call.path["uniqueId"])
    change_source(context, source, status="inSync", lastSynced=in_milliseconds(context))


def _by_source(operations: dict[str, Operation]) -> Operation:
    """Return the operation for the kind of source in the path."""
    return lambda context, call: operations[source_type(call)](context, call)


_ADD: Final = {kind: add_names(member, "uniqueIds") for kind, member in _LISTS.items()}
_REMOVE: Final = {kind: remove_names(member, "uniqueIds") for kind, member in _LISTS.items()}


# ── websites ──


_URL_PAGES: Final = OpaquePages(member="urlId")
_URLS: Final = 12
"""The addresses that a website leads to at most."""
_STATES: Final = ("discovered", "processing", "processed", "failed", "skipped")


def _discovered(context: Context, parent: str) -> DocumentSet:
    return context.store.documents.of("agents.discovered_urls", parent)


def scrape_website(context: Context, call: Call) -> Document:
    """Store a website, and the addresses below it that `include` and `exclude` let through."""
    body = call.read()
    website = new_source(context, "website", body["url"], "indexing", pages=[])
    count = min(_URLS, int(body.get("maxPages", 100)))
    addresses = [f"{body['url'].rstrip('/')}/page-{number}" for number in range(1, count + 1)]
    include, exclude = body.get("include") or [""], body.get("exclude") or []
    kept = [
        address
        for address in addresses
        if any(part in address for part in include) and not any(part in address for part in exclude)
    ]
    for address in kept:
        _add_url(context, website["uniqueId"], address)
    return {
        "crawlId": website["uniqueId"],
        "crawlDuration": 0,
        "status": "completed",
        "sitemap": kept if body.get("fetchSitemap") else [],
    }


def _add_url(context: Context, parent: str, address: str) -> None:
    now = in_milliseconds(context)
    document: Document = {
        "urlId": new_id(context, "url"), "url": address, "title": address.rpartition("/")[2],
        "description": "", "content": f"Content of {address}", "status": "discovered", "lastCrawledAt": now,
        "retryCount": 0, "vectorizationStatus": "pending", "chunksCreated": 0, "embeddingsGenerated": 0,
        "createdAt": now, "updatedAt": now,
    }  # fmt: skip
    _discovered(context, parent).put(document, document["urlId"])


def scrape_page(context: Context, call: Call) -> Document:
    """Return a content that is made up."""
    body = call.read()
    content = f"Content of {body['url']}"
    return {
        "url": body["url"], "title": body["url"].rpartition("/")[2], "description": "", "content": content,
        "metadata": {"format": body.get("format", "markdown")}, "scraper": "emulated", "crawlDuration": 0,
        "contentLength": len(content), "timestamp": as_iso_text(context),
    }  # fmt: skip


def _website(context: Context, call: Call) -> Document:
    return get_source(context, "website", call.path["parentUniqueId"])


def list_urls(context: Context, call: Call) -> bytes:
    """A page of the addresses, the newest first."""
    status = call.query.choice("status", _STATES)
    website = _website(context, call)
    documents = in_window(_discovered(context, website["uniqueId"]).list(), call.query)
    return _URL_PAGES.reply([each for each in documents if status in (None, each["status"])], call.query)


def _read_urls(context: Context, website: Document, urls: list[Document], *, retries: int = 0) -> None:
    """Read addresses: what they say becomes pages of the website."""
    now = in_milliseconds(context)
    for url in urls:
        document: Document = url | {
            "status": "processed", "vectorizationStatus": "completed", "chunksCreated": 1,
            "embeddingsGenerated": 1, "lastCrawledAt": now, "updatedAt": now,
            "retryCount": url["retryCount"] + retries,
        }  # fmt: skip
        _discovered(context, website["uniqueId"]).put(document, document["urlId"])
    pages = dict.fromkeys([*website["pages"], *(url["content"] for url in urls)])
    change_source(context, website, status="indexed", pages=list(pages))


def process_urls(context: Context, call: Call) -> dict[str, Any]:
    """Read the addresses that are not left out; those are skipped."""
    website, left_out = _website(context, call), call.read()["exclude"]
    documents = _discovered(context, website["uniqueId"])
    urls = documents.list()
    for url in urls:
        if url["urlId"] in left_out:
            documents.put(url | {"status": "skipped"}, url["urlId"])
    chosen = [url for url in urls if url["urlId"] not in left_out]
    _read_urls(context, website, chosen)
    return {
        "batchId": new_id(context, "batch"), "urlsProcessed": len(chosen), "totalUrls": len(urls),
        "webhookUrl": "", "status": "processing",
    }  # fmt: skip


def poll_urls(context: Context, call: Call) -> dict[str, str]:
    """Return the status of the addresses that are known, by id."""
    ids = call.read()["uniqueId"]
    urls = _discovered(context, _website(context, call)["uniqueId"]).list()
    return {url["urlId"]: url["status"] for url in urls if url["urlId"] in ids}


def retry_urls(context: Context, call: Call) -> dict[str, int]:
    """Read addresses again; all that failed where none is named."""
    website, ids = _website(context, call), call.read()["uniqueIds"]
    urls = _discovered(context, website["uniqueId"]).list()
    chosen = [url for url in urls if (url["urlId"] in ids if ids else url["status"] == "failed")]
    _read_urls(context, website, chosen, retries=1)
    return {"urlsRetried": len(chosen)}


def delete_website(context: Context, call: Call) -> dict[str, str]:
    """Remove a website, and the addresses that it led to."""
    deleted = delete_source(context, "website", call.path["uniqueId"])
    _discovered(context, deleted["uniqueId"]).clear()
    return deleted


HANDLERS: Final[dict[str, Handler]] = {
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
    "agents.scrape_website": serve(scrape_website, succeeded("The website has been read.")),
    "agents.scrape_page": serve(scrape_page, succeeded("The page has been read.")),
    "agents.delete_website": serve(delete_website, succeeded("The website has been deleted.")),
    "agents.list_discovered_urls": list_urls,
    "agents.process_discovered_urls": serve(process_urls, succeeded("The addresses are being processed.")),
    "agents.poll_discovered_urls": serve(poll_urls, succeeded()),
    "agents.retry_discovered_urls": serve(retry_urls, succeeded("The addresses are read again.")),
}
