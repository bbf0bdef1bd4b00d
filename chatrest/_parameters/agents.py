"""Filters and bodies of agents and their tools, and of agents of other frameworks."""

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from .checked import Body, Bool, CheckedStruct, Direction, Filter, Json, Millis, PageSize, Text, struct_type
from .fields import AnyText, AnyTexts, AuthMeta, HttpMethod, Instruction, ListOf, ShortText, Uri, length_rule


class NewToolParameter(Body):
    """A parameter of a tool, which an agent fills in."""

    key: Text
    """The parameter's name."""
    type: Text
    """The parameter's type."""
    description: AnyText
    required: Bool | UnsetType = UNSET


ToolParameters: TypeAlias = Annotated[
    ListOf[NewToolParameter], Meta(description="a list of parameters with key, type and description")
]


class ApiToolChanges(Body):
    """Changes of an API tool, whose name stays; what is not given stays, too."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: Text | UnsetType = UNSET
    """The name in addresses."""
    description: Text | UnsetType = UNSET
    endpoint: Uri | UnsetType = UNSET
    """The address that the tool calls."""
    method: HttpMethod | UnsetType = UNSET
    enable_basic_auth: Bool | UnsetType = UNSET
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET
    headers: AnyText | UnsetType = UNSET
    body_template: AnyText | UnsetType = UNSET
    """The body of the request, with placeholders for parameters."""
    allow_additional_properties: Bool | UnsetType = UNSET
    """Let the agent pass parameters that are not declared."""
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


class NewApiTool(ApiToolChanges):
    """An API tool to create: a request to `endpoint`, which an agent may make.

    The slug is unique in the app. `headers` and `body_template` are JSON texts, the template with {{…}} for
    what is filled in. `basic_auth_username` and `basic_auth_password` are needed with `enable_basic_auth`.
    """

    slug: Text
    name: ShortText
    description: Text
    endpoint: Uri
    method: HttpMethod
    enable_basic_auth: Bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.enable_basic_auth and UNSET in (self.basic_auth_username, self.basic_auth_password):
            raise RequestInvalidError(
                "enable_basic_auth = True: expected basic_auth_username and basic_auth_password, too"
            )


class FrontendActionChanges(Body):
    """Changes of a frontend action, whose function stays; what is not given stays, too."""

    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


class NewFrontendAction(FrontendActionChanges):
    """A frontend action to create: a function of the client's page, `trigger_function`, a unique id."""

    name: Text
    description: Text
    trigger_function: Text
    """The function that the frontend calls."""


class McpServerChanges(Body):
    """Changes of an MCP server, whose slug stays; what is not given stays, too."""

    name: Text | UnsetType = UNSET
    url: Uri | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


class NewMcpServer(McpServerChanges):
    """An MCP server to create; the slug is unique and safe in a URL."""

    name: Text
    slug: Text
    """The name in addresses."""
    url: Uri
    description: Text


_SourceKind: TypeAlias = Literal["message_metadata", "user_metadata", "constant"]
_Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[a-zA-Z][a-zA-Z0-9_.]{0,49}\Z",
        description="a letter and at most 49 letters a to z, digits, '_' and '.'",
    ),
]
_Words: TypeAlias = Annotated[str, length_rule(0, 200)]
_Constant: TypeAlias = Annotated[str, length_rule(0, 500)]


class VariableQuery(Filter):
    """The form of the list of all variables: with `group_by_category` it is served by category."""

    group_by_category: Bool | None = None
    """Group the variables by their category."""


class VariableChanges(Body):
    """Changes of a variable, whose name stays; what is not given stays, too."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    source_type: _SourceKind | UnsetType = UNSET
    description: _Words | UnsetType = UNSET
    source_path: Annotated[str, length_rule(0, 100)] | UnsetType = UNSET
    """Where the value is in the source."""
    constant_value: _Constant | UnsetType = UNSET
    """The value of a constant variable."""
    default_value: _Words | UnsetType = UNSET
    """The value where the source has none."""


class NewVariable(VariableChanges):
    """A variable to create. `constant_value` is needed for every source, and may be a credential."""

    name: _Name
    source_type: _SourceKind
    constant_value: _Constant


AgentHeaders: Final = struct_type("AgentHeaders", Filter, chat_api_version=Text | None)


class ToolQuery(Filter):
    """The filter of lists of API tools, frontend actions and MCP servers; a walk starts at `created_at`."""

    limit: PageSize | None = None
    affix: Direction | None = None
    """The direction: append gives what was created after `created_at`, prepend what was created before."""
    created_at: Millis | None = None
    """The time from which the list continues, see `affix`."""


class AgentQuery(ToolQuery):
    """The filter of GET agents."""

    search: Text | None = None
    """Words to look for in names, descriptions and uids."""


class IntegrationQuery(ToolQuery):
    """The filter of tool integrations."""

    slug: Text | None = None
    """The slug of one integration."""
    search: Text | None = None
    """Words to look for."""


class ToolSearchQuery(Filter):
    """A search of tools."""

    key: Text | None = None
    """Words to look for in names, descriptions and slugs."""
    slug: Text | None = None
    """The slug of one integration."""


class EnabledItemsQuery(Filter):
    """The kinds of items that are asked for, all by default; `key` is of a name or description."""

    tools: Bool | None = None
    """Include tools."""
    frontend_actions: Bool | None = None
    """Include frontend actions."""
    api_tools: Bool | None = None
    """Include API tools."""
    mcp_servers: Bool | None = None
    """Include MCP servers."""
    key: Text | None = None
    """Words to look for."""


class AgentChanges(Body):
    """Changes of an agent; what is not given stays."""

    name: ShortText | UnsetType = UNSET
    icon: Uri | UnsetType = UNSET
    description: AnyText | UnsetType = UNSET
    tools: AnyTexts | UnsetType = UNSET
    api_tools: AnyTexts | UnsetType = UNSET
    mcp_servers: AnyTexts | UnsetType = UNSET
    """MCP servers of the agent, by their slugs."""
    instruction: Instruction | UnsetType = UNSET
    """What the agent shall do, in words."""
    meta_data: Json | UnsetType = UNSET
    model: Text | UnsetType = UNSET
    model_meta_data: Json | UnsetType = UNSET
    """Settings of the language model, such as temperature and maxTokens."""
    is_active: Bool | UnsetType = UNSET


class NewAgent(AgentChanges):
    """An agent to create; the tools and servers that it names exist already."""

    name: ShortText
    is_active: Bool = True


AgentTools: Final = struct_type("AgentTools", Body, tools=AnyTexts)
AgentApiTools: Final = struct_type("AgentApiTools", Body, api_tools=AnyTexts)
AgentFrontendActions: Final = struct_type("AgentFrontendActions", Body, frontend_actions=AnyTexts)
AgentMcpServers: Final = struct_type("AgentMcpServers", Body, mcps=AnyTexts)


class EnabledActions(Body):
    """The actions of a tool to enable; `auth_meta`, an object or a list of texts, is never shown."""

    actions: AnyTexts
    auth_meta: AuthMeta | UnsetType = UNSET


DisabledActions: Final = struct_type("DisabledActions", Body, actions=AnyTexts)
ToolType: TypeAlias = Literal["action", "tool"]
_Framework: TypeAlias = Literal[
    "mastra", "mastra-legacy", "langgraph", "crewai", "vercelV5", "ag2", "rasa", "agno", "ag-ui"
]
_IntegrationType: TypeAlias = Annotated[
    Literal["agent", "llm"], Meta(description="'agent' (or 'llm', of an older page)")
]
_ToolName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[a-zA-Z_$][a-zA-Z0-9_$-]{0,99}\Z",
        description="a letter, '_' or '$', and at most 99 letters a to z, digits, '_', '$' and '-'",
    ),
]
_Headers: TypeAlias = Annotated[
    dict[str, Any] | str, Meta(description="a JSON object, as a mapping with text keys, or a JSON text")
]


class IntegrationMeta(CheckedStruct):
    """The address of an external agent. `headers` may hold credentials, and is never shown.

    A creation needs `base_url`. Some frameworks want an `agent_id`, mastra has no headers, and ag2, rasa and
    agno take theirs as a JSON text; `default_user_id` is of ag2.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    base_url: Text | UnsetType = UNSET
    """The address of the agent's server."""
    agent_id: Text | UnsetType = UNSET
    """The agent's id in its framework."""
    headers: _Headers | UnsetType = UNSET
    default_user_id: Text | UnsetType = UNSET
    """The user for whom the agent acts if none is named."""


_Meta: TypeAlias = Annotated[IntegrationMeta, Meta(description="an object with a baseUrl")]


class ExternalAgentChanges(Body):
    """Changes of an external agent, always with `integrate_with`; what is not given stays."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"integration_meta"})

    integrate_with: _Framework
    """The agent's framework."""
    name: ShortText | UnsetType = UNSET
    icon: Uri | UnsetType = UNSET
    is_active: Bool | UnsetType = UNSET
    integration_type: _IntegrationType | UnsetType = UNSET
    """What is integrated."""
    integration_meta: _Meta | UnsetType = UNSET
    """Where and how the agent is reached."""
    tools: AnyTexts | UnsetType = UNSET
    actions: AnyTexts | UnsetType = UNSET
    meta_data: Json | UnsetType = UNSET


class NewExternalAgent(ExternalAgentChanges):
    """An external agent to add; `tools` and `actions` are names of external tools that exist."""

    name: ShortText
    icon: Uri
    integration_meta: _Meta
    is_active: Bool = True
    integration_type: _IntegrationType = "agent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integration_meta.base_url is UNSET:
            raise RequestInvalidError("integration_meta: base_url = UNSET: expected a non-empty text")


ExternalToolQuery: Final = struct_type("ExternalToolQuery", Filter, type=ToolType | None)


class _ToolFields(Body):
    name: _ToolName
    display_name: Text
    execution_text: Text
    """What users see while the tool runs."""
    description: AnyText | UnsetType = UNSET
    parameters: Json | UnsetType = UNSET
    do_not_execute: Bool | UnsetType = UNSET
    """Show the tool's call, and do not run it."""


class NewExternalTool(_ToolFields):
    """An external tool to create: with `do_not_execute` a `tool`, else an `action` with a JSON schema."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.do_not_execute is not True and UNSET in (self.description, self.parameters):
            raise RequestInvalidError("expected description and parameters, unless do_not_execute = True")


class ExternalToolChanges(_ToolFields):
    """An external tool as it is to be, merged into what it was; its name cannot change."""
