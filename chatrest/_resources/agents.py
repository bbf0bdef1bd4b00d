"""AI agents and their tools: those of the service's builder, and agents of other frameworks."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar, final

from .._core.replies.decode import ACK, Ack, array, bare, many, one
from .._core.requests.dialects import BY_CREATED
from .._core.requests.endpoint import Endpoint
from .._models.agents import (
    Agent,
    ApiTool,
    AvailableModel,
    CreatedAgent,
    CreatedExternalAgent,
    DeletedExternalTool,
    EnabledItems,
    ExternalAgent,
    ExternalTool,
    FrontendAction,
    McpServer,
    ToolAction,
    ToolIntegration,
    ToolSearch,
    Variable,
    VariableUsage,
)
from .._parameters.agents import (
    AgentApiTools,
    AgentChanges,
    AgentFrontendActions,
    AgentHeaders,
    AgentMcpServers,
    AgentQuery,
    AgentTools,
    ApiToolChanges,
    DisabledActions,
    EnabledActions,
    EnabledItemsQuery,
    ExternalAgentChanges,
    ExternalToolChanges,
    ExternalToolQuery,
    FrontendActionChanges,
    IntegrationQuery,
    McpServerChanges,
    NewAgent,
    NewApiTool,
    NewExternalAgent,
    NewExternalTool,
    NewFrontendAction,
    NewMcpServer,
    NewVariable,
    ToolQuery,
    ToolSearchQuery,
    ToolType,
    VariableChanges,
    VariableQuery,
)
from .._parameters.checked import Body
from .._walk.walk import Walk
from .agent_knowledge import KnowledgeOperations
from .collection import CrudEndpoints, WalkStart, crud_endpoints

T = TypeVar("T")

_BUILDER: Final = "/ai-agents/agent-builder"
_AGENTS: Final = f"{_BUILDER}/agents"


def _tool_kind_endpoints(
    name: str, key: str, record: type[T], new: type[Body], changes: type[Body]
) -> CrudEndpoints[T]:
    """Return the five operations on one kind of tool, whose path is its name."""
    return crud_endpoints(
        f"agents.{{}}_{name}", f"{_BUILDER}/{name.replace('_', '-')}s", key, record, new, changes,
        reply=bare, update="PATCH", list_options={"query": ToolQuery, "paging": BY_CREATED},
    )  # fmt: skip


def _assignment_endpoints(name: str, path: str, body: type[Body]) -> tuple[Endpoint[Agent], Endpoint[Agent]]:
    """Return the operations that give an agent tools of one kind, and take them from it."""
    path = f"{_AGENTS}/{{uid}}/{path}"
    return (
        Endpoint(f"agents.add_{name}", "PATCH", f"{path}/add", one(Agent), "idempotent", body=body),
        Endpoint(f"agents.remove_{name}", "PATCH", f"{path}/remove", one(Agent), "idempotent", body=body),
    )


API_TOOLS: Final = _tool_kind_endpoints("api_tool", "slug", ApiTool, NewApiTool, ApiToolChanges)
ADD_API_TOOLS, REMOVE_API_TOOLS = _assignment_endpoints("api_tools", "api-tools", AgentApiTools)
FRONTEND_ACTIONS: Final = _tool_kind_endpoints(
    "frontend_action", "id", FrontendAction, NewFrontendAction, FrontendActionChanges
)
ADD_FRONTEND_ACTIONS, REMOVE_FRONTEND_ACTIONS = _assignment_endpoints(
    "frontend_actions", "frontend-actions", AgentFrontendActions
)
MCP_SERVERS: Final = _tool_kind_endpoints("mcp_server", "slug", McpServer, NewMcpServer, McpServerChanges)
ADD_MCP_SERVERS, REMOVE_MCP_SERVERS = _assignment_endpoints("mcp_servers", "mcp", AgentMcpServers)

_VARIABLES: Final = f"{_AGENTS}/variables"
_CUSTOM: Final = f"{_VARIABLES}/custom"
_VARIABLE: Final = f"{_CUSTOM}/{{variableId}}"


def _list_of_groups(reply: Any) -> dict[str, Any] | None:
    """Return a list reply of variables, which is an array, or an array for each category by its name."""
    if isinstance(reply, list):
        return {"data": reply}
    if not isinstance(reply, dict) or not all(isinstance(group, list) for group in reply.values()):
        return None
    return {"data": [variable for group in reply.values() for variable in group]}


LIST_ALL_VARIABLES: Final = Endpoint(
    "agents.list_all_variables", "GET", f"{_VARIABLES}/all", many(VariableUsage, _list_of_groups),
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

_ACTIONS: Final = f"{_AGENTS}/{{uid}}/tools/{{slug}}/actions"

LIST_TOOL_INTEGRATIONS: Final = Endpoint(
    "agents.list_tool_integrations", "GET", "/ai-agents/agent-builder/tools/agent/{uid}",
    many(ToolIntegration), query=IntegrationQuery, paging=BY_CREATED,
)  # fmt: skip
ADD_TOOLS, REMOVE_TOOLS = _assignment_endpoints("tools", "tools", AgentTools)
LIST_TOOL_ACTIONS: Final = Endpoint("agents.list_tool_actions", "GET", _ACTIONS, array(ToolAction))
ENABLE_TOOL_ACTIONS: Final = Endpoint(
    "agents.enable_tool_actions", "PATCH", f"{_ACTIONS}/add", ACK, "idempotent", body=EnabledActions
)
DISABLE_TOOL_ACTIONS: Final = Endpoint(
    "agents.disable_tool_actions", "PATCH", f"{_ACTIONS}/remove", ACK, "idempotent", body=DisabledActions
)

_EXTERNAL_AGENTS: Final = "/ai-agents/agents"
_EXTERNAL_TOOLS: Final = "/ai-agents/tools"
_EXTERNAL_TOOL: Final = f"{_EXTERNAL_TOOLS}/{{name}}"

LIST_EXTERNAL: Final = Endpoint("agents.list_external", "GET", _EXTERNAL_AGENTS, array(ExternalAgent))
CREATE_EXTERNAL: Final = Endpoint(
    "agents.create_external", "POST", _EXTERNAL_AGENTS, bare(CreatedExternalAgent), "never",
    body=NewExternalAgent, headers=AgentHeaders,
)  # fmt: skip
UPDATE_EXTERNAL: Final = Endpoint(
    "agents.update_external", "PATCH", f"{_EXTERNAL_AGENTS}/{{uid}}", ACK, "idempotent",
    body=ExternalAgentChanges, headers=AgentHeaders,
)  # fmt: skip
DELETE_EXTERNAL: Final = Endpoint(
    "agents.delete_external", "DELETE", f"{_EXTERNAL_AGENTS}/{{uid}}", ACK, "idempotent"
)
LIST_EXTERNAL_TOOLS: Final = Endpoint(
    "agents.list_external_tools", "GET", _EXTERNAL_TOOLS, array(ExternalTool), query=ExternalToolQuery
)
GET_EXTERNAL_TOOL: Final = Endpoint("agents.get_external_tool", "GET", _EXTERNAL_TOOL, bare(ExternalTool))
CREATE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.create_external_tool", "POST", _EXTERNAL_TOOLS, bare(ExternalTool), "never", body=NewExternalTool
)
UPDATE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.update_external_tool", "PUT", _EXTERNAL_TOOL, bare(ExternalTool), "idempotent",
    body=ExternalToolChanges,
)  # fmt: skip
DELETE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.delete_external_tool", "DELETE", _EXTERNAL_TOOL, bare(DeletedExternalTool), "idempotent"
)


@final
class Agents(KnowledgeOperations):
    """Agents, their tools, knowledge and variables, and external agents: `session.agents`.

    Errors of these operations have a message and a status, and no code; `NotFoundError` if there is no such
    agent, tool or source. Files to learn from go to the addresses that `initiate_uploads` returns, on another
    host: how to send them there is not documented.
    """

    def list(self, query: AgentQuery | None = None, *, cursor: WalkStart = None) -> Walk[Agent]:
        """The agents. One request per page."""
        return self._walk(LIST, query, cursor)

    async def get(self, uid: str) -> Agent:
        """An agent; `NotFoundError` if there is none."""
        return await self._call(GET, uid=uid)

    async def create(self, agent: NewAgent, *, chat_api_version: str | None = None) -> CreatedAgent:
        """Create an agent, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CREATE, agent, headers=AgentHeaders(chat_api_version=chat_api_version))

    async def update(self, uid: str, changes: AgentChanges) -> Ack:
        """Change any part of an agent; `NotFoundError` if there is none."""
        return await self._call(UPDATE, changes, uid=uid)

    async def delete(self, uid: str) -> Ack:
        """Delete an agent; `NotFoundError` if there is none."""
        return await self._call(DELETE, uid=uid)

    def list_models(self) -> Walk[AvailableModel]:
        """The language models that agents may use. One request."""
        return self._walk(LIST_MODELS)

    async def search_tools(self, uid: str, query: ToolSearchQuery | None = None) -> ToolSearch:
        """The tools of an agent that match a text; `NotFoundError` if there is no such agent."""
        return await self._call(SEARCH_TOOLS, query=query, uid=uid)

    async def list_enabled_items(self, uid: str, query: EnabledItemsQuery | None = None) -> EnabledItems:
        """All that an agent may use, by kind. One request; `NotFoundError` if there is no such agent."""
        return await self._call(LIST_ENABLED_ITEMS, query=query, uid=uid)

    def list_tool_integrations(
        self, uid: str, query: IntegrationQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[ToolIntegration]:
        """The integrations that an agent could have. One request per page."""
        return self._walk(LIST_TOOL_INTEGRATIONS, query, cursor, uid=uid)

    async def add_tools(self, uid: str, tools: Sequence[str]) -> Agent:
        """Give an agent integrations by their slugs, and return it; `ConflictError` if it has one already."""
        return await self._call(ADD_TOOLS, AgentTools(tools=tools), uid=uid)

    async def remove_tools(self, uid: str, tools: Sequence[str]) -> Agent:
        """Take integrations from an agent, and return the agent; `NotFoundError` if there is none."""
        return await self._call(REMOVE_TOOLS, AgentTools(tools=tools), uid=uid)

    def list_tool_actions(self, uid: str, slug: str) -> Walk[ToolAction]:
        """The actions of an integration. One request; `NotFoundError` if there is no agent or integration."""
        return self._walk(LIST_TOOL_ACTIONS, uid=uid, slug=slug)

    async def enable_tool_actions(self, uid: str, slug: str, actions_to_enable: EnabledActions) -> Ack:
        """Permit an agent actions of an integration; `NotFoundError` if there is no agent or integration."""
        return await self._call(ENABLE_TOOL_ACTIONS, actions_to_enable, uid=uid, slug=slug)

    async def disable_tool_actions(self, uid: str, slug: str, actions: Sequence[str]) -> Ack:
        """Forbid an agent actions of an integration; `NotFoundError` if there is no agent or integration."""
        return await self._call(DISABLE_TOOL_ACTIONS, DisabledActions(actions=actions), uid=uid, slug=slug)

    def list_external(self) -> Walk[ExternalAgent]:
        """The external agents. One request."""
        return self._walk(LIST_EXTERNAL)

    async def create_external(
        self, agent: NewExternalAgent, *, chat_api_version: str | None = None
    ) -> CreatedExternalAgent:
        """Create an external agent, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        version = AgentHeaders(chat_api_version=chat_api_version)
        return await self._call(CREATE_EXTERNAL, agent, headers=version)

    async def update_external(
        self, uid: str, changes: ExternalAgentChanges, *, chat_api_version: str | None = None
    ) -> Ack:
        """Change any part of an external agent; `NotFoundError` if there is none."""
        version = AgentHeaders(chat_api_version=chat_api_version)
        return await self._call(UPDATE_EXTERNAL, changes, headers=version, uid=uid)

    async def delete_external(self, uid: str) -> Ack:
        """Delete an external agent; `NotFoundError` if there is none."""
        return await self._call(DELETE_EXTERNAL, uid=uid)

    def list_external_tools(self, *, type: ToolType | None = None) -> Walk[ExternalTool]:
        """The external tools; with `type`, those of one type. One request."""
        return self._walk(LIST_EXTERNAL_TOOLS, ExternalToolQuery(type=type))

    async def get_external_tool(self, name: str) -> ExternalTool:
        """An external tool; `NotFoundError` if there is none."""
        return await self._call(GET_EXTERNAL_TOOL, name=name)

    async def create_external_tool(self, tool: NewExternalTool) -> ExternalTool:
        """Create an external tool, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CREATE_EXTERNAL_TOOL, tool)

    async def update_external_tool(self, name: str, tool: ExternalToolChanges) -> ExternalTool:
        """Change an external tool but for its name, and return it; `NotFoundError` if there is none."""
        return await self._call(UPDATE_EXTERNAL_TOOL, tool, name=name)

    async def delete_external_tool(self, name: str) -> DeletedExternalTool:
        """Delete an external tool, and return whether it was deleted; `NotFoundError` if there is none."""
        return await self._call(DELETE_EXTERNAL_TOOL, name=name)

    def list_api_tools(self, query: ToolQuery | None = None, *, cursor: WalkStart = None) -> Walk[ApiTool]:
        """The API tools of the app. One request per page."""
        return self._walk(API_TOOLS.list, query, cursor)

    async def get_api_tool(self, slug: str) -> ApiTool:
        """An API tool; `NotFoundError` if there is none."""
        return await self._call(API_TOOLS.get, slug=slug)

    async def create_api_tool(self, tool: NewApiTool) -> ApiTool:
        """Create an API tool, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(API_TOOLS.create, tool)

    async def update_api_tool(self, slug: str, changes: ApiToolChanges) -> ApiTool:
        """Change an API tool but for its name, and return it; `NotFoundError` if there is none."""
        return await self._call(API_TOOLS.update, changes, slug=slug)

    async def delete_api_tool(self, slug: str) -> Ack:
        """Delete an API tool; `NotFoundError` if there is none."""
        return await self._call(API_TOOLS.delete, slug=slug)

    async def add_api_tools(self, uid: str, api_tools: Sequence[str]) -> Agent:
        """Give an agent API tools by their slugs, and return the agent; `NotFoundError` if there is none."""
        return await self._call(ADD_API_TOOLS, AgentApiTools(api_tools=api_tools), uid=uid)

    async def remove_api_tools(self, uid: str, api_tools: Sequence[str]) -> Agent:
        """Take API tools from an agent, and return the agent; `NotFoundError` if there is none."""
        return await self._call(REMOVE_API_TOOLS, AgentApiTools(api_tools=api_tools), uid=uid)

    def list_frontend_actions(
        self, query: ToolQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[FrontendAction]:
        """The frontend actions of the app. One request per page."""
        return self._walk(FRONTEND_ACTIONS.list, query, cursor)

    async def get_frontend_action(self, id: str) -> FrontendAction:
        """A frontend action; `NotFoundError` if there is none."""
        return await self._call(FRONTEND_ACTIONS.get, id=id)

    async def create_frontend_action(self, action: NewFrontendAction) -> FrontendAction:
        """Create a frontend action, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(FRONTEND_ACTIONS.create, action)

    async def update_frontend_action(self, id: str, changes: FrontendActionChanges) -> FrontendAction:
        """Change a frontend action but for its function, and return it; `NotFoundError` if there is none."""
        return await self._call(FRONTEND_ACTIONS.update, changes, id=id)

    async def delete_frontend_action(self, id: str) -> Ack:
        """Delete a frontend action; `NotFoundError` if there is none."""
        return await self._call(FRONTEND_ACTIONS.delete, id=id)

    async def add_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Give an agent frontend actions by the names of their functions, and return the agent."""
        body = AgentFrontendActions(frontend_actions=frontend_actions)
        return await self._call(ADD_FRONTEND_ACTIONS, body, uid=uid)

    async def remove_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Take frontend actions from an agent, and return it; `NotFoundError` if there is none."""
        body = AgentFrontendActions(frontend_actions=frontend_actions)
        return await self._call(REMOVE_FRONTEND_ACTIONS, body, uid=uid)

    def list_mcp_servers(
        self, query: ToolQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[McpServer]:
        """The MCP servers of the app. One request per page."""
        return self._walk(MCP_SERVERS.list, query, cursor)

    async def get_mcp_server(self, slug: str) -> McpServer:
        """An MCP server; `NotFoundError` if there is none."""
        return await self._call(MCP_SERVERS.get, slug=slug)

    async def create_mcp_server(self, server: NewMcpServer) -> McpServer:
        """Create an MCP server, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(MCP_SERVERS.create, server)

    async def update_mcp_server(self, slug: str, changes: McpServerChanges) -> McpServer:
        """Change an MCP server but for its slug, and return it; `NotFoundError` if there is none."""
        return await self._call(MCP_SERVERS.update, changes, slug=slug)

    async def delete_mcp_server(self, slug: str) -> Ack:
        """Delete an MCP server; `NotFoundError` if there is none."""
        return await self._call(MCP_SERVERS.delete, slug=slug)

    async def add_mcp_servers(self, uid: str, mcps: Sequence[str]) -> Agent:
        """Give an agent MCP servers by their slugs, and return it; `NotFoundError` if there is none."""
        return await self._call(ADD_MCP_SERVERS, AgentMcpServers(mcps=mcps), uid=uid)

    async def remove_mcp_servers(self, uid: str, mcps: Sequence[str]) -> Agent:
        """Take MCP servers from an agent, and return the agent; `NotFoundError` if there is none."""
        return await self._call(REMOVE_MCP_SERVERS, AgentMcpServers(mcps=mcps), uid=uid)

    def list_all_variables(self, query: VariableQuery | None = None) -> Walk[VariableUsage]:
        """The variables, predefined and custom, with the agents that use them. One request."""
        return self._walk(LIST_ALL_VARIABLES, query)

    def list_custom_variables(self) -> Walk[Variable]:
        """The variables that the app has defined. One request."""
        return self._walk(LIST_CUSTOM_VARIABLES)

    async def create_variable(self, variable: NewVariable) -> Variable:
        """Create a variable, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CREATE_VARIABLE, variable)

    async def update_variable(self, variable_id: str, changes: VariableChanges) -> Variable:
        """Change a variable but for its name, and return it; `NotFoundError` for no such `id`."""
        return await self._call(UPDATE_VARIABLE, changes, variableId=variable_id)

    async def delete_variable(self, variable_id: str) -> Ack:
        """Delete a variable by its `id`; `NotFoundError` if there is none."""
        return await self._call(DELETE_VARIABLE, variableId=variable_id)
