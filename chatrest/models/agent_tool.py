"""API tools, frontend actions and MCP servers, which agents may use.

Times are in epoch milliseconds. `id` is `_id` on the wire, the app's id and the slug or the function's name.
"""

from typing import ClassVar, final

from msgspec import UNSET, field

from .record import Json, Maybe, Record


@final
class ToolParameter(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A parameter of a tool, which an agent fills in."""

    key: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    required: Maybe[bool] = UNSET


@final
class ToolDefinition(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A tool as a model is told of it; `parameters` is a JSON schema."""

    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    parameters: Maybe[Json] = UNSET


class StoredRecord(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A record with the id of the service's database."""

    id: Maybe[str] = field(default=UNSET, name="_id")
    app_id: Maybe[str] = UNSET

    @property
    def _id(self) -> Maybe[str]:
        """The same as `id`, under its name on the wire."""
        return self.id


@final
class ApiTool(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A request that an agent may make. `headers` and `body_template` are JSON texts.

    `headers` may hold credentials: the attribute shows them, a repr does not.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "slug"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"headers"})

    slug: str
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    endpoint: Maybe[str] = UNSET
    method: Maybe[str] = UNSET
    enable_basic_auth: Maybe[bool] = UNSET
    headers: Maybe[str] = UNSET
    body_template: Maybe[str] = UNSET
    allow_additional_properties: Maybe[bool] = UNSET
    parameters: Maybe[tuple[ToolParameter, ...]] = UNSET
    tool: Maybe[ToolDefinition] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


@final
class FrontendAction(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A function of the client's page that an agent may call. Its path takes `id`."""

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "trigger_function"

    trigger_function: str
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    parameters: Maybe[tuple[ToolParameter, ...]] = UNSET
    tool: Maybe[ToolDefinition] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


@final
class McpServer(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A server whose tools an agent may use."""

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "slug"

    slug: str
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    url: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
