"""The tools of agents: API tools, frontend actions, MCP servers, and variables.

Times are in epoch milliseconds. Fields are lenient: what a service leaves out is UNSET. `id` is `_id`
on the wire, the app's id and the slug or the function's name.
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


class _Tool(StoredRecord):
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    parameters: Maybe[tuple[ToolParameter, ...]] = UNSET
    tool: Maybe[ToolDefinition] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class ApiTool(_Tool, kw_only=True):
    """A request that an agent may make. `headers` and `body_template` are JSON texts.

    `headers` may hold credentials: the attribute shows them, a repr does not.
    """

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


class McpServer(StoredRecord, kw_only=True):
    """A server whose tools an agent may use."""

    slug: str
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    url: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class Variable(StoredRecord, kw_only=True):
    """A value that instructions and tools refer to by its name: from a message, from a user, or constant.

    `constant_value` may be a credential: the attribute shows it, a repr does not.
    """

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
    """A variable, predefined or custom, and who uses it."""

    name: str
    description: Maybe[str] = UNSET
    source_type: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    usage_count: Maybe[int] = UNSET
    used_by_agents: Maybe[tuple[AgentName, ...]] = UNSET
    used_by_tools: Maybe[Any] = UNSET

    @property
    def identity(self) -> str:
        """The category and the name: a custom variable may have a predefined one's name."""
        return f"{self.category or ''} {self.name}".lstrip()
