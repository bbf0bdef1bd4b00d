"""The bodies of API tools, frontend actions and MCP servers.

Passwords and headers of tools may be credentials: no repr and no error shows them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from .agent_fields import HttpMethod, Uri
from .checked import Body, Flag, Text
from .limits import AnyText, ShortText


@final
class NewToolParameter(Body, frozen=True, kw_only=True, rename="camel"):
    """A parameter of a tool, which an agent fills in."""

    key: Text
    type: Text
    description: AnyText
    required: Flag | UnsetType = UNSET


if TYPE_CHECKING:
    ToolParameters: TypeAlias = Sequence[NewToolParameter]
else:
    ToolParameters: TypeAlias = Annotated[
        tuple[NewToolParameter, ...], Meta(description="a list of parameters with key, type and description")
    ]


@final
class NewApiTool(Body, frozen=True, kw_only=True, rename="camel"):
    """An API tool to create: a request to `endpoint`, which an agent may make.

    The slug is unique in the app. `headers` and `body_template` are JSON texts, the template with {{…}} for
    what is filled in. `basic_auth_username` and `basic_auth_password` are needed with `enable_basic_auth`.
    """

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: Text
    name: ShortText
    description: Text
    endpoint: Uri
    method: HttpMethod
    enable_basic_auth: Flag = False
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET
    headers: AnyText | UnsetType = UNSET
    body_template: AnyText | UnsetType = UNSET
    allow_additional_properties: Flag | UnsetType = UNSET
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.enable_basic_auth and UNSET in (self.basic_auth_username, self.basic_auth_password):
            raise RequestInvalidError(
                "enable_basic_auth = True: then basic_auth_username and basic_auth_password are needed"
            )


@final
class ApiToolChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of an API tool but its name."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    endpoint: Uri | UnsetType = UNSET
    method: HttpMethod | UnsetType = UNSET
    enable_basic_auth: Flag | UnsetType = UNSET
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET
    headers: AnyText | UnsetType = UNSET
    body_template: AnyText | UnsetType = UNSET
    allow_additional_properties: Flag | UnsetType = UNSET
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


@final
class NewFrontendAction(Body, frozen=True, kw_only=True, rename="camel"):
    """A frontend action to create: a function of the client's page, `trigger_function`, a unique id."""

    name: Text
    description: Text
    trigger_function: Text
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


@final
class FrontendActionChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of a frontend action but its function, which cannot change."""

    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    parameters: ToolParameters | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET


@final
class NewMcpServer(Body, frozen=True, kw_only=True, rename="camel"):
    """An MCP server to create; the slug is unique and safe in a URL."""

    name: Text
    slug: Text
    url: Uri
    description: Text
    icon: AnyText | UnsetType = UNSET


@final
class McpServerChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of an MCP server but its slug."""

    name: Text | UnsetType = UNSET
    url: Uri | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    icon: AnyText | UnsetType = UNSET
