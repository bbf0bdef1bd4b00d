"""Bodies of API tools, frontend actions, MCP servers and variables."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from .checked import Body, Filter, Flag, Text
from .fields import AnyText, HttpMethod, Listed, ShortText, Uri, text_of


class NewToolParameter(Body):
    """A parameter of a tool, which an agent fills in."""

    key: Text
    """The parameter's name."""
    type: Text
    """The parameter's type."""
    description: AnyText
    required: Flag | UnsetType = UNSET


ToolParameters: TypeAlias = Annotated[
    Listed[NewToolParameter], Meta(description="a list of parameters with key, type and description")
]


class ApiToolChanges(Body):
    """Any part of an API tool but its name."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: Text | UnsetType = UNSET
    """The name in addresses."""
    description: Text | UnsetType = UNSET
    endpoint: Uri | UnsetType = UNSET
    """The address that the tool calls."""
    method: HttpMethod | UnsetType = UNSET
    enable_basic_auth: Flag | UnsetType = UNSET
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET
    headers: AnyText | UnsetType = UNSET
    body_template: AnyText | UnsetType = UNSET
    """The body of the request, with placeholders for parameters."""
    allow_additional_properties: Flag | UnsetType = UNSET
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
    enable_basic_auth: Flag = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.enable_basic_auth and UNSET in (self.basic_auth_username, self.basic_auth_password):
            raise RequestInvalidError(
                "enable_basic_auth = True: then basic_auth_username and basic_auth_password are needed"
            )


class FrontendActionChanges(Body):
    """Any part of a frontend action but its function, which cannot change."""

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
    """Any part of an MCP server but its slug."""

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
_Path: TypeAlias = Annotated[str, text_of(0, 100)]
_Words: TypeAlias = Annotated[str, text_of(0, 200)]
_Constant: TypeAlias = Annotated[str, text_of(0, 500)]


class VariableQuery(Filter):
    """The form of the list of all variables: with `group_by_category` it is served by category."""

    group_by_category: Flag | None = None
    """Group the variables by their category."""


class VariableChanges(Body):
    """Any part of a variable but its name."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    source_type: _SourceKind | UnsetType = UNSET
    description: _Words | UnsetType = UNSET
    source_path: _Path | UnsetType = UNSET
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
