"""The knowledge of agents: sources of all kinds, and the sources of each agent.

A file is uploaded in two steps: `initiate_uploads` returns an address, and the caller sends the file there.
The address is on another host, and how to send the file is not documented.
"""

from collections.abc import Sequence
from typing import Any, Final

from .._core.replies.decode import ACK, Ack, bare, many, one
from .._core.requests.dialects import BY_CURSOR, Paging
from .._core.requests.endpoint import Endpoint
from .._models.agent_knowledge import (
    DiscoveredUrl,
    KnowledgeAck,
    KnowledgeRecord,
    KnowledgeStatuses,
    KnowledgeText,
    PresignedUploads,
    ScrapedPage,
    SourcePage,
    UrlBatch,
    WebsiteCrawl,
)
from .._parameters.agent_knowledge import (
    DiscoveredUrlQuery,
    KnowledgeQuery,
    KnowledgeTextChanges,
    NewKnowledgeText,
    NewUploads,
    PageToScrape,
    PolledSources,
    SourceIds,
    SourcePageQuery,
    Uploads,
    UrlsToLeaveOut,
    WebsiteToScrape,
    checked_source,
)
from .._parameters.fields import SourceType
from .._walk.walk import Walk
from .collection import Collection, WalkStart

_KNOWLEDGE: Final = "/ai-agents/agent-builder/knowledge-base"
_AGENT_KNOWLEDGE: Final = "/ai-agents/agent-builder/agents/{uid}/knowledge-base/{sourceType}"
_BY_SOURCE_PAGE: Final = Paging(positions=False, numbered=True, size="limit", largest=100)


def _source_pages(reply: Any) -> dict[str, Any] | None:
    """Return a list reply of pages: they are in `data`, or as in older documents in `data.pageContent`."""
    data = reply.get("data") if isinstance(reply, dict) else None
    records = data.get("pageContent", []) if isinstance(data, dict) else data
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        return None
    names = ("content", "pageNumber", "charCount")
    pages = [
        {"members": record} | {name: record[name] for name in names if name in record} for record in records
    ]
    return {"data": pages} | {name: reply[name] for name in ("meta", "cursor") if name in reply}


LIST_KNOWLEDGE: Final = Endpoint(
    "agents.list_knowledge", "GET", _KNOWLEDGE, many(KnowledgeRecord), query=KnowledgeQuery, paging=BY_CURSOR
)
LIST_SOURCE_PAGES: Final = Endpoint(
    "agents.list_source_pages", "GET", f"{_KNOWLEDGE}/{{sourceType}}/{{uniqueId}}/pages",
    many(SourcePage, _source_pages), query=SourcePageQuery, paging=_BY_SOURCE_PAGE,
)  # fmt: skip
INITIATE_UPLOADS: Final = Endpoint(
    "agents.initiate_uploads", "POST", f"{_KNOWLEDGE}/uploads/initiate", bare(PresignedUploads), "never",
    body=NewUploads,
)  # fmt: skip
DELETE_UPLOAD: Final = Endpoint(
    "agents.delete_upload", "DELETE", f"{_KNOWLEDGE}/uploads/{{uniqueId}}", bare(KnowledgeAck), "idempotent"
)
POLL_KNOWLEDGE_STATUS: Final = Endpoint(
    "agents.poll_knowledge_status", "POST", f"{_KNOWLEDGE}/status/poll", bare(KnowledgeStatuses), "safe",
    body=PolledSources,
)  # fmt: skip
SYNC_KNOWLEDGE: Final = Endpoint(
    "agents.sync_knowledge", "PATCH", f"{_KNOWLEDGE}/{{sourceType}}/{{uniqueId}}/sync", ACK, "never"
)
ADD_KNOWLEDGE: Final = Endpoint(
    "agents.add_knowledge", "PATCH", f"{_AGENT_KNOWLEDGE}/add", ACK, "idempotent", body=SourceIds
)
REMOVE_KNOWLEDGE: Final = Endpoint(
    "agents.remove_knowledge", "PATCH", f"{_AGENT_KNOWLEDGE}/remove", ACK, "idempotent", body=SourceIds
)

_TEXTS: Final = "/ai-agents/agent-builder/knowledge-base/text"
_TEXT: Final = f"{_TEXTS}/{{uniqueId}}"

LIST_TEXTS: Final = Endpoint("agents.list_texts", "GET", _TEXTS, many(KnowledgeText))
GET_TEXT: Final = Endpoint("agents.get_text", "GET", _TEXT, one(KnowledgeText))
CREATE_TEXT: Final = Endpoint(
    "agents.create_text", "POST", _TEXTS, one(KnowledgeText), "never", body=NewKnowledgeText
)
UPDATE_TEXT: Final = Endpoint(
    "agents.update_text", "PATCH", _TEXT, bare(KnowledgeAck), "idempotent", body=KnowledgeTextChanges
)
DELETE_TEXT: Final = Endpoint("agents.delete_text", "DELETE", _TEXT, bare(KnowledgeAck), "idempotent")

_WEBSITE: Final = "/ai-agents/agent-builder/knowledge-base/website"
_URLS: Final = f"{_WEBSITE}/{{parentUniqueId}}/discovered-urls"

SCRAPE_WEBSITE: Final = Endpoint(
    "agents.scrape_website", "POST", f"{_WEBSITE}/scrape", one(WebsiteCrawl), "never", body=WebsiteToScrape
)
SCRAPE_PAGE: Final = Endpoint(
    "agents.scrape_page", "POST", f"{_WEBSITE}/individual-page", one(ScrapedPage), "never", body=PageToScrape
)
DELETE_WEBSITE: Final = Endpoint(
    "agents.delete_website", "DELETE", f"{_WEBSITE}/{{uniqueId}}", bare(KnowledgeAck), "idempotent"
)
LIST_DISCOVERED_URLS: Final = Endpoint(
    "agents.list_discovered_urls", "GET", _URLS, many(DiscoveredUrl),
    query=DiscoveredUrlQuery, paging=BY_CURSOR,
)  # fmt: skip
PROCESS_DISCOVERED_URLS: Final = Endpoint(
    "agents.process_discovered_urls", "POST", f"{_URLS}/process", one(UrlBatch), "never", body=UrlsToLeaveOut
)
POLL_DISCOVERED_URLS: Final = Endpoint(
    "agents.poll_discovered_urls", "POST", f"{_URLS}/status/poll", bare(KnowledgeStatuses), "safe",
    body=PolledSources,
)  # fmt: skip
RETRY_DISCOVERED_URLS: Final = Endpoint(
    "agents.retry_discovered_urls", "PATCH", f"{_URLS}/sync", bare(KnowledgeAck), "never", body=SourceIds
)


class KnowledgeOperations(Collection):
    """The operations of knowledge, which are part of `session.agents`."""

    def list_knowledge(
        self, query: KnowledgeQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[KnowledgeRecord]:
        """The knowledge sources of the app, newest first. One request per page."""
        return self._walk(LIST_KNOWLEDGE, query, cursor)

    def list_source_pages(
        self,
        source_type: SourceType,
        unique_id: str,
        query: SourcePageQuery | None = None,
        *,
        cursor: WalkStart = None,
    ) -> Walk[SourcePage]:
        """The pages of a source. One request per page of the list; `NotFoundError` if there is none."""
        source = checked_source(source_type)
        return self._walk(LIST_SOURCE_PAGES, query, cursor, sourceType=source, uniqueId=unique_id)

    async def initiate_uploads(self, files: Uploads) -> PresignedUploads:
        """Return an address for each file to upload. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(INITIATE_UPLOADS, NewUploads(files=files))

    async def delete_upload(self, unique_id: str) -> KnowledgeAck:
        """Delete an uploaded file; `NotFoundError` if there is none."""
        return await self._call(DELETE_UPLOAD, uniqueId=unique_id)

    async def poll_knowledge_status(self, unique_id: Sequence[str]) -> KnowledgeStatuses:
        """The status of sources by their ids. The POST reads only, so it is repeated like a GET."""
        return await self._call(POLL_KNOWLEDGE_STATUS, PolledSources(unique_id=unique_id))

    async def sync_knowledge(self, source_type: SourceType, unique_id: str) -> Ack:
        """Index a source again. Sent once, as it starts work: `OutcomeUnknownError` if no reply came."""
        return await self._call(SYNC_KNOWLEDGE, sourceType=checked_source(source_type), uniqueId=unique_id)

    async def add_knowledge(self, uid: str, source_type: SourceType, unique_ids: Sequence[str]) -> Ack:
        """Let an agent use sources of one kind; `NotFoundError` if there is no such agent or source."""
        source, body = checked_source(source_type), SourceIds(unique_ids=unique_ids)
        return await self._call(ADD_KNOWLEDGE, body, uid=uid, sourceType=source)

    async def remove_knowledge(self, uid: str, source_type: SourceType, unique_ids: Sequence[str]) -> Ack:
        """Stop an agent from using sources of one kind; `NotFoundError` if there is no such agent."""
        source, body = checked_source(source_type), SourceIds(unique_ids=unique_ids)
        return await self._call(REMOVE_KNOWLEDGE, body, uid=uid, sourceType=source)

    def list_texts(self) -> Walk[KnowledgeText]:
        """The knowledge texts. One request."""
        return self._walk(LIST_TEXTS)

    async def get_text(self, unique_id: str) -> KnowledgeText:
        """A knowledge text; `NotFoundError` if there is none."""
        return await self._call(GET_TEXT, uniqueId=unique_id)

    async def create_text(self, knowledge_text: NewKnowledgeText) -> KnowledgeText:
        """Add a text to index, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CREATE_TEXT, knowledge_text)

    async def update_text(self, unique_id: str, changes: KnowledgeTextChanges) -> KnowledgeAck:
        """Change the title or the content of a knowledge text; `NotFoundError` if there is none."""
        return await self._call(UPDATE_TEXT, changes, uniqueId=unique_id)

    async def delete_text(self, unique_id: str) -> KnowledgeAck:
        """Delete a knowledge text; `NotFoundError` if there is none."""
        return await self._call(DELETE_TEXT, uniqueId=unique_id)

    async def scrape_website(self, website: WebsiteToScrape) -> WebsiteCrawl:
        """Start to read a website; return the crawl. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(SCRAPE_WEBSITE, website)

    async def scrape_page(self, page: PageToScrape) -> ScrapedPage:
        """Read a single page, and return its content. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(SCRAPE_PAGE, page)

    async def delete_website(self, unique_id: str) -> KnowledgeAck:
        """Delete a website from the knowledge sources; `NotFoundError` if there is none."""
        return await self._call(DELETE_WEBSITE, uniqueId=unique_id)

    def list_discovered_urls(
        self, parent_unique_id: str, query: DiscoveredUrlQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[DiscoveredUrl]:
        """The addresses that a website led to, newest first. One request per page."""
        return self._walk(LIST_DISCOVERED_URLS, query, cursor, parentUniqueId=parent_unique_id)

    async def process_discovered_urls(self, parent_unique_id: str, exclude: Sequence[str] = ()) -> UrlBatch:
        """Index all but `exclude`; return the batch. Sent once: `OutcomeUnknownError` if no reply came."""
        body = UrlsToLeaveOut(exclude=exclude)
        return await self._call(PROCESS_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)

    async def poll_discovered_urls(
        self, parent_unique_id: str, unique_id: Sequence[str]
    ) -> KnowledgeStatuses:
        """The status of addresses by their ids, without unknown ids. Reads only: repeated like a GET."""
        body = PolledSources(unique_id=unique_id)
        return await self._call(POLL_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)

    async def retry_discovered_urls(
        self, parent_unique_id: str, unique_ids: Sequence[str] = ()
    ) -> KnowledgeAck:
        """Read `unique_ids` again, or all that failed. Sent once: `OutcomeUnknownError` if no reply came."""
        body = SourceIds(unique_ids=unique_ids)
        return await self._call(RETRY_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)
