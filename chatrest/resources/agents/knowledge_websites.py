"""Agents: websites that agents learn from, and the addresses that they led to."""

from collections.abc import Sequence
from typing import Final

from ...core.paging.paging import BY_CURSOR
from ...core.replies.decode import bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent_knowledge import (
    DiscoveredUrl,
    KnowledgeAck,
    KnowledgeStatuses,
    ScrapedPage,
    UrlBatch,
    WebsiteCrawl,
)
from ...queries.agent_knowledge import (
    DiscoveredUrlQuery,
    PageToScrape,
    PolledSources,
    SourceIds,
    UrlsToLeaveOut,
    WebsiteToScrape,
)
from ...walk.walk import Walk
from ..collection import Collection, Start

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


class KnowledgeWebsites(Collection):
    """The operations of websites."""

    async def scrape_website(self, website: WebsiteToScrape) -> WebsiteCrawl:
        """Read a website; its `crawl_id` leads to the addresses that are found. Sent once."""
        return await self._call(SCRAPE_WEBSITE, website)

    async def scrape_page(self, page: PageToScrape) -> ScrapedPage:
        """Read a single page, and return what it says. Sent once."""
        return await self._call(SCRAPE_PAGE, page)

    async def delete_website(self, unique_id: str) -> KnowledgeAck:
        """Remove a website."""
        return await self._call(DELETE_WEBSITE, uniqueId=unique_id)

    def list_discovered_urls(
        self, parent_unique_id: str, query: DiscoveredUrlQuery | None = None, *, cursor: Start = None
    ) -> Walk[DiscoveredUrl]:
        """The addresses that a website led to, the newest first. One request a page."""
        return self._walk(LIST_DISCOVERED_URLS, query, cursor, parentUniqueId=parent_unique_id)

    async def process_discovered_urls(self, parent_unique_id: str, exclude: Sequence[str] = ()) -> UrlBatch:
        """Learn from the addresses of a website, but for those with the ids in `exclude`. Sent once."""
        body = UrlsToLeaveOut(exclude=exclude)
        return await self._call(PROCESS_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)

    async def poll_discovered_urls(
        self, parent_unique_id: str, unique_id: Sequence[str]
    ) -> KnowledgeStatuses:
        """The status of several addresses, by id, without those that are not known.

        It only reads, so it is repeated like a GET.
        """
        body = PolledSources(unique_id=unique_id)
        return await self._call(POLL_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)

    async def retry_discovered_urls(
        self, parent_unique_id: str, unique_ids: Sequence[str] = ()
    ) -> KnowledgeAck:
        """Read addresses again; without ids, all that failed. Sent once, as each call starts work."""
        body = SourceIds(unique_ids=unique_ids)
        return await self._call(RETRY_DISCOVERED_URLS, body, parentUniqueId=parent_unique_id)
