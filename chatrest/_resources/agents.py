"""AI agents: those of the service's own builder, and those of other frameworks."""

from collections.abc import Sequence
from typing import Final, final

from .._core.replies.decode import ACK, Ack, array, bare, many, one
from .._core.requests.dialects import BY_CREATED
from .._core.requests.endpoint import Endpoint
from .._models.agents import (
    Agent,
    AvailableModel,
    CreatedAgent,
    CreatedExternalAgent,
    DeletedExternalTool,
    EnabledItems,
    ExternalAgent,
    ExternalTool,
    ToolAction,
    ToolIntegration,
    ToolSearch,
)
from .._parameters.agents import (
    AgentChanges,
    AgentHeaders,
    AgentQuery,
    AgentTools,
    DisabledActions,
    EnabledActions,
    EnabledItemsQuery,
    ExternalAgentChanges,
    ExternalToolChanges,
    ExternalToolQuery,
    IntegrationQuery,
    NewAgent,
    NewExternalAgent,
    NewExternalTool,
    ToolSearchQuery,
    ToolType,
)
from .._walk.walk import Walk
from .agent_knowledge import KnowledgeOperations
from .agent_tools import ToolOperations
from .collection import Start

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
    "agents.update_external_tool",
    "PUT",
    _EXTERNAL_TOOL,
    bare(ExternalTool),
    "idempotent",
    body=ExternalToolChanges,
)
DELETE_EXTERNAL_TOOL: Final = Endpoint(
    "agents.delete_external_tool", "DELETE", _EXTERNAL_TOOL, bare(DeletedExternalTool), "idempotent"
)


@final
class Agents(ToolOperations, KnowledgeOperations):
    """Agents, their tools, knowledge and variables, and external agents: `session.agents`.

    Errors of these operations have a message and a status, and no code.
    """

    # ── the builder ──

    def list(self, query: AgentQuery | None = None, *, cursor: Start = None) -> Walk[Agent]:
        """The agents, in the service's order. One request per page."""
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
        """Search an agent's tools by text."""
        return await self._call(SEARCH_TOOLS, query=query, uid=uid)

    async def list_enabled_items(self, uid: str, query: EnabledItemsQuery | None = None) -> EnabledItems:
        """All that an agent may use, by kind."""
        return await self._call(LIST_ENABLED_ITEMS, query=query, uid=uid)

    # ── integrations ──

    def list_tool_integrations(
        self, uid: str, query: IntegrationQuery | None = None, *, cursor: Start = None
    ) -> Walk[ToolIntegration]:
        """The integrations that an agent could have. One request per page.

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

    # ── external agents ──

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
