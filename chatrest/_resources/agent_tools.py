"""The tools of agents: API tools, frontend actions, MCP servers, and variables."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from .._core.replies.decode import ACK, Ack, array, bare, many, one
from .._core.requests.dialects import BY_CREATED
from .._core.requests.endpoint import Endpoint
from .._models.agent_tools import ApiTool, FrontendAction, McpServer, Variable, VariableUsage
from .._models.agents import Agent
from .._parameters.agent_tools import (
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
from .._parameters.agents import AgentApiTools, AgentFrontendActions, AgentMcpServers, ToolQuery
from .._parameters.checked import Body
from .._walk.walk import Walk
from .collection import Collection, Start
from .documents import DocumentEndpoints, documents

T = TypeVar("T")

_BUILDER: Final = "/ai-agents/agent-builder"


def _tools(
    name: str, key: str, record: type[T], new: type[Body], changes: type[Body]
) -> DocumentEndpoints[T]:
    return documents(
        f"agents.{{}}_{name}", f"{_BUILDER}/{name.replace('_', '-')}s", key, record, new, changes,
        reply=bare, update="PATCH", listing={"query": ToolQuery, "paging": BY_CREATED},
    )  # fmt: skip


def _of_agent(name: str, path: str, body: type[Body]) -> tuple[Endpoint[Agent], Endpoint[Agent]]:
    """Return the operations that give an agent tools, and take them from it."""
    path = f"{_BUILDER}/agents/{{uid}}/{path}"
    return (
        Endpoint(f"agents.add_{name}", "PATCH", f"{path}/add", one(Agent), "idempotent", body=body),
        Endpoint(f"agents.remove_{name}", "PATCH", f"{path}/remove", one(Agent), "idempotent", body=body),
    )


API_TOOLS: Final = _tools("api_tool", "slug", ApiTool, NewApiTool, ApiToolChanges)
ADD_API_TOOLS, REMOVE_API_TOOLS = _of_agent("api_tools", "api-tools", AgentApiTools)
FRONTEND_ACTIONS: Final = _tools(
    "frontend_action", "id", FrontendAction, NewFrontendAction, FrontendActionChanges
)
ADD_FRONTEND_ACTIONS, REMOVE_FRONTEND_ACTIONS = _of_agent(
    "frontend_actions", "frontend-actions", AgentFrontendActions
)
MCP_SERVERS: Final = _tools("mcp_server", "slug", McpServer, NewMcpServer, McpServerChanges)
ADD_MCP_SERVERS, REMOVE_MCP_SERVERS = _of_agent("mcp_servers", "mcp", AgentMcpServers)

_VARIABLES: Final = f"{_BUILDER}/agents/variables"
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
        """The API tools of the app, in the service's order. One request per page."""
        return self._walk(API_TOOLS.list, query, cursor)

    async def get_api_tool(self, slug: str) -> ApiTool:
        """An API tool; `NotFoundError` for no such one."""
        return await self._call(API_TOOLS.get, slug=slug)

    async def create_api_tool(self, tool: NewApiTool) -> ApiTool:
        """Make an API tool. Sent once."""
        return await self._call(API_TOOLS.create, tool)

    async def update_api_tool(self, slug: str, changes: ApiToolChanges) -> ApiTool:
        """Change any part of an API tool but its name, and return it."""
        return await self._call(API_TOOLS.update, changes, slug=slug)

    async def delete_api_tool(self, slug: str) -> Ack:
        """Delete an API tool."""
        return await self._call(API_TOOLS.delete, slug=slug)

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
        """The frontend actions of the app, in the service's order. One request per page."""
        return self._walk(FRONTEND_ACTIONS.list, query, cursor)

    async def get_frontend_action(self, id: str) -> FrontendAction:
        """A frontend action; `NotFoundError` for no such one."""
        return await self._call(FRONTEND_ACTIONS.get, id=id)

    async def create_frontend_action(self, action: NewFrontendAction) -> FrontendAction:
        """Make a frontend action. Sent once."""
        return await self._call(FRONTEND_ACTIONS.create, action)

    async def update_frontend_action(self, id: str, changes: FrontendActionChanges) -> FrontendAction:
        """Change any part of a frontend action but its function, and return it."""
        return await self._call(FRONTEND_ACTIONS.update, changes, id=id)

    async def delete_frontend_action(self, id: str) -> Ack:
        """Delete a frontend action."""
        return await self._call(FRONTEND_ACTIONS.delete, id=id)

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
        """The MCP servers of the app, in the service's order. One request per page."""
        return self._walk(MCP_SERVERS.list, query, cursor)

    async def get_mcp_server(self, slug: str) -> McpServer:
        """An MCP server; `NotFoundError` for no such one."""
        return await self._call(MCP_SERVERS.get, slug=slug)

    async def create_mcp_server(self, server: NewMcpServer) -> McpServer:
        """Make an MCP server. Sent once."""
        return await self._call(MCP_SERVERS.create, server)

    async def update_mcp_server(self, slug: str, changes: McpServerChanges) -> McpServer:
        """Change any part of an MCP server but its slug, and return it."""
        return await self._call(MCP_SERVERS.update, changes, slug=slug)

    async def delete_mcp_server(self, slug: str) -> Ack:
        """Delete an MCP server."""
        return await self._call(MCP_SERVERS.delete, slug=slug)

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
