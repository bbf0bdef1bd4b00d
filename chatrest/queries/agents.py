"""The filters and bodies of agents, and of what an agent has."""

from typing import final

from msgspec import UNSET, UnsetType

from .agent_fields import AnyTexts, AuthMeta, Instruction, Uri
from .checked import Affix, Body, Filter, Flag, Json, Millis, Size, Text
from .limits import AnyText, ShortText


@final
class AgentHeaders(Filter, frozen=True, kw_only=True, rename="camel"):
    """The header that names the version of the chat service; `v3.0` where it is not sent."""

    chat_api_version: Text | None = None


@final
class AgentQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET agents. A walk starts at `created_at`, in milliseconds, which goes with `affix`.

    `search` is looked for in names, descriptions and uids.
    """

    limit: Size | None = None
    affix: Affix | None = None
    created_at: Millis | None = None
    search: Text | None = None


@final
class ToolQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of lists of API tools, frontend actions and MCP servers; a walk starts at `created_at`."""

    limit: Size | None = None
    affix: Affix | None = None
    created_at: Millis | None = None


@final
class IntegrationQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of tool integrations; `slug` is that of one. A walk starts at `created_at`."""

    slug: Text | None = None
    limit: Size | None = None
    affix: Affix | None = None
    created_at: Millis | None = None
    search: Text | None = None


@final
class ToolSearchQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """A search of tools: `key` is of a name, description or slug, `slug` that of one integration."""

    key: Text | None = None
    slug: Text | None = None


@final
class EnabledItemsQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The kinds of items that are asked for, all by default; `key` is of a name or description."""

    tools: Flag | None = None
    frontend_actions: Flag | None = None
    api_tools: Flag | None = None
    mcp_servers: Flag | None = None
    key: Text | None = None


@final
class NewAgent(Body, frozen=True, kw_only=True, rename="camel"):
    """An agent to create.

    `tools` are slugs of integrations, `api_tools` and `mcp_servers` those of tools and servers that exist.
    `model_meta_data` has `temperature` and `maxTokens`.
    """

    name: ShortText
    is_active: Flag = True
    icon: Uri | UnsetType = UNSET
    description: AnyText | UnsetType = UNSET
    tools: AnyTexts | UnsetType = UNSET
    api_tools: AnyTexts | UnsetType = UNSET
    mcp_servers: AnyTexts | UnsetType = UNSET
    instruction: Instruction | UnsetType = UNSET
    meta_data: Json | UnsetType = UNSET
    model: Text | UnsetType = UNSET
    model_meta_data: Json | UnsetType = UNSET


@final
class AgentChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of an agent."""

    name: ShortText | UnsetType = UNSET
    icon: Uri | UnsetType = UNSET
    description: AnyText | UnsetType = UNSET
    tools: AnyTexts | UnsetType = UNSET
    api_tools: AnyTexts | UnsetType = UNSET
    mcp_servers: AnyTexts | UnsetType = UNSET
    instruction: Instruction | UnsetType = UNSET
    meta_data: Json | UnsetType = UNSET
    model: Text | UnsetType = UNSET
    model_meta_data: Json | UnsetType = UNSET
    is_active: Flag | UnsetType = UNSET


@final
class AgentTools(Body, frozen=True, kw_only=True, rename="camel"):
    """The slugs of integrations."""

    tools: AnyTexts


@final
class AgentApiTools(Body, frozen=True, kw_only=True, rename="camel"):
    """The slugs of API tools."""

    api_tools: AnyTexts


@final
class AgentFrontendActions(Body, frozen=True, kw_only=True, rename="camel"):
    """The function names of frontend actions."""

    frontend_actions: AnyTexts


@final
class AgentMcpServers(Body, frozen=True, kw_only=True, rename="camel"):
    """The slugs of MCP servers."""

    mcps: AnyTexts


@final
class EnabledActions(Body, frozen=True, kw_only=True, rename="camel"):
    """The actions of a tool to enable.

    `auth_meta` may hold credentials, and is never shown: an object by its declaration, a list of texts in the
    documents' example.
    """

    actions: AnyTexts
    auth_meta: AuthMeta | UnsetType = UNSET


@final
class DisabledActions(Body, frozen=True, kw_only=True, rename="camel"):
    """The actions of a tool to disable."""

    actions: AnyTexts
