"""Filters and bodies of agents, and of agents of other frameworks."""

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from .checked import Affix, Body, CheckedStruct, Filter, Flag, Json, Millis, Size, Text, struct_type
from .fields import AnyText, AnyTexts, AuthMeta, Instruction, ShortText, Uri

AgentHeaders: Final = struct_type("AgentHeaders", Filter, chat_api_version=Text | None)


class ToolQuery(Filter):
    """The filter of lists of API tools, frontend actions and MCP servers; a walk starts at `created_at`."""

    limit: Size | None = None
    affix: Affix | None = None
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

    tools: Flag | None = None
    """Include tools."""
    frontend_actions: Flag | None = None
    """Include frontend actions."""
    api_tools: Flag | None = None
    """Include API tools."""
    mcp_servers: Flag | None = None
    """Include MCP servers."""
    key: Text | None = None
    """Words to look for."""


class AgentChanges(Body):
    """Any part of an agent."""

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
    """Settings of the language model."""
    is_active: Flag | UnsetType = UNSET


class NewAgent(AgentChanges):
    """An agent to create.

    `tools` are slugs of integrations, `api_tools` and `mcp_servers` those of tools and servers that exist.
    `model_meta_data` has `temperature` and `maxTokens`.
    """

    name: ShortText
    is_active: Flag = True


AgentTools: Final = struct_type("AgentTools", Body, tools=AnyTexts)
AgentApiTools: Final = struct_type("AgentApiTools", Body, api_tools=AnyTexts)
AgentFrontendActions: Final = struct_type("AgentFrontendActions", Body, frontend_actions=AnyTexts)
AgentMcpServers: Final = struct_type("AgentMcpServers", Body, mcps=AnyTexts)


class EnabledActions(Body):
    """The actions of a tool to enable.

    `auth_meta` may hold credentials, and is never shown: an object by its declaration, a list of texts in the
    documents' example.
    """

    actions: AnyTexts
    auth_meta: AuthMeta | UnsetType = UNSET


DisabledActions: Final = struct_type("DisabledActions", Body, actions=AnyTexts)
# ── external agents ──

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
    """Any part of an external agent; `integrate_with` is needed always."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"integration_meta"})

    integrate_with: _Framework
    """The agent's framework."""
    name: ShortText | UnsetType = UNSET
    icon: Uri | UnsetType = UNSET
    is_active: Flag | UnsetType = UNSET
    integration_type: _IntegrationType | UnsetType = UNSET
    """What is integrated."""
    integration_meta: _Meta | UnsetType = UNSET
    """Where and how the agent is reached."""
    tools: AnyTexts | UnsetType = UNSET
    actions: AnyTexts | UnsetType = UNSET
    meta_data: Json | UnsetType = UNSET


class NewExternalAgent(ExternalAgentChanges):
    """An external agent to add; `tools` and `actions` are names of external tools that exist.

    `meta_data` has `greetingMessage`, `introductoryMessage` and `suggestedMessages`.
    """

    name: ShortText
    icon: Uri
    integration_meta: _Meta
    is_active: Flag = True
    integration_type: _IntegrationType = "agent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integration_meta.base_url is UNSET:
            raise RequestInvalidError("integration_meta: base_url is needed, a text that is not empty")


ExternalToolQuery: Final = struct_type("ExternalToolQuery", Filter, type=ToolType | None)


class _ToolFields(Body):
    name: _ToolName
    display_name: Text
    execution_text: Text
    """What users see while the tool runs."""
    description: AnyText | UnsetType = UNSET
    parameters: Json | UnsetType = UNSET
    do_not_execute: Flag | UnsetType = UNSET
    """Show the tool's call, and do not run it."""


class NewExternalTool(_ToolFields):
    """An external tool to create: with `do_not_execute` it is a `tool`, else an `action`.

    `parameters` is a JSON schema of an object. It and `description` are needed unless `do_not_execute`; then
    `parameters` is to be empty or absent.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.do_not_execute is not True and UNSET in (self.description, self.parameters):
            raise RequestInvalidError("description and parameters are needed, unless do_not_execute = True")


class ExternalToolChanges(_ToolFields):
    """An external tool as it is to be, merged into what it was; its name cannot change."""
