"""Agents: those of other frameworks, and the tools that they may use."""

from typing import Final

from ...core.replies.decode import ACK, Ack, array, bare
from ...core.requests.endpoint import Endpoint
from ...models.external_agent import CreatedExternalAgent, DeletedExternalTool, ExternalAgent, ExternalTool
from ...queries.agents import AgentHeaders
from ...queries.external_agents import (
    ExternalAgentChanges,
    ExternalToolChanges,
    ExternalToolQuery,
    NewExternalAgent,
    NewExternalTool,
    ToolType,
)
from ...walk.walk import Walk
from ..collection import Collection

_AGENTS: Final = "/ai-agents/agents"
_TOOLS: Final = "/ai-agents/tools"
_TOOL: Final = f"{_TOOLS}/{{name}}"

LIST_EXTERNAL: Final = Endpoint("agents.list_external", "GET", _AGENTS, array(ExternalAgent))
CREATE_EXTERNAL: Final = Endpoint(
    "agents.create_external", "POST", _AGENTS, bare(CreatedExternalAgent), "never",
    body=NewExternalAgent, headers=AgentHeaders,
)  # fmt: skip
UPDATE_EXTERNAL: Final = Endpoint(
    "agents.update_external", "PATCH", f"{_AGENTS}/{{uid}}", ACK, "idempotent",
    body=ExternalAgentChanges, headers=AgentHeaders,
)  # fmt: skip
DELETE_EXTERNAL: Final = Endpoint("agents.delete_external", "DELETE", f"{_AGENTS}/{{uid}}", ACK, "idempotent")
LIST_EXTERNAL_TOOLS: Final = Endpoint(
    "agents.list_external_tools", "GET", _TOOLS, array(ExternalTool), query=ExternalToolQuery
)
GET_EXTERNAL_TOOL: Final = Endpoint("agents.get_external_tool", "GET", _TOOL, bare(ExternalTool))
CREATE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.create_external_tool", "POST", _TOOLS, bare(ExternalTool), "never", body=NewExternalTool
)
UPDATE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.update_external_tool", "PUT", _TOOL, bare(ExternalTool), "idempotent", body=ExternalToolChanges
)
DELETE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.delete_external_tool", "DELETE", _TOOL, bare(DeletedExternalTool), "idempotent"
)


class ExternalAgents(Collection):
    """The operations of agents of other frameworks."""

    def list_external(self) -> Walk[ExternalAgent]:
        """The external agents, in one reply."""
        return self._walk(LIST_EXTERNAL)

    async def create_external(
        self, agent: NewExternalAgent, *, chat_api_version: str | None = None
    ) -> CreatedExternalAgent:
        """Add an external agent, which is the reply's `agent`. Sent once.

        The tools and actions that it names must exist.
        """
        version = AgentHeaders(chat_api_version=chat_api_version)
        return await self._call(CREATE_EXTERNAL, agent, headers=version)

    async def update_external(
        self, uid: str, changes: ExternalAgentChanges, *, chat_api_version: str | None = None
    ) -> Ack:
        """Change any part of an external agent."""
        version = AgentHeaders(chat_api_version=chat_api_version)
        return await self._call(UPDATE_EXTERNAL, changes, headers=version, uid=uid)

    async def delete_external(self, uid: str) -> Ack:
        """Remove an external agent."""
        return await self._call(DELETE_EXTERNAL, uid=uid)

    def list_external_tools(self, *, type: ToolType | None = None) -> Walk[ExternalTool]:
        """The external tools, or those of one type, in one reply."""
        return self._walk(LIST_EXTERNAL_TOOLS, ExternalToolQuery(type=type))

    async def get_external_tool(self, name: str) -> ExternalTool:
        """An external tool; `NotFoundError` for no such one."""
        return await self._call(GET_EXTERNAL_TOOL, name=name)

    async def create_external_tool(self, tool: NewExternalTool) -> ExternalTool:
        """Make an external tool. Sent once."""
        return await self._call(CREATE_EXTERNAL_TOOL, tool)

    async def update_external_tool(self, name: str, tool: ExternalToolChanges) -> ExternalTool:
        """Change an external tool, whose name stays: what is not given stays as it was."""
        return await self._call(UPDATE_EXTERNAL_TOOL, tool, name=name)

    async def delete_external_tool(self, name: str) -> DeletedExternalTool:
        """Delete an external tool."""
        return await self._call(DELETE_EXTERNAL_TOOL, name=name)
