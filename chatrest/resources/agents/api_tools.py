"""Agents: API tools."""

from collections.abc import Sequence
from typing import Final

from ...core.paging.paging import BY_CREATED
from ...core.replies.decode import ACK, Ack, bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent import Agent
from ...models.agent_tool import ApiTool
from ...queries.agent_tools import ApiToolChanges, NewApiTool
from ...queries.agents import AgentApiTools, ToolQuery
from ...walk.walk import Walk
from ..collection import Collection, Start

_ALL: Final = "/ai-agents/agent-builder/api-tools"
_OF_AGENT: Final = "/ai-agents/agent-builder/agents/{uid}/api-tools"

LIST_API_TOOLS: Final = Endpoint(
    "agents.list_api_tools", "GET", _ALL, many(ApiTool), query=ToolQuery, paging=BY_CREATED
)
GET_API_TOOL: Final = Endpoint("agents.get_api_tool", "GET", f"{_ALL}/{{slug}}", bare(ApiTool))
CREATE_API_TOOL: Final = Endpoint(
    "agents.create_api_tool", "POST", _ALL, bare(ApiTool), "never", body=NewApiTool
)
UPDATE_API_TOOL: Final = Endpoint(
    "agents.update_api_tool", "PATCH", f"{_ALL}/{{slug}}", bare(ApiTool), "idempotent", body=ApiToolChanges
)
DELETE_API_TOOL: Final = Endpoint("agents.delete_api_tool", "DELETE", f"{_ALL}/{{slug}}", ACK, "idempotent")
ADD_API_TOOLS: Final = Endpoint(
    "agents.add_api_tools", "PATCH", f"{_OF_AGENT}/add", one(Agent), "idempotent", body=AgentApiTools
)
REMOVE_API_TOOLS: Final = Endpoint(
    "agents.remove_api_tools", "PATCH", f"{_OF_AGENT}/remove", one(Agent), "idempotent", body=AgentApiTools
)


class ApiTools(Collection):
    """The operations of API tools."""

    def list_api_tools(self, query: ToolQuery | None = None, *, cursor: Start = None) -> Walk[ApiTool]:
        """The API tools of the app, in the service's order. One request a page."""
        return self._walk(LIST_API_TOOLS, query, cursor)

    async def get_api_tool(self, slug: str) -> ApiTool:
        """An API tool; `NotFoundError` for no such one."""
        return await self._call(GET_API_TOOL, slug=slug)

    async def create_api_tool(self, tool: NewApiTool) -> ApiTool:
        """Make an API tool. Sent once."""
        return await self._call(CREATE_API_TOOL, tool)

    async def update_api_tool(self, slug: str, changes: ApiToolChanges) -> ApiTool:
        """Change any part of an API tool but its name, and return it."""
        return await self._call(UPDATE_API_TOOL, changes, slug=slug)

    async def delete_api_tool(self, slug: str) -> Ack:
        """Delete an API tool."""
        return await self._call(DELETE_API_TOOL, slug=slug)

    async def add_api_tools(self, uid: str, api_tools: Sequence[str]) -> Agent:
        """Give an agent API tools, by their slugs."""
        return await self._call(ADD_API_TOOLS, AgentApiTools(api_tools=api_tools), uid=uid)

    async def remove_api_tools(self, uid: str, api_tools: Sequence[str]) -> Agent:
        """Take API tools from an agent."""
        return await self._call(REMOVE_API_TOOLS, AgentApiTools(api_tools=api_tools), uid=uid)
