"""Agents: MCP servers."""

from collections.abc import Sequence
from typing import Final

from ...core.paging.paging import BY_CREATED
from ...core.replies.decode import ACK, Ack, bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent import Agent
from ...models.agent_tool import McpServer
from ...queries.agent_tools import McpServerChanges, NewMcpServer
from ...queries.agents import AgentMcpServers, ToolQuery
from ...walk.walk import Walk
from ..collection import Collection, Start

_ALL: Final = "/ai-agents/agent-builder/mcp-servers"
_OF_AGENT: Final = "/ai-agents/agent-builder/agents/{uid}/mcp"

LIST_MCP_SERVERS: Final = Endpoint(
    "agents.list_mcp_servers", "GET", _ALL, many(McpServer), query=ToolQuery, paging=BY_CREATED
)
GET_MCP_SERVER: Final = Endpoint("agents.get_mcp_server", "GET", f"{_ALL}/{{slug}}", bare(McpServer))
CREATE_MCP_SERVER: Final = Endpoint(
    "agents.create_mcp_server", "POST", _ALL, bare(McpServer), "never", body=NewMcpServer
)
UPDATE_MCP_SERVER: Final = Endpoint(
    "agents.update_mcp_server",
    "PATCH",
    f"{_ALL}/{{slug}}",
    bare(McpServer),
    "idempotent",
    body=McpServerChanges,
)
DELETE_MCP_SERVER: Final = Endpoint(
    "agents.delete_mcp_server", "DELETE", f"{_ALL}/{{slug}}", ACK, "idempotent"
)
ADD_MCP_SERVERS: Final = Endpoint(
    "agents.add_mcp_servers", "PATCH", f"{_OF_AGENT}/add", one(Agent), "idempotent", body=AgentMcpServers
)
REMOVE_MCP_SERVERS: Final = Endpoint(
    "agents.remove_mcp_servers",
    "PATCH",
    f"{_OF_AGENT}/remove",
    one(Agent),
    "idempotent",
    body=AgentMcpServers,
)


class McpServers(Collection):
    """The operations of MCP servers."""

    def list_mcp_servers(self, query: ToolQuery | None = None, *, cursor: Start = None) -> Walk[McpServer]:
        """The MCP servers of the app, in the service's order. One request a page."""
        return self._walk(LIST_MCP_SERVERS, query, cursor)

    async def get_mcp_server(self, slug: str) -> McpServer:
        """An MCP server; `NotFoundError` for no such one."""
        return await self._call(GET_MCP_SERVER, slug=slug)

    async def create_mcp_server(self, server: NewMcpServer) -> McpServer:
        """Make an MCP server. Sent once."""
        return await self._call(CREATE_MCP_SERVER, server)

    async def update_mcp_server(self, slug: str, changes: McpServerChanges) -> McpServer:
        """Change any part of an MCP server but its slug, and return it."""
        return await self._call(UPDATE_MCP_SERVER, changes, slug=slug)

    async def delete_mcp_server(self, slug: str) -> Ack:
        """Delete an MCP server."""
        return await self._call(DELETE_MCP_SERVER, slug=slug)

    async def add_mcp_servers(self, uid: str, mcps: Sequence[str]) -> Agent:
        """Give an agent MCP servers, by their slugs."""
        return await self._call(ADD_MCP_SERVERS, AgentMcpServers(mcps=mcps), uid=uid)

    async def remove_mcp_servers(self, uid: str, mcps: Sequence[str]) -> Agent:
        """Take MCP servers from an agent."""
        return await self._call(REMOVE_MCP_SERVERS, AgentMcpServers(mcps=mcps), uid=uid)
