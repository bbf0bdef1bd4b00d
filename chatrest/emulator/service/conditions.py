"""From query parameters to an SQL condition over the columns of users or groups."""

from collections.abc import Mapping
from typing import Any, Final, final

from .arguments import Arguments

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
        """The condition, with a `?` for each of `values`."""
        return " AND ".join(sql for sql, _ in self._terms)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the condition."""
        return tuple(value for _, values in self._terms for value in values)

    def add(self, sql: str, *values: Any) -> None:
        """Add a term."""
        self._terms.append((sql, values))

    def equals(self, name: str, column: str) -> None:
        """Add `column = value` for a text."""
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
