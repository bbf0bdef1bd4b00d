"""Query parameters, read by kind: whole numbers, booleans, choices, texts, lists.

A boolean is `true`, `false`, `1` or `0`. A list may come as one comma list, as a repeated key or as
`key[]` (operations table, `arrays_in_query`). What is wrong is gathered, and refused all at once with 400
and a text for every field. Parameters that nobody asks for are ignored.
"""

import re
from collections.abc import Iterable
from typing import Final, final

from .refusals import bad_request

_NUMBER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_ALIASES: Final = {"per_page": "perPage", "mentionswithTagInfo": "mentionsWithTagInfo"}


@final
class Arguments:
    """The query of one request; where a key that holds one value is repeated, the last counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        self._wrong: dict[str, list[str]] = {}
        for name, value in pairs:
            name = name.removesuffix("[]")
            self._values.setdefault(_ALIASES.get(name, name), []).append(value)

    def check(self) -> None:
        """Refuses the request if anything read so far was wrong."""
        if self._wrong:
            raise bad_request(self._wrong)

    def text(self, name: str) -> str | None:
        """A text; None where it is absent or empty."""
        return self._values[name][-1] or None if name in self._values else None

    def texts(self, name: str, allowed: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list of texts; empty where it is absent."""
        found = tuple(part for value in self._values.get(name, ()) for part in value.split(",") if part)
        if allowed and not set(found) <= set(allowed):
            self._refuse(name, f"must be of {', '.join(allowed)}")
        return found

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        """One of the allowed texts."""
        if name not in self._values:
            return None
        value = self._values[name][-1]
        if value not in allowed:
            self._refuse(name, f"must be one of {', '.join(allowed)}")
        return value

    def flag(self, name: str) -> bool:
        """Whether a boolean is there and true."""
        return self.choice(name, ("true", "false", "1", "0")) in ("true", "1")

    def number(self, name: str, least: int = 0, most: int = 10**18) -> int | None:
        """A whole number within its bounds."""
        if name not in self._values:
            return None
        value = self._values[name][-1]
        if not _NUMBER.fullmatch(value) or not least <= int(value) <= most:
            bounds = f"from {least} to {most}" if most < 10**18 else f"of {least} or more"
            self._refuse(name, f"must be a whole number {bounds}")
            return None
        return int(value)

    def _refuse(self, name: str, text: str) -> None:
        self._wrong.setdefault(name, []).append(f"The {name} {text}.")
