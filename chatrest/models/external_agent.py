"""Agents of other frameworks, and their tools."""

from typing import ClassVar, final

from msgspec import UNSET

from .agent_tool import StoredRecord, ToolDefinition
from .record import Json, Maybe, Record


@final
class ExternalAgent(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """An agent of another framework. Times are ISO 8601 texts, `integration_type` is agent or llm.

    `integration_meta` may hold credentials: the attribute shows them, a repr does not.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "uid"
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


@final
class CreatedExternalAgent(Record, frozen=True, gc=False, rename="camel"):
    """The reply of a creation: the external agent in a member of its own."""

    agent: ExternalAgent


@final
class ExternalTool(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A tool of external agents: an `action`, or a `tool` that is not executed.

    Times are ISO 8601 texts, though declared as numbers on some pages.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "name"

    name: str
    type: Maybe[str] = UNSET
    display_name: Maybe[str] = UNSET
    execution_text: Maybe[str] = UNSET
    do_not_execute: Maybe[bool] = UNSET
    tool: Maybe[ToolDefinition] = UNSET
    created_at: Maybe[str | int] = UNSET
    updated_at: Maybe[str | int] = UNSET


@final
class DeletedExternalTool(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The reply of a deletion."""

    deleted: Maybe[bool] = UNSET
