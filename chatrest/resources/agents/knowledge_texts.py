"""Agents: texts that agents learn from."""

from typing import Final

from ...core.replies.decode import bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent_knowledge import KnowledgeAck, KnowledgeText
from ...queries.agent_knowledge import KnowledgeTextChanges, NewKnowledgeText
from ...walk.walk import Walk
from ..collection import Collection

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


class KnowledgeTexts(Collection):
    """The operations of texts."""

    def list_texts(self) -> Walk[KnowledgeText]:
        """The texts, in one reply."""
        return self._walk(LIST_TEXTS)

    async def get_text(self, unique_id: str) -> KnowledgeText:
        """A text; `NotFoundError` for no such one."""
        return await self._call(GET_TEXT, uniqueId=unique_id)

    async def create_text(self, knowledge_text: NewKnowledgeText) -> KnowledgeText:
        """Add a text, which is then indexed: `poll_knowledge_status` says when it is done. Sent once."""
        return await self._call(CREATE_TEXT, knowledge_text)

    async def update_text(self, unique_id: str, changes: KnowledgeTextChanges) -> KnowledgeAck:
        """Change the title or the content of a text."""
        return await self._call(UPDATE_TEXT, changes, uniqueId=unique_id)

    async def delete_text(self, unique_id: str) -> KnowledgeAck:
        """Remove a text."""
        return await self._call(DELETE_TEXT, uniqueId=unique_id)
