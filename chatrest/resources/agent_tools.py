"""What agents may use: API tools, frontend actions, MCP servers, and variables."""

from collections.abc import Sequence
from typing import Any, Final

from ..core.paging.paging import BY_CREATED
from ..core.replies.decode import ACK, Ack, array, bare, many, one
from ..core.requests.endpoint import Endpoint
from ..models.agent_tools import ApiTool, FrontendAction, McpServer, Variable, VariableUsage
from ..models.agents import Agent
from ..parameters.agent_tools import (
    ApiToolChanges,
    FrontendActionChanges,
    McpServerChanges,
    NewApiTool,
    NewFrontendAction,
    NewMcpServer,
    NewVariable,
    VariableChanges,
    VariableQuery,
)
from ..parameters.agents import AgentApiTools, AgentFrontendActions, AgentMcpServers, ToolQuery
from ..walk.walk import Walk
from .collection import Collection, Start

_API_TOOLS: Final = "/ai-agents/agent-builder/api-tools"
_AGENT_API_TOOLS: Final = "/ai-agents/agent-builder/agents/{uid}/api-tools"

LIST_API_TOOLS: Final = Endpoint(
    "agents.list_api_tools", "GET", _API_TOOLS, many(ApiTool), query=ToolQuery, paging=BY_CREATED
)
GET_API_TOOL: Final = Endpoint("agents.get_api_tool", "GET", f"{_API_TOOLS}/{{slug}}", bare(ApiTool))
CREATE_API_TOOL: Final = Endpoint(
    "agents.create_api_tool", "POST", _API_TOOLS, bare(ApiTool), "never", body=NewApiTool
)
UPDATE_API_TOOL: Final = Endpoint(
    "agents.update_api_tool",
    "PATCH",
    f"{_API_TOOLS}/{{slug}}",
    bare(ApiTool),
    "idempotent",
    body=ApiToolChanges,
)
DELETE_API_TOOL: Final = Endpoint(
    "agents.delete_api_tool", "DELETE", f"{_API_TOOLS}/{{slug}}", ACK, "idempotent"
)
ADD_API_TOOLS: Final = Endpoint(
    "agents.add_api_tools", "PATCH", f"{_AGENT_API_TOOLS}/add", one(Agent), "idempotent", body=AgentApiTools
)
REMOVE_API_TOOLS: Final = Endpoint(
    "agents.remove_api_tools",
    "PATCH",
    f"{_AGENT_API_TOOLS}/remove",
    one(Agent),
    "idempotent",
    body=AgentApiTools,
)

_FRONTEND_ACTIONS: Final = "/ai-agents/agent-builder/frontend-actions"
_AGENT_FRONTEND_ACTIONS: Final = "/ai-agents/agent-builder/agents/{uid}/frontend-actions"

LIST_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.list_frontend_actions",
    "GET",
    _FRONTEND_ACTIONS,
    many(FrontendAction),
    query=ToolQuery,
    paging=BY_CREATED,
)
GET_FRONTEND_ACTION: Final = Endpoint(
    "agents.get_frontend_action", "GET", f"{_FRONTEND_ACTIONS}/{{id}}", bare(FrontendAction)
)
CREATE_FRONTEND_ACTION: Final = Endpoint(
    "agents.create_frontend_action",
    "POST",
    _FRONTEND_ACTIONS,
    bare(FrontendAction),
    "never",
    body=NewFrontendAction,
)
UPDATE_FRONTEND_ACTION: Final = Endpoint(
    "agents.update_frontend_action",
    "PATCH",
    f"{_FRONTEND_ACTIONS}/{{id}}",
    bare(FrontendAction),
    "idempotent",
    body=FrontendActionChanges,
)
DELETE_FRONTEND_ACTION: Final = Endpoint(
    "agents.delete_frontend_action", "DELETE", f"{_FRONTEND_ACTIONS}/{{id}}", ACK, "idempotent"
)
ADD_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.add_frontend_actions",
    "PATCH",
    f"{_AGENT_FRONTEND_ACTIONS}/add",
    one(Agent),
    "idempotent",
    body=AgentFrontendActions,
)
REMOVE_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.remove_frontend_actions",
    "PATCH",
    f"{_AGENT_FRONTEND_ACTIONS}/remove",
    one(Agent),
    "idempotent",
    body=AgentFrontendActions,
)

_MCP_SERVERS: Final = "/ai-agents/agent-builder/mcp-servers"
_AGENT_MCP_SERVERS: Final = "/ai-agents/agent-builder/agents/{uid}/mcp"

LIST_MCP_SERVERS: Final = Endpoint(
    "agents.list_mcp_servers", "GET", _MCP_SERVERS, many(McpServer), query=ToolQuery, paging=BY_CREATED
)
GET_MCP_SERVER: Final = Endpoint("agents.get_mcp_server", "GET", f"{_MCP_SERVERS}/{{slug}}", bare(McpServer))
CREATE_MCP_SERVER: Final = Endpoint(
    "agents.create_mcp_server", "POST", _MCP_SERVERS, bare(McpServer), "never", body=NewMcpServer
)
UPDATE_MCP_SERVER: Final = Endpoint(
    "agents.update_mcp_server",
    "PATCH",
    f"{_MCP_SERVERS}/{{slug}}",
    bare(McpServer),
    "idempotent",
    body=McpServerChanges,
)
DELETE_MCP_SERVER: Final = Endpoint(
    "agents.delete_mcp_server", "DELETE", f"{_MCP_SERVERS}/{{slug}}", ACK, "idempotent"
)
ADD_MCP_SERVERS: Final = Endpoint(
    "agents.add_mcp_servers",
    "PATCH",
    f"{_AGENT_MCP_SERVERS}/add",
    one(Agent),
    "idempotent",
    body=AgentMcpServers,
)
REMOVE_MCP_SERVERS: Final = Endpoint(
    "agents.remove_mcp_servers",
    "PATCH",
    f"{_AGENT_MCP_SERVERS}/remove",
    one(Agent),
    "idempotent",
    body=AgentMcpServers,
)

_VARIABLES: Final = "/ai-agents/agent-builder/agents/variables"
_CUSTOM: Final = f"{_VARIABLES}/custom"
_VARIABLE: Final = f"{_CUSTOM}/{{variableId}}"


def _ungrouped(reply: Any) -> dict[str, Any] | None:
    """The list reply of variables in either form: an array, or an array of each category, by its name."""
    if isinstance(reply, list):
        return {"data": reply}
    if not isinstance(reply, dict) or not all(isinstance(group, list) for group in reply.values()):
        return None
    return {"data": [variable for group in reply.values() for variable in group]}


LIST_ALL_VARIABLES: Final = Endpoint(
    "agents.list_all_variables", "GET", f"{_VARIABLES}/all", many(VariableUsage, _ungrouped),
    query=VariableQuery,
)  # fmt: skip
LIST_CUSTOM_VARIABLES: Final = Endpoint("agents.list_custom_variables", "GET", _CUSTOM, array(Variable))
CREATE_VARIABLE: Final = Endpoint(
    "agents.create_variable", "POST", _CUSTOM, bare(Variable), "never", body=NewVariable
)
UPDATE_VARIABLE: Final = Endpoint(
    "agents.update_variable", "PATCH", _VARIABLE, bare(Variable), "idempotent", body=VariableChanges
)
DELETE_VARIABLE: Final = Endpoint("agents.delete_variable", "DELETE", _VARIABLE, ACK, "idempotent")


class ToolOperations(Collection):
    """The operations of what agents may use."""

    # ── API tools ──

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

    # ── frontend actions ──

    def list_frontend_actions(
        self, query: ToolQuery | None = None, *, cursor: Start = None
    ) -> Walk[FrontendAction]:
        """The frontend actions of the app, in the service's order. One request a page."""
        return self._walk(LIST_FRONTEND_ACTIONS, query, cursor)

    async def get_frontend_action(self, id: str) -> FrontendAction:
        """A frontend action; `NotFoundError` for no such one."""
        return await self._call(GET_FRONTEND_ACTION, id=id)

    async def create_frontend_action(self, action: NewFrontendAction) -> FrontendAction:
        """Make a frontend action. Sent once."""
        return await self._call(CREATE_FRONTEND_ACTION, action)

    async def update_frontend_action(self, id: str, changes: FrontendActionChanges) -> FrontendAction:
        """Change any part of a frontend action but its function, and return it."""
        return await self._call(UPDATE_FRONTEND_ACTION, changes, id=id)

    async def delete_frontend_action(self, id: str) -> Ack:
        """Delete a frontend action."""
        return await self._call(DELETE_FRONTEND_ACTION, id=id)

    async def add_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Give an agent frontend actions, by the names of their functions."""
        return await self._call(
            ADD_FRONTEND_ACTIONS, AgentFrontendActions(frontend_actions=frontend_actions), uid=uid
        )

    async def remove_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Take frontend actions from an agent."""
        return await self._call(
            REMOVE_FRONTEND_ACTIONS, AgentFrontendActions(frontend_actions=frontend_actions), uid=uid
        )

    # ── MCP servers ──

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

    # ── variables ──

    def list_all_variables(self, query: VariableQuery | None = None) -> Walk[VariableUsage]:
        """The variables, predefined and custom, with who uses them, in one reply.

        With `group_by_category` the service serves an object of lists: the variables come in its order, and
        each says its category.
        """
        return self._walk(LIST_ALL_VARIABLES, query)

    def list_custom_variables(self) -> Walk[Variable]:
        """The variables of the app's own, in one reply."""
        return self._walk(LIST_CUSTOM_VARIABLES)

    async def create_variable(self, variable: NewVariable) -> Variable:
        """Make a variable. Sent once."""
        return await self._call(CREATE_VARIABLE, variable)

    async def update_variable(self, variable_id: str, changes: VariableChanges) -> Variable:
        """Change any part of a variable but its name, and return it; `variable_id` is its `id`."""
        return await self._call(UPDATE_VARIABLE, changes, variableId=variable_id)

    async def delete_variable(self, variable_id: str) -> Ack:
        """Delete a variable."""
        return await self._call(DELETE_VARIABLE, variableId=variable_id)
