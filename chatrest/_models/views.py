"""Attributes that show a stored value in another form, while the record is written as it was served.

A record stores a nested message as its JSON, and a count as the digits that some services send. So a page
with such fields decodes as fast as without, nothing of them can fail it, and `to_dict` and `to_json` give
what came. The attribute gives the typed message, or the number; each access makes it again.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import UNSET, UnsetType

S = TypeVar("S", bound=type[Any])
_LONGEST_COUNT: Final = 40


class _View:
    """The attribute of a field, as `read` makes it of the stored value."""

    __slots__ = ("_read", "_slot")

    def __init__(self, slot: Any, read: Callable[[Any], Any]) -> None:
        self._slot, self._read = slot, read

    def __get__(self, record: Any, owner: type[Any] | None = None) -> Any:
        if record is None:
            return self
        value = self._slot.__get__(record, owner)
        return value if value is UNSET or value is None else self._read(value)

    def __set__(self, record: Any, value: Any) -> None:
        self._slot.__set__(record, value)


def views(read: Callable[[Any], Any], *names: str) -> Callable[[S], S]:
    """Decorate a struct so that the attributes `names` are shown as `read` makes them of what is stored."""

    def decorate(kind: S) -> S:
        for name in names:
            setattr(kind, name, _View(getattr(kind, name), read))
        return kind

    return decorate


def whole_count(stored: object) -> int | UnsetType:
    """Return the number that digits stand for; `UNSET` for what is no number."""
    if isinstance(stored, str):
        is_number = len(stored) < _LONGEST_COUNT and stored.isascii() and stored.isdigit()
        return int(stored) if is_number else UNSET
    return stored if type(stored) is int else UNSET


def text_id(stored: object) -> str:
    """Return an id as text, as the ids of messages are; some services send numbers."""
    return str(stored)
