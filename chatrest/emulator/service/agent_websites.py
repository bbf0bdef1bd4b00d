"""The operations of websites, and of the addresses that they led to.

What the documents leave open: the emulator reads no website. Each of them leads to a few addresses below its
own, whose contents are made up, and all of them are read without a failure.
"""

from typing import Any, Final

from ..store.documents import Document, DocumentSet
from .agent_sources import change_source, delete_source, get_source, in_window, new_id, new_source
from .context import Call, Context, Handler
from .documents import as_iso_text, in_milliseconds, serve
from .envelopes import succeeded
from .opaque_pages import OpaquePages

_PAGES: Final = OpaquePages(member="urlId")
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
    return _PAGES.reply([each for each in documents if status in (None, each["status"])], call.query)


def _read(context: Context, website: Document, urls: list[Document], *, retries: int = 0) -> None:
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
    _read(context, website, chosen)
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
    _read(context, website, chosen, retries=1)
    return {"urlsRetried": len(chosen)}


def delete_website(context: Context, call: Call) -> dict[str, str]:
    """Remove a website, and the addresses that it led to."""
    deleted = delete_source(context, "website", call.path["uniqueId"])
    _discovered(context, deleted["uniqueId"]).clear()
    return deleted


WEBSITE_HANDLERS: Final[dict[str, Handler]] = {
    "agents.scrape_website": serve(scrape_website, succeeded("The website has been read.")),
    "agents.scrape_page": serve(scrape_page, succeeded("The page has been read.")),
    "agents.delete_website": serve(delete_website, succeeded("The website has been deleted.")),
    "agents.list_discovered_urls": list_urls,
    "agents.process_discovered_urls": serve(process_urls, succeeded("The addresses are being processed.")),
    "agents.poll_discovered_urls": serve(poll_urls, succeeded()),
    "agents.retry_discovered_urls": serve(retry_urls, succeeded("The addresses are read again.")),
}
