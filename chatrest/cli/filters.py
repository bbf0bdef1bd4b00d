"""Options made from a filter's fields: types come from the struct, help texts from a table."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

import click
from msgspec import inspect

from ..parameters.apps import AppQuery
from ..parameters.checked import Filter
from ..parameters.messages import MessageQuery
from ..parameters.users import UserQuery
from .call_parameters import ValueType
from .options import TimeOption

F = TypeVar("F", bound=Callable[..., Any])
Q = TypeVar("Q", bound=Filter)

_PREFIX: Final = "filter_"
_NAMES: Final = {"limit": "page-limit"}  # --limit is the total number of records

MEANINGS: Final[Mapping[type[Filter], Mapping[str, str]]] = {
    MessageQuery: {
        "search_key": "Text that occurs in the message.",
        "has_attachments": "With attachments.",
        "attachment_types": "With an attachment of this kind.",
        "has_mentions": "With mentions.",
        "has_links": "With links.",
        "mentioned_uids": "That mention this user.",
        "unread": "Not read by the user.",
        "undelivered": "Not delivered to the user.",
        "count": "The number of messages per user or group, instead of messages.",
        "hide_replies": "Without the replies inside threads.",
        "affix": "append: oldest first, those after --id; prepend: newest first, those before it.",
        "id": "Start at this message.",
        "category": "Of this category, such as message, custom, action, call.",
        "categories": "Of one of these categories.",
        "type": "Of this type, such as text, image, audio.",
        "types": "Of one of these types.",
        "my_mentions_only": "That mention the user of --on-behalf-of.",
        "has_reactions": "With reactions.",
        "sender": "Sent by this user.",
        "mentions_with_blocked_info": "With blocks between the mentioned users and --on-behalf-of.",
        "mentions_with_tag_info": "With the tags of mentioned users.",
        "per_page": "Size of a page; only without --on-behalf-of.",
        "limit": "Size of a page; only with --on-behalf-of.",
        "from_timestamp": "Sent at this timestamp or later.",
        "to_timestamp": "Sent at this timestamp or earlier.",
        "with_tags": "With the tags of each message.",
        "tags": "With one of these tags.",
    },
    UserQuery: {
        "search_key": "Text that the name or uid begins with.",
        "search_in": "Fields in which to search.",
        "status": "Of this status.",
        "per_page": "Size of a page.",
        "page": "Start at this page.",
        "role": "Of this role.",
        "roles": "Of one of these roles.",
        "tags": "With one of these tags.",
        "with_tags": "With the tags of each user.",
        "only_deactivated": "Only deactivated users.",
        "with_deactivated": "Also deactivated users.",
        "created_at_from": "Created at this timestamp or later.",
        "created_at_to": "Created at this timestamp or earlier.",
        "updated_at_from": "Updated at this timestamp or later.",
        "updated_at_to": "Updated at this timestamp or earlier.",
    },
    AppQuery: {
        "search_key": "Text that the name or id begins with.",
        "per_page": "Size of a page.",
        "page": "Start at this page.",
    },
}
"""The help text of each filter."""
NO_OPTION: Final[Mapping[type[Filter], frozenset[str]]] = {
    MessageQuery: frozenset(
        {
            "hide_messages_from_blocked_users", "receiver_type", "hide_deleted", "only_deleted", "sent_at",
            "sent_at_from", "sent_at_to", "updated_at_from", "updated_at_to", "edited_at_from",
            "edited_at_to", "senders", "conversation_id", "hide_quoted_messages", "saved", "pinned", "page",
        }
    ),
    UserQuery: frozenset({"count"}),
    AppQuery: frozenset(),
}  # fmt: skip
"""The other fields: a count of users is not a list, and the messages of a user (`messages UID`) do not have
the parameters of other lists.
"""


class FilterOption(click.Option):
    """An option that filters a list; the help shows these in a section."""


class ListCommand(click.Command):
    """A command whose help has a section for options and one for filters."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for title, shown in (("Options", False), ("Filters", True)):
            records = [
                param.get_help_record(ctx) for param in options if isinstance(param, FilterOption) == shown
            ]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record is not None])


def filter_options(kind: type[Filter], *, without: Collection[str] = ()) -> Callable[[F], F]:
    """Return a decorator that adds an option for every field of `kind`, except those in `without`."""

    def decorate(command: F) -> F:
        for field in reversed(_fields(kind)):
            if field.name not in without and field.name not in NO_OPTION[kind]:
                command = _option(field, MEANINGS[kind][field.name])(command)
        return command

    return decorate


def query_of(kind: type[Q], given: Mapping[str, Any]) -> Q:
    """Return the filter of the parsed options `given`; `RequestInvalidError` if a value is not allowed."""
    values = {name.removeprefix(_PREFIX): value for name, value in given.items() if name.startswith(_PREFIX)}
    return kind(**{name: value for name, value in values.items() if value is not None and value != ()})


def _fields(kind: type[Filter]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return described.fields


def _option(field: inspect.Field, meaning: str) -> Callable[[F], F]:
    name = _NAMES.get(field.name, field.name.replace("_", "-"))
    values = ValueType.of(field.type)
    rule = next(kind for kind in (values.item or values).kinds if not isinstance(kind, inspect.NoneType))
    if isinstance(rule, inspect.BoolType):
        return click.option(
            f"{_PREFIX}{field.name}", f"--{name}/--no-{name}", cls=FilterOption, default=None, help=meaning
        )
    kind, metavar = _type_of(rule)
    if values.per_second:
        kind, metavar = TimeOption(per_second=values.per_second), "T"
    return click.option(
        f"{_PREFIX}{field.name}",
        f"--{name}",
        cls=FilterOption,
        type=kind,
        metavar=metavar,
        multiple=values.item is not None,
        help=meaning if values.item is None else f"{meaning} May be repeated.",
    )


def _type_of(rule: inspect.Type) -> "tuple[click.ParamType[Any], str | None]":
    if isinstance(rule, inspect.IntType):
        return click.IntRange(rule.ge, rule.le), "N"
    if isinstance(rule, inspect.LiteralType):
        return click.Choice([str(value) for value in rule.values]), None
    return click.STRING, "TEXT"
