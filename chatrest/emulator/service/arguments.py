"""Query parameters, read by kind: whole numbers, booleans, choices, texts, lists; and SQL conditions of them.

A boolean is `true`, `false`, `1` or `0`. A list may come as one comma list, as a repeated key or as
`key[]`. Wrong values are collected, and refused all at once with 400 and a text for every field. Parameters
that an operation does not know are ignored.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar, final

from ..store.message_lists import Condition
from .refusals import bad_request

T = TypeVar("T")

_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_ALIASES: Final = {"per_page": "perPage", "mentionswithTagInfo": "mentionsWithTagInfo"}


@final
class Arguments:
    """The query of one request; where a key that holds one value is repeated, the last counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        self._errors: dict[str, list[str]] = {}
        for name, value in pairs:
            name = name.removesuffix("[]")
            self._values.setdefault(_ALIASES.get(name, name), []).append(value)

    def without(self, names: Iterable[str]) -> "Arguments":
        dropped = set(names)
        return Arguments(
            (name, value) for name, values in self._values.items() if name not in dropped for value in values
        )

    def check(self) -> None:
        """Refuse the request with 400 if a value read so far was wrong."""
        if self._errors:
            raise bad_request(self._errors)

    def named(self, table: Mapping[str, T]) -> list[tuple[str, T]]:
        """Return the entries of a table, by parameters, whose parameters the query has."""
        return [(name, value) for name, value in table.items() if name in self._values]

    def text(self, name: str) -> str | None:
        """Return a text; None where it is absent or empty."""
        return self._values[name][-1] or None if name in self._values else None

    def texts(self, name: str, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts; empty where it is absent."""
        texts = tuple(part for value in self._values.get(name, ()) for part in value.split(",") if part)
        if allowed and not set(texts) <= set(allowed):
            self._refuse(name, f"must be of {', '.join(allowed)}")
        return texts

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """Return one of the allowed texts; None where it is absent."""
        if name not in self._values:
            return None
        value = self._values[name][-1]
        if value not in allowed:
            self._refuse(name, f"must be one of {', '.join(allowed)}")
        return value

    def flag(self, name: str) -> bool:
        return self.choice(name, ("true", "false", "1", "0")) in ("true", "1")

    def number(self, name: str, least: int = 0, most: int = 10**18) -> int | None:
        """Return a whole number within its bounds; None where it is absent or wrong."""
        if name not in self._values:
            return None
        value = self._values[name][-1]
        if not _NUMBER.fullmatch(value) or not least <= int(value) <= most:
            bounds = f"from {least} to {most}" if most < 10**18 else f"of {least} or more"
            self._refuse(name, f"must be a whole number {bounds}")
            return None
        return int(value)

    def _refuse(self, name: str, text: str) -> None:
        self._errors.setdefault(name, []).append(f"The {name} {text}.")


Value: TypeAlias = Literal["flag", "state", "text", "texts", "number"]


class Filter(NamedTuple):
    """A row of a list's table of filters: what a query parameter asks of a record."""

    sql: str
    """The condition: a `?` for the value, `MARKS` for several."""
    value: Value = "flag"
    """`flag`: none, the condition holds where it is true; `state`: 1 or 0."""
    allowed: tuple[str, ...] = ()

    def condition(self, query: Arguments, name: str) -> Condition | None:
        """Return the condition that a parameter sets; None where it sets none."""
        values: tuple[str | int, ...]
        if self.value == "flag":
            return Condition(self.sql) if query.flag(name) else None
        if self.value == "state":
            values = (int(query.flag(name)),) if query.text(name) is not None else ()
        elif self.value == "texts":
            values = query.texts(name, self.allowed)
        else:
            text = query.choice(name, self.allowed) if self.allowed else query.text(name)
            value = query.number(name) if self.value == "number" else text
            values = () if value is None else (value,)
        return Condition(self.sql.replace("MARKS", ",".join("?" * len(values))), values) if values else None


Filters: TypeAlias = Mapping[str, Filter]
_SIGNS: Final = {"from": ">=", "to": "<=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "="}


def equals(column: str, allowed: tuple[str, ...] = ()) -> Filter:
    return Filter(f"{column} = ?", "text", allowed)


def any_of(column: str, allowed: tuple[str, ...] = ()) -> Filter:
    return Filter(f"{column} IN (MARKS)", "texts", allowed)


def contains(column: str, allowed: tuple[str, ...] = ()) -> Filter:
    """Ask that a column, a JSON list, has one of the texts at least."""
    sql = "EXISTS (SELECT 1 FROM json_each(COLUMN) WHERE value IN (MARKS))"
    return Filter(sql.replace("COLUMN", column), "texts", allowed)


def bounds(name: str, column: str, ends: Iterable[str] = ("from", "to")) -> Filters:
    """Return the filters of a number: `name[from]`, `name[to]`, or other ends."""
    return {f"{name}[{end}]": Filter(f"{column} {_SIGNS[end]} ?", "number") for end in ends}


def conditions(query: Arguments, filters: Filters) -> list[Condition]:
    """Return the conditions that a query sets; its wrong values are refused by `check`."""
    conditions = (row.condition(query, name) for name, row in query.named(filters))
    return [condition for condition in conditions if condition is not None]


def search(query: Arguments, columns: Mapping[str, str], *, anywhere: bool = False) -> list[Condition]:
    """Return that `searchKey` begins a column, or is `anywhere` in it, without regard to case.

    `columns` are folded ones, by the names that `searchIn` may have.
    """
    names = query.texts("searchIn", tuple(columns)) or tuple(columns)
    if (text := query.text("searchKey")) is None:
        return []
    # Not LIKE: an underscore in a uid is no wildcard.
    matches = [columns[name] for name in names if name in columns]
    terms = " OR ".join(f"instr({column}, ?) {'> 0' if anywhere else '= 1'}" for column in matches)
    return [Condition(f"({terms or 0})", (text.casefold(),) * len(matches))]


def joined(conditions: Iterable[Condition]) -> Condition:
    """Return the condition that all of them are; an empty one matches all."""
    terms = [condition for condition in conditions if condition.sql]
    values = tuple(value for term in terms for value in term.values)
    return Condition(" AND ".join(term.sql for term in terms), values)
