"""Agents: those of the service's own builder, and all that each of them may use."""

from typing import Final

from ...core.paging.paging import BY_CREATED
from ...core.replies.decode import ACK, Ack, array, bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent import Agent, AvailableModel, CreatedAgent, EnabledItems, ToolSearch
from ...queries.agents import (
    AgentChanges,
    AgentHeaders,
    AgentQuery,
    EnabledItemsQuery,
    NewAgent,
    ToolSearchQuery,
)
from ...walk.walk import Walk
from ..collection import Collection, Start

_AGENTS: Final = "/ai-agents/agent-builder/agents"

LIST: Final = Endpoint("agents.list", "GET", _AGENTS, many(Agent), query=AgentQuery, paging=BY_CREATED)
GET: Final = Endpoint("agents.get", "GET", f"{_AGENTS}/{{uid}}", bare(Agent))
CREATE: Final = Endpoint(
    "agents.create", "POST", _AGENTS, bare(CreatedAgent), "never", body=NewAgent, headers=AgentHeaders
)
UPDATE: Final = Endpoint("agents.update", "PATCH", f"{_AGENTS}/{{uid}}", ACK, "idempotent", body=AgentChanges)
DELETE: Final = Endpoint("agents.delete", "DELETE", f"{_AGENTS}/{{uid}}", ACK, "idempotent")
LIST_MODELS: Final = Endpoint(
    "agents.list_models", "GET", f"{_AGENTS}/available-models", array(AvailableModel)
)
SEARCH_TOOLS: Final = Endpoint(
    "agents.search_tools", "GET", f"{_AGENTS}/{{uid}}/tools/search", bare(ToolSearch), query=ToolSearchQuery
)
LIST_ENABLED_ITEMS: Final = Endpoint(
    "agents.list_enabled_items", "GET", f"{_AGENTS}/{{uid}}/enabled-items", one(EnabledItems),
    query=EnabledItemsQuery,
)  # fmt: skip


class AgentBuilder(Collection):
    """The operations of agents."""

    def list(self, query: AgentQuery | None = None, *, cursor: Start = None) -> Walk[Agent]:
        """The agents, in the service's order. One request a page."""
        return self._walk(LIST, query, cursor)

    async def get(self, uid: str) -> Agent:
        """An agent; `NotFoundError` for no such one."""
        return await self._call(GET, uid=uid)

    async def create(self, agent: NewAgent, *, chat_api_version: str | None = None) -> CreatedAgent:
        """Make an agent, which is the reply's `agent`; the tools and servers that it names must exist.

        Sent once.
        """
        return await self._call(CREATE, agent, headers=AgentHeaders(chat_api_version=chat_api_version))

    async def update(self, uid: str, changes: AgentChanges) -> Ack:
        """Change any part of an agent."""
        return await self._call(UPDATE, changes, uid=uid)

    async def delete(self, uid: str) -> Ack:
        """Delete an agent."""
        return await self._call(DELETE, uid=uid)

    def list_models(self) -> Walk[AvailableModel]:
        """The models that agents may use, in one reply."""
        return self._walk(LIST_MODELS)

    async def search_tools(self, uid: str, query: ToolSearchQuery | None = None) -> ToolSearch:
        """The tools of every kind that a text is of, for an agent."""
        return await self._call(SEARCH_TOOLS, query=query, uid=uid)

    async def list_enabled_items(self, uid: str, query: EnabledItemsQuery | None = None) -> EnabledItems:
        """All that an agent may use, by kind."""
        return await self._call(LIST_ENABLED_ITEMS, query=query, uid=uid)
