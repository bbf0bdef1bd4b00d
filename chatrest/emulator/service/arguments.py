"""Query parameters, read by kind: whole numbers, booleans, choices, texts, lists; and SQL conditions of them.

A boolean is `true`, `false`, `1` or `0`. A list may come as one comma list, as a repeated key or as
`key[]`. Wrong values are collected, and refused all at once with 400 and a text for every field. Parameters
that an operation does not know are ignored.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, final

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


_OPERATORS: Final = {"from": ">=", "to": "<=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "="}
_TAGGED: Final = "EXISTS (SELECT 1 FROM json_each(COLUMN) WHERE value IN (MARKS))"


@final
class Conditions:
    """A condition that grows by terms, all of which must match; a parameter that is absent adds none.

    Wrong values are collected in the query, whose `check` refuses them.
    """

    def __init__(self, query: Arguments) -> None:
        self._query = query
        self._terms: list[tuple[str, tuple[Any, ...]]] = [("1", ())]

    @property
    def sql(self) -> str:
        return " AND ".join(sql for sql, _ in self._terms)

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(value for _, values in self._terms for value in values)

    def add(self, sql: str, *values: Any) -> None:
        self._terms.append((sql, values))

    def equals(self, name: str, column: str) -> None:
        if (value := self._query.text(name)) is not None:
            self.add(f"{column} = ?", value)

    def any_of(self, name: str, column: str, allowed: tuple[str, ...] = ()) -> None:
        """Add `column IN (…)` for a list of texts."""
        if values := self._query.texts(name, allowed):
            self.add(f"{column} IN ({_marks(values)})", *values)

    def tagged(self, name: str, column: str) -> None:
        """Add that a JSON list has one of the texts at least."""
        if values := self._query.texts(name):
            self.add(_TAGGED.replace("COLUMN", column).replace("MARKS", _marks(values)), *values)

    def bounds(self, name: str, column: str, operators: tuple[str, ...] = ("from", "to")) -> None:
        """Add the bounds of a number: `name[from]`, `name[to]`, or other operators."""
        for operator in operators:
            if (value := self._query.number(f"{name}[{operator}]")) is not None:
                self.add(f"{column} {_OPERATORS[operator]} ?", value)

    def search(self, columns: Mapping[str, str], *, anywhere: bool = False) -> None:
        """Add that `searchKey` begins a column, or is `anywhere` in it, without regard to case.

        `columns` are folded ones, by the names that `searchIn` may have.
        """
        names = self._query.texts("searchIn", tuple(columns)) or tuple(columns)
        if (text := self._query.text("searchKey")) is None:
            return
        # Not LIKE: an underscore in a uid is no wildcard.
        matches = [columns[name] for name in names if name in columns]
        terms = " OR ".join(f"instr({column}, ?) {'> 0' if anywhere else '= 1'}" for column in matches)
        self.add(f"({terms or 0})", *(text.casefold(),) * len(matches))


def _marks(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))
