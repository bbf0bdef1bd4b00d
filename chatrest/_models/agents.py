"""Agents, their tools, variables and models, and agents of other frameworks; see also `agent_knowledge`.

Times are in epoch milliseconds if the class does not say otherwise. A field that the service leaves out is
UNSET. `id` is `_id` in JSON: the app's id, with the slug or the function's name.
"""

from typing import Any, ClassVar

from msgspec import UNSET, field

from .record import Json, Maybe, Record


class ToolParameter(Record):
    """A parameter of a tool, which an agent fills in."""

    key: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    required: Maybe[bool] = UNSET


class ToolDefinition(Record):
    """A tool as a model sees it; `parameters` is a JSON schema."""

    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    parameters: Maybe[Json] = UNSET


class StoredRecord(Record):
    """A record with the id of the service's database."""

    id: Maybe[str] = field(default=UNSET, name="_id")
    app_id: Maybe[str] = UNSET

    @property
    def _id(self) -> Maybe[str]:
        """The same as `id`, under its name on the wire."""
        return self.id


class _NamedRecord(StoredRecord):
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class _Tool(_NamedRecord):
    parameters: Maybe[tuple[ToolParameter, ...]] = UNSET
    tool: Maybe[ToolDefinition] = UNSET


class ApiTool(_Tool, kw_only=True):
    """A request that an agent may make; `headers` (never in a repr) and `body_template` are JSON texts."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: str
    endpoint: Maybe[str] = UNSET
    method: Maybe[str] = UNSET
    enable_basic_auth: Maybe[bool] = UNSET
    headers: Maybe[str] = UNSET
    body_template: Maybe[str] = UNSET
    allow_additional_properties: Maybe[bool] = UNSET


class FrontendAction(_Tool, kw_only=True):
    """A function of the client's page that an agent may call. Its path takes `id`."""

    trigger_function: str


class McpServer(_NamedRecord, kw_only=True):
    """A server whose tools an agent may use."""

    slug: str
    url: Maybe[str] = UNSET


class Variable(StoredRecord, kw_only=True):
    """A value that instructions and tools refer to by name; no repr shows `constant_value`."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    name: str
    description: Maybe[str] = UNSET
    source_type: Maybe[str] = UNSET
    source_path: Maybe[str] = UNSET
    constant_value: Maybe[str] = UNSET
    default_value: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class AgentName(Record):
    """An agent that uses a variable."""

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET


class VariableUsage(Record):
    """A variable, predefined or custom, with the agents and tools that use it."""

    name: str
    description: Maybe[str] = UNSET
    source_type: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    usage_count: Maybe[int] = UNSET
    used_by_agents: Maybe[tuple[AgentName, ...]] = UNSET
    used_by_tools: Maybe[Any] = UNSET

    @property
    def identity(self) -> str:
        """The category and the name: a custom and a predefined variable may have one name."""
        return f"{self.category or ''} {self.name}".lstrip()


class Agent(Record):
    """An agent: `tools`, `api_tools` and `mcp_servers` are slugs, `frontend_actions` function names.

    `files`, `websites` and `other_kb_integrations` are its knowledge, `rag_version` is v1 or v2.
    """

    uid: str
    app_id: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    is_active: Maybe[bool] = UNSET
    description: Maybe[str] = UNSET
    tools: Maybe[tuple[str, ...]] = UNSET
    api_tools: Maybe[tuple[str, ...]] = UNSET
    mcp_servers: Maybe[tuple[str, ...]] = UNSET
    frontend_actions: Maybe[tuple[str, ...]] = UNSET
    files: Maybe[tuple[Any, ...]] = UNSET
    websites: Maybe[tuple[Any, ...]] = UNSET
    other_kb_integrations: Maybe[tuple[Any, ...]] = UNSET
    rag_version: Maybe[str] = UNSET
    last_message_at: Maybe[int] = UNSET
    instruction: Maybe[str] = UNSET
    formatted_instruction: Maybe[str] = UNSET
    meta_data: Maybe[Json] = UNSET
    model: Maybe[str] = UNSET
    model_meta_data: Maybe[Json] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class CreatedAgent(Record):
    """The reply of a creation, with the agent in `agent`."""

    agent: Agent


class AvailableModel(Record):
    """A language model for agents; `default` is True for the model of agents that name none."""

    model: str
    provider: Maybe[str] = UNSET
    settings: Maybe[Json] = UNSET
    default: Maybe[bool] = UNSET

    @property
    def identity(self) -> str:
        """The model and its provider: two providers may have models of one name."""
        return f"{self.model} {self.provider or ''}".rstrip()


class ToolSearch(Record):
    """The tools that match a search, as JSON: their members are not documented. No repr shows them."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"results"})

    success: Maybe[bool] = UNSET
    results: Maybe[tuple[Json, ...]] = UNSET


class ToolAction(Record):
    """An action of a tool that an agent may be permitted."""

    name: str
    display_name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET


class EnabledAction(Record):
    """An action of an enabled tool."""

    slug: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET


class _EnabledItem(EnabledAction):
    icon: Maybe[str] = UNSET


class EnabledTool(_EnabledItem):
    """An integration that an agent has, with the actions that it may take."""

    actions: Maybe[tuple[EnabledAction, ...]] = UNSET


class EnabledFrontendAction(Record):
    """A frontend action that an agent has."""

    id: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    trigger_function: Maybe[str] = UNSET
    parameters: Maybe[Any] = UNSET


class EnabledApiTool(_EnabledItem):
    """An API tool that an agent has."""

    endpoint: Maybe[str] = UNSET
    method: Maybe[str] = UNSET
    parameters: Maybe[Any] = UNSET


class EnabledMcpServer(_EnabledItem):
    """An MCP server that an agent has."""

    url: Maybe[str] = UNSET


class EnabledItems(Record):
    """All that an agent may use."""

    tools: Maybe[tuple[EnabledTool, ...]] = UNSET
    frontend_actions: Maybe[tuple[EnabledFrontendAction, ...]] = UNSET
    api_tools: Maybe[tuple[EnabledApiTool, ...]] = UNSET
    mcp_servers: Maybe[tuple[EnabledMcpServer, ...]] = UNSET


class ToolIntegration(Record):
    """An integration that an agent could have; `is_authenticated` is True if it may be used."""

    slug: str
    name: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    actions: Maybe[Any] = UNSET
    is_authenticated: Maybe[bool] = UNSET
    created_at: Maybe[int] = UNSET


class ExternalAgent(StoredRecord, kw_only=True):
    """An agent of another framework. Times are ISO 8601 texts, `integration_type` is agent or llm.

    `integration_meta` may hold credentials: the attribute shows them, a repr does not.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"integration_meta"})

    uid: str
    name: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    is_active: Maybe[bool] = UNSET
    integrate_with: Maybe[str] = UNSET
    integration_type: Maybe[str] = UNSET
    integration_meta: Maybe[Json] = UNSET
    tools: Maybe[tuple[str, ...]] = UNSET
    actions: Maybe[tuple[str, ...]] = UNSET
    instruction: Maybe[str] = UNSET
    meta_data: Maybe[Json] = UNSET
    deleted_at: Maybe[str | int] = UNSET
    created_at: Maybe[str | int] = UNSET
    updated_at: Maybe[str | int] = UNSET


class CreatedExternalAgent(Record):
    """The reply of a creation, with the external agent in `agent`."""

    agent: ExternalAgent


class ExternalTool(StoredRecord, kw_only=True):
    """A tool of external agents: an `action`, or a `tool` that is not executed. Times are texts."""

    name: str
    type: Maybe[str] = UNSET
    display_name: Maybe[str] = UNSET
    execution_text: Maybe[str] = UNSET
    do_not_execute: Maybe[bool] = UNSET
    tool: Maybe[ToolDefinition] = UNSET
    created_at: Maybe[str | int] = UNSET
    updated_at: Maybe[str | int] = UNSET


class DeletedExternalTool(Record):
    """The reply of a deletion."""

    deleted: Maybe[bool] = UNSET
