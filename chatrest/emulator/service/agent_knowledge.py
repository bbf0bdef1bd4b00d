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
from .agents import change_names
from .context import Context, Handler, ServiceCall
from .documents import selected
from .refusals import bad_request, refused
from .replies import cursor_reply, numbered_reply, page_number, root, root_acked, succeeded, then

_LISTS: Final = {"uploads": "files", "website": "websites", "text": "otherKbIntegrations"}
"""The list of an agent that has the ids of each kind of source."""


def sources(context: Context) -> DocumentSet:
    return context.store.documents.of("agents.sources")


def new_id(context: Context, kind: str) -> str:
    """Return an id above all others of its kind, compared as text."""
    return f"{kind}-{context.store.documents.next_number():012}"


def new_source(context: Context, kind: str, name: str, status: str, **members: Any) -> Document:
    source = {"uniqueId": new_id(context, "source"), "appId": context.app["id"], "sourceName": name}
    source |= {"type": kind, "status": status, "createdAt": context.now_ms, **members}
    return change_source(context, source)


def get_source(context: Context, kind: str, id: str) -> Document:
    document = sources(context).get(id)
    if document is None or document["type"] != kind:
        raise refused("ERR_KB_NOT_FOUND", id)
    return document


def change_source(context: Context, source: Document, **members: Any) -> Document:
    document = {**source, **members, "updatedAt": context.now_ms}
    sources(context).put(document, document["uniqueId"])
    return document


def _source_type(call: ServiceCall) -> str:
    kind = call.path["sourceType"]
    if kind not in _LISTS:
        raise bad_request({"sourceType": [f"The sourceType must be one of {', '.join(_LISTS)}."]})
    return kind


def _in_window(documents: Iterable[Document], call: ServiceCall) -> list[Document]:
    """Return the documents that were created from `startTime` to `endTime`, both ends included."""
    start, end = call.query.get("startTime", 0), call.query.get("endTime")
    return [each for each in documents if start <= each["createdAt"] <= (end or each["createdAt"])]


# ── sources of all kinds ──


_RECORD: Final = (
    "uniqueId", "appId", "sourceName", "type", "status", "lastSynced", "createdAt", "updatedAt"
)  # fmt: skip
_TEXT: Final = (
    "uniqueId", "title", "text", "fileName", "s3Key", "status", "vectorizationStatus", "isActive",
    "createdAt", "updatedAt",
)  # fmt: skip
_NEW_TEXT: Final = ("uniqueId", "title", "fileName", "s3Key", "status")
_UPLOAD: Final = ("uploadId", "fileName", "mimeType", "fileSize", "s3Key", "presignedUrl")


def list_knowledge(call: ServiceCall) -> bytes:
    documents = _in_window(sources(call).list(), call)
    return cursor_reply([selected(each, _RECORD) for each in documents], call.query, "uniqueId")


def list_source_pages(call: ServiceCall) -> bytes:
    number = page_number(call.query, 1, "limit")
    texts = get_source(call, _source_type(call), call.path["uniqueId"]).get("pages", [])
    rows = [
        encode({"content": text, "pageNumber": index, "charCount": len(text)})
        for index, text in enumerate(texts, start=1)
    ]
    return numbered_reply(number.of(rows), len(rows), number)


def initiate_uploads(call: ServiceCall) -> dict[str, list[Document]]:
    """Announce files; nothing listens at the addresses that are given."""
    return {"uploads": [selected(_upload(call, file), _UPLOAD) for file in call.body["files"]]}


def _upload(context: Context, file: Document) -> Document:
    source = new_source(context, "uploads", file["fileName"], "indexing", **file)
    upload_id = source["uniqueId"]
    key = f"{context.app['id']}/{upload_id}"
    address = f"https://uploads.invalid/{key}?signature={upload_id[::-1]}"
    return change_source(context, source, uploadId=upload_id, s3Key=key, presignedUrl=address)


def list_texts(call: ServiceCall) -> list[Document]:
    return [selected(each, _TEXT) for each in sources(call).list() if each["type"] == "text"]


def get_text(call: ServiceCall) -> Document:
    return selected(get_source(call, "text", call.path["uniqueId"]), _TEXT)


def create_text(call: ServiceCall) -> Document:
    """Store a text, and return it as it was before it was indexed."""
    title, text = call.body["title"], call.body["text"]
    source = new_source(
        call, "text", title, "indexed", vectorizationStatus="completed", isActive=True,
        title=title, text=text, pages=[text],
    )  # fmt: skip
    file_name = f"{source['uniqueId']}.txt"
    source = change_source(call, source, fileName=file_name, s3Key=f"{call.app['id']}/{file_name}")
    return selected(source | {"status": "indexing"}, _NEW_TEXT)


def update_text(call: ServiceCall) -> Document:
    changed = get_source(call, "text", call.path["uniqueId"]) | call.body
    names = {"sourceName": changed["title"], "pages": [changed["text"]]}
    return selected(change_source(call, changed, **names), _TEXT)


def delete(kind: str) -> Handler:
    def handle(call: ServiceCall) -> dict[str, str]:
        source_id = call.path["uniqueId"]
        get_source(call, kind, source_id)
        sources(call).delete(source_id)
        _discovered(call, source_id).clear()
        return {"uniqueId": source_id}

    return handle


def poll_status(call: ServiceCall) -> dict[str, str]:
    ids = call.body["uniqueId"]
    return {each["uniqueId"]: each["status"] for each in sources(call).list() if each["uniqueId"] in ids}


def sync_knowledge(call: ServiceCall) -> None:
    source = get_source(call, _source_type(call), call.path["uniqueId"])
    change_source(call, source, status="inSync", lastSynced=call.now_ms)


def _of_agent(*check: Any) -> Handler:
    return lambda call: change_names(_LISTS[_source_type(call)], "uniqueIds", *check)(call)


# ── websites ──


_URLS: Final = 12
"""The addresses that a website leads to at most."""


def _discovered(context: Context, parent: str) -> DocumentSet:
    return context.store.documents.of("agents.discovered_urls", parent)


def scrape_website(call: ServiceCall) -> Document:
    """Store a website, and the addresses below it that `include` and `exclude` let through."""
    body = call.body
    website = new_source(call, "website", body["url"], "indexing", pages=[])
    count = min(_URLS, body.get("maxPages", 100))
    addresses = [f"{body['url'].rstrip('/')}/page-{number}" for number in range(1, count + 1)]
    include, exclude = body.get("include") or [""], body.get("exclude") or []
    kept = [
        address
        for address in addresses
        if any(part in address for part in include) and not any(part in address for part in exclude)
    ]
    for address in kept:
        _add_url(call, website["uniqueId"], address)
    sitemap = kept if body.get("fetchSitemap") else []
    return {"crawlId": website["uniqueId"], "crawlDuration": 0, "status": "completed", "sitemap": sitemap}


def _add_url(context: Context, parent: str, address: str) -> None:
    now = context.now_ms
    document: Document = {
        "urlId": new_id(context, "url"), "url": address, "title": address.rpartition("/")[2],
        "description": "", "content": f"Content of {address}", "status": "discovered", "lastCrawledAt": now,
        "retryCount": 0, "vectorizationStatus": "pending", "chunksCreated": 0, "embeddingsGenerated": 0,
        "createdAt": now, "updatedAt": now,
    }  # fmt: skip
    _discovered(context, parent).put(document, document["urlId"])


def scrape_page(call: ServiceCall) -> Document:
    url, content = call.body["url"], f"Content of {call.body['url']}"
    return {
        "url": url, "title": url.rpartition("/")[2], "description": "", "content": content,
        "metadata": {"format": call.body.get("format", "markdown")}, "scraper": "emulated",
        "crawlDuration": 0, "contentLength": len(content), "timestamp": call.now_text,
    }  # fmt: skip


def _website(call: ServiceCall) -> Document:
    return get_source(call, "website", call.path["parentUniqueId"])


def _urls(call: ServiceCall) -> list[Document]:
    return _discovered(call, _website(call)["uniqueId"]).list()


def list_urls(call: ServiceCall) -> bytes:
    status, documents = call.query.get("status"), _in_window(_urls(call), call)
    return cursor_reply([each for each in documents if status in (None, each["status"])], call.query, "urlId")


def _read_urls(context: Context, website: Document, urls: list[Document], *, retries: int = 0) -> None:
    """Read addresses: what they say becomes pages of the website."""
    now = context.now_ms
    for url in urls:
        document: Document = url | {
            "status": "processed", "vectorizationStatus": "completed", "chunksCreated": 1,
            "embeddingsGenerated": 1, "lastCrawledAt": now, "updatedAt": now,
            "retryCount": url["retryCount"] + retries,
        }  # fmt: skip
        _discovered(context, website["uniqueId"]).put(document, document["urlId"])
    pages = dict.fromkeys([*website["pages"], *(url["content"] for url in urls)])
    change_source(context, website, status="indexed", pages=list(pages))


def process_urls(call: ServiceCall) -> Document:
    """Read the addresses that are not left out; those are skipped."""
    website, urls, left_out = _website(call), _urls(call), call.body["exclude"]
    chosen = [url for url in urls if url["urlId"] not in left_out]
    for url in urls:
        if url["urlId"] in left_out:
            _discovered(call, website["uniqueId"]).put(url | {"status": "skipped"}, url["urlId"])
    _read_urls(call, website, chosen)
    return {
        "batchId": new_id(call, "batch"), "urlsProcessed": len(chosen), "totalUrls": len(urls),
        "webhookUrl": "", "status": "processing",
    }  # fmt: skip


def poll_urls(call: ServiceCall) -> dict[str, str]:
    return {url["urlId"]: url["status"] for url in _urls(call) if url["urlId"] in call.body["uniqueId"]}


def retry_urls(call: ServiceCall) -> dict[str, int]:
    """Read addresses again; all that failed where none is named."""
    ids, urls = call.body["uniqueIds"], _urls(call)
    chosen = [url for url in urls if (url["urlId"] in ids if ids else url["status"] == "failed")]
    _read_urls(call, _website(call), chosen, retries=1)
    return {"urlsRetried": len(chosen)}


HANDLERS: Final[dict[str, Handler]] = {
    "agents.list_knowledge": list_knowledge,
    "agents.list_source_pages": list_source_pages,
    "agents.initiate_uploads": then(initiate_uploads, root),
    "agents.delete_upload": then(delete("uploads"), succeeded("The file has been deleted.")),
    "agents.list_texts": list_texts,
    "agents.get_text": get_text,
    "agents.create_text": then(create_text, succeeded("The text has been stored.")),
    "agents.update_text": then(update_text, succeeded("The text has been updated.")),
    "agents.delete_text": then(delete("text"), succeeded("The text has been deleted.")),
    "agents.poll_knowledge_status": then(poll_status, succeeded()),
    "agents.sync_knowledge": then(sync_knowledge, root_acked()),
    "agents.add_knowledge": then(_of_agent(lambda *_: None), root_acked()),
    "agents.remove_knowledge": then(_of_agent(), root_acked()),
    "agents.scrape_website": then(scrape_website, succeeded("The website has been read.")),
    "agents.scrape_page": then(scrape_page, succeeded("The page has been read.")),
    "agents.delete_website": then(delete("website"), succeeded("The website has been deleted.")),
    "agents.list_discovered_urls": list_urls,
    "agents.process_discovered_urls": then(process_urls, succeeded("The addresses are being processed.")),
    "agents.poll_discovered_urls": then(poll_urls, succeeded()),
    "agents.retry_discovered_urls": then(retry_urls, succeeded("The addresses are read again.")),
}
