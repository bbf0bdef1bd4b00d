"""Agents: the integrations that an agent has, by their slugs, and the actions that it may take with them."""

from collections.abc import Sequence
from typing import Final

from ...core.paging.paging import BY_CREATED
from ...core.replies.decode import ACK, Ack, array, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent import Agent, ToolAction, ToolIntegration
from ...queries.agents import AgentTools, DisabledActions, EnabledActions, IntegrationQuery
from ...walk.walk import Walk
from ..collection import Collection, Start

_TOOLS: Final = "/ai-agents/agent-builder/agents/{uid}/tools"
_ACTIONS: Final = f"{_TOOLS}/{{slug}}/actions"

LIST_TOOL_INTEGRATIONS: Final = Endpoint(
    "agents.list_tool_integrations", "GET", "/ai-agents/agent-builder/tools/agent/{uid}",
    many(ToolIntegration), query=IntegrationQuery, paging=BY_CREATED,
)  # fmt: skip
ADD_TOOLS: Final = Endpoint(
    "agents.add_tools", "PATCH", f"{_TOOLS}/add", one(Agent), "idempotent", body=AgentTools
)
REMOVE_TOOLS: Final = Endpoint(
    "agents.remove_tools", "PATCH", f"{_TOOLS}/remove", one(Agent), "idempotent", body=AgentTools
)
LIST_TOOL_ACTIONS: Final = Endpoint("agents.list_tool_actions", "GET", _ACTIONS, array(ToolAction))
ENABLE_TOOL_ACTIONS: Final = Endpoint(
    "agents.enable_tool_actions", "PATCH", f"{_ACTIONS}/add", ACK, "idempotent", body=EnabledActions
)
DISABLE_TOOL_ACTIONS: Final = Endpoint(
    "agents.disable_tool_actions", "PATCH", f"{_ACTIONS}/remove", ACK, "idempotent", body=DisabledActions
)


class AgentIntegrations(Collection):
    """The operations of integrations."""

    def list_tool_integrations(
        self, uid: str, query: IntegrationQuery | None = None, *, cursor: Start = None
    ) -> Walk[ToolIntegration]:
        """The integrations that an agent could have. One request a page.

        The operation is of an older page of the documents.
        """
        return self._walk(LIST_TOOL_INTEGRATIONS, query, cursor, uid=uid)

    async def add_tools(self, uid: str, tools: Sequence[str]) -> Agent:
        """Give an agent integrations, by their slugs; an error (`ERR_TOOL_ALREADY_ADDED`) on a repeat."""
        return await self._call(ADD_TOOLS, AgentTools(tools=tools), uid=uid)

    async def remove_tools(self, uid: str, tools: Sequence[str]) -> Agent:
        """Take integrations from an agent."""
        return await self._call(REMOVE_TOOLS, AgentTools(tools=tools), uid=uid)

    def list_tool_actions(self, uid: str, slug: str) -> Walk[ToolAction]:
        """The actions of an integration, in one reply."""
        return self._walk(LIST_TOOL_ACTIONS, uid=uid, slug=slug)

    async def enable_tool_actions(self, uid: str, slug: str, actions_to_enable: EnabledActions) -> Ack:
        """Let an agent take actions of an integration."""
        return await self._call(ENABLE_TOOL_ACTIONS, actions_to_enable, uid=uid, slug=slug)

    async def disable_tool_actions(self, uid: str, slug: str, actions: Sequence[str]) -> Ack:
        """No longer let an agent take actions of an integration."""
        return await self._call(DISABLE_TOOL_ACTIONS, DisabledActions(actions=actions), uid=uid, slug=slug)
