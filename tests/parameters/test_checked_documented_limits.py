"""Filters and bodies take what the service's table documents, and refuse what is beyond its limits."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from chatrest._parameters.checked import CheckedStruct
from chatrest._resources import OPERATIONS
from chatrest.errors import RequestInvalidError
from tests.resources.operation_table import TABLE, names, sample, structs_in

OTHER: Final[dict[str, tuple[Any, ...]]] = {
    "string": (["x"], {"a": 1}, True, b"x"), "object": ("x", ["x"]), "array": (5, {"a": 1}, [None]),
    "boolean": ("yes", 2, 1, "true", [True]), "number": ("x", [], True), "integer": ("x", [], True, 1.5),
}  # fmt: skip
"""Values of other types than a documented one."""
GIVEN: Final[dict[str, dict[str, Any]]] = {
    "NewMessage": {"receiver": "bob"}, "NewBotMessage": {"receiver": "bob"},
    "NewExternalAgent": {"integration_meta": {"base_url": "b"}},
    "NewWebhook": {"username": "u", "password": "p"},
}  # fmt: skip
"""Fields without which no field of a struct can be given."""
TAKEN: Final = {
    ("NewKeywordList", "search_terms"), ("RuleCondition", "value"),
    ("EnabledActions", "auth_meta"), ("IntegrationMeta", "headers"), ("NewUser", "avatar"),
    ("MessageQuery", "saved"), ("MessageQuery", "pinned"), ("ConversationQuery", "use_cursored_index"),
    ("ConversationQuery", "unique"), ("NewKeywordList", "file"), ("NewUser", "link"),
    ("UserChanges", "avatar"), ("UserChanges", "link"), ("NewGroup", "icon"),
    ("GroupChanges", "icon"), ("NewVariable", "constant_value"), ("NewToolParameter", "description"),
    *((f"NewCustom{kind}Provider", f"basic_auth_{name}") for kind in ("Email", "Push", "Sms")
      for name in ("username", "password")),
}  # fmt: skip
"""Fields that take more than their operation documents: other operations do, or services were seen to."""


SHOWN: Final = ("toxicity", "llm")
"""Words that replies show, and no request's rules."""
TYPES: Final = {"message": "text", "interactive": "card"}
"""Types of messages that fit a category."""


def members(where: str, kind: type[Any] | None, rows: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the documented members of a struct and of those in it: where, the class, the field, its row."""
    fields = names(kind)
    for name in rows.keys() & fields:
        yield f"{where}: {name}", kind, fields[name].name, rows[name]
        for inner in structs_in(fields[name].type) if "fields" in rows[name] else ():
            yield from members(f"{where}: {name}", inner, rows[name]["fields"])


def all_members() -> dict[Any, tuple[str, dict[str, Any]]]:
    """Return where each member is documented, and its row, by class and field."""
    parts = [
        members(name, getattr(OPERATIONS[name], part), row.get(part, {}))
        for name, row in TABLE.items()
        for part in ("query", "body")
    ]
    return {(kind, field): (where, row) for part in parts for where, kind, field, row in part}


def listed(row: Mapping[str, Any], *values: Any) -> list[Any]:
    return [[value] for value in values] if row["type"] == "array" else [*values]


def extremes(row: Mapping[str, Any]) -> list[Any]:
    start = "https://h/" if "format" in row else ""
    longest = [start + "x" * (row["max_chars"] - len(start))] if "max_chars" in row else []
    numbers = [row[limit] for limit in ("min", "max") if limit in row]
    return [*listed(row, *row.get("enum", ()), *longest), *numbers]


def excesses(row: Mapping[str, Any]) -> list[Any]:
    long = ["x" * (row["max_chars"] + 1)] if "max_chars" in row else []
    other = ["1 is no word" for name in ("enum", "format", "pattern") if name in row]
    other += [""] if row["type"] == "string" and row.get("required") else []
    numbers = [row[limit] + step for limit, step in (("min", -1), ("max", 1)) if limit in row]
    return [*OTHER[row["type"]], *listed(row, *long, *other), *numbers]


def test_members_have_the_documented_types_and_limits() -> None:
    wrong, taken = [], set()
    for (kind, field), (where, row) in all_members().items():
        given = GIVEN.get(kind.__name__, {})
        for value in extremes(row):
            fitting = {"type": TYPES[value]} if field == "category" and value in TYPES else {}
            if error := refusal(kind, given | fitting | {field: value}):
                wrong.append(f"{where} = {value!r} is refused: {error}")
        for value in excesses(row):
            error = refusal(kind, given | {field: value})
            if error is None:
                taken.add((kind.__name__, field))
            elif not error.startswith(field.removesuffix("_")) or "expected " not in error:
                wrong.append(f"{where} = {value!r}: the error names not it and what is expected: {error}")
        if more := words(get_type_hints(kind, include_extras=True)[field]) - {*row.get("enum", ()), *SHOWN}:
            wrong.append(f"{where} takes {more}")
    assert wrong == []
    assert taken == TAKEN


def words(hint: Any) -> set[Any]:
    parts = get_args(hint)
    return {*parts} if get_origin(hint) is Literal else set().union(*map(words, parts))


def refusal(kind: type[CheckedStruct], given: dict[str, Any]) -> str | None:
    try:
        sample(kind, given)
    except RequestInvalidError as error:
        return str(error)
    return None
