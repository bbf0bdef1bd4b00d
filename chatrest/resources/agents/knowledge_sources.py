"""Agents: all sources of knowledge, and which of them an agent has.

Files go in two steps: `initiate_uploads` gives an address for each, and the file then goes there, to a host
that is not the service's own. How it is to be sent there is not documented, so that is left to the caller.
"""

from collections.abc import Sequence
from typing import Any, Final

from ...core.paging.paging import BY_CURSOR, Paging
from ...core.replies.decode import ACK, Ack, bare, many
from ...core.requests.endpoint import Endpoint
from ...models.agent_knowledge import (
    KnowledgeAck,
    KnowledgeRecord,
    KnowledgeStatuses,
    PresignedUploads,
    SourcePage,
)
from ...queries.agent_fields import SourceType
from ...queries.agent_knowledge import (
    KnowledgeQuery,
    NewUploads,
    PolledSources,
    SourceIds,
    SourcePageQuery,
    Uploads,
    checked_source,
)
from ...walk.walk import Walk
from ..collection import Collection, Start

_KNOWLEDGE: Final = "/ai-agents/agent-builder/knowledge-base"
_OF_AGENT: Final = "/ai-agents/agent-builder/agents/{uid}/knowledge-base/{sourceType}"
_BY_SOURCE_PAGE: Final = Paging(positions=False, numbered=True, size="limit", largest=100)


def _pages(reply: Any) -> dict[str, Any] | None:
    """The list reply of pages in either form: records in `data`, or in `data.pageContent` as an older page of
    the documents has them.
    """
    data = reply.get("data") if isinstance(reply, dict) else None
    rows = data.get("pageContent", []) if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    names = ("content", "pageNumber", "charCount")
    pages = [{"members": row} | {name: row[name] for name in names if name in row} for row in rows]
    return {"data": pages} | {name: reply[name] for name in ("meta", "cursor") if name in reply}


LIST_KNOWLEDGE: Final = Endpoint(
    "agents.list_knowledge", "GET", _KNOWLEDGE, many(KnowledgeRecord), query=KnowledgeQuery, paging=BY_CURSOR
)
LIST_SOURCE_PAGES: Final = Endpoint(
    "agents.list_source_pages", "GET", f"{_KNOWLEDGE}/{{sourceType}}/{{uniqueId}}/pages",
    many(SourcePage, _pages), query=SourcePageQuery, paging=_BY_SOURCE_PAGE,
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
    "agents.add_knowledge", "PATCH", f"{_OF_AGENT}/add", ACK, "idempotent", body=SourceIds
)
REMOVE_KNOWLEDGE: Final = Endpoint(
    "agents.remove_knowledge", "PATCH", f"{_OF_AGENT}/remove", ACK, "idempotent", body=SourceIds
)


class KnowledgeSources(Collection):
    """The operations of sources of every kind."""

    def list_knowledge(
        self, query: KnowledgeQuery | None = None, *, cursor: Start = None
    ) -> Walk[KnowledgeRecord]:
        """The sources of the app, the newest first. One request a page."""
        return self._walk(LIST_KNOWLEDGE, query, cursor)

    def list_source_pages(
        self,
        source_type: SourceType,
        unique_id: str,
        query: SourcePageQuery | None = None,
        *,
        cursor: Start = None,
    ) -> Walk[SourcePage]:
        """The pages of a source, by page numbers. One request a page of the list."""
        source = checked_source(source_type)
        return self._walk(LIST_SOURCE_PAGES, query, cursor, sourceType=source, uniqueId=unique_id)

    async def initiate_uploads(self, files: Uploads) -> PresignedUploads:
        """Announce files, and get the address that each is to be sent to. Sent once."""
        return await self._call(INITIATE_UPLOADS, NewUploads(files=files))

    async def delete_upload(self, unique_id: str) -> KnowledgeAck:
        """Remove a file."""
        return await self._call(DELETE_UPLOAD, uniqueId=unique_id)

    async def poll_knowledge_status(self, unique_id: Sequence[str]) -> KnowledgeStatuses:
        """The status of several sources, by id; it only reads, so it is repeated like a GET."""
        return await self._call(POLL_KNOWLEDGE_STATUS, PolledSources(unique_id=unique_id))

    async def sync_knowledge(self, source_type: SourceType, unique_id: str) -> Ack:
        """Index a source again. Sent once, as each call starts work."""
        return await self._call(SYNC_KNOWLEDGE, sourceType=checked_source(source_type), uniqueId=unique_id)

    async def add_knowledge(self, uid: str, source_type: SourceType, unique_ids: Sequence[str]) -> Ack:
        """Let an agent use sources of one kind."""
        body = SourceIds(unique_ids=unique_ids)
        return await self._call(ADD_KNOWLEDGE, body, uid=uid, sourceType=source_type)

    async def remove_knowledge(self, uid: str, source_type: SourceType, unique_ids: Sequence[str]) -> Ack:
        """No longer let an agent use sources of one kind."""
        body = SourceIds(unique_ids=unique_ids)
        return await self._call(REMOVE_KNOWLEDGE, body, uid=uid, sourceType=source_type)
