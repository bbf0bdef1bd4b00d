"""The checked-in table of the service's operations, and arguments for each of them."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from chatrest._parameters.checked import CheckedStruct
from chatrest._resources import collection_class
from tests.support.session_double import Sender

DOCUMENTED: Final = json.loads((Path(__file__).parent.parent / "operations.json").read_text(encoding="utf-8"))
TABLE: Final[dict[str, dict[str, Any]]] = DOCUMENTED["operations"]
RECORDS: Final[dict[str, dict[str, Any]]] = DOCUMENTED["records"]
"""The members of the records in replies, each with its type; `[…]` is a list."""


def names(kind: type[msgspec.Struct] | None) -> dict[str, Any]:
    return {} if kind is None else {field.encode_name: field for field in msgspec.structs.fields(kind)}


def structs_in(kind: Any) -> Iterator[type[CheckedStruct]]:
    if isinstance(kind, type) and issubclass(kind, CheckedStruct):
        yield kind
    for part in get_args(kind):
        yield from structs_in(part)


MESSAGE: Final = {"receiver": "bob", "receiver_type": "user", "type": "text", "data": {"text": "t"}}
GIVEN: Final[dict[str, dict[str, Any]]] = {
    "agents.create_external": {"agent": {"integration_meta": {"base_url": "b"}}},
    "agents.create_external_tool": {"tool": {"do_not_execute": True}},
    "conversations.replace_pinned": {"pinned_conversations": {"uid": "bob"}},
    "data_import.import_users": {"users": {"uid": "users-1"}},
    "data_import.import_groups": {"groups": {"guid": "groups-1"}},
    "data_import.import_members": {"members": {"member_id": "members-1"}},
    "data_import.import_messages": {"messages": {"muid": "messages-1"}},
    "members.add": {"members": {"admins": ["bob"]}},
    "messages.send": {"message": MESSAGE},
    "messages.send_bot": {"message": MESSAGE},
    "messages.send_thread": {"message": MESSAGE},
    "messages.update": {"changes": {"tags": ["x"]}},
}
"""Fields of the structs in arguments that have rules beyond the types of their fields."""
WORDS: Final = ("x1", "https://host/x", 1, "1", True, {"a": 1}, ["x1"])


def method_of(name: str, sender: Sender) -> Callable[..., Any]:
    collection, _, operation = name.partition(".")
    method: Callable[..., Any] = getattr(collection_class(collection)(sender), operation)
    return method


def arguments_of(name: str) -> dict[str, Any]:
    method = method_of(name, Sender())
    hints = get_type_hints(inspect.unwrap(method))
    return {
        argument: value(argument, hints[argument], GIVEN.get(name, {}).get(argument, {}))
        for argument in inspect.signature(method).parameters
        if argument not in ("cursor", "query")
    }


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def value(name: str, hint: Any, more: Mapping[str, Any]) -> Any:
    """Return a value for an argument of this type; a text shows the argument's name."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return value(name, parts[0], more)
    if origin in (Union, UnionType):
        return value(name, next(part for part in parts if part is not type(None)), more)
    if origin is Literal:
        return parts[0]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {value(name, parts[0], more): value(name, parts[1], more)}
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return [value(name, parts[0], more)]
    if isinstance(hint, type) and issubclass(hint, CheckedStruct):
        return sample(hint, more)
    return {str: f"{name}-1", bool: True, int: 7, date: date(2020, 1, 2)}.get(hint, "x")


def sample(kind: type[CheckedStruct], more: Mapping[str, Any]) -> CheckedStruct:
    needed = [field for field in msgspec.structs.fields(kind) if field.required and field.name not in more]
    return kind(**{field.name: word(field.type) for field in needed}, **more)


def word(kind: Any) -> Any:
    inner = [sample(each, {}) for each in structs_in(kind)]
    listed: Sequence[Any] = [inner, *inner] if inner else []
    literal = [part for part in (*get_args(kind), kind) if get_origin(part) is Literal]
    for candidate in (*listed, *(get_args(literal[0]) if literal else ()), *WORDS):
        try:
            msgspec.convert(candidate, kind)
        except msgspec.ValidationError:
            continue
        return candidate
    raise AssertionError(f"no word for {kind}")
