"""Rows that came again under an id that this run has written: those that differ are told, as one is kept."""

from collections.abc import Callable, Iterable
from typing import Final, final

from ..core.replies.rows import Row
from .id_set import IdSet
from .message_ids import PageIds, ids_of, key_of, number

MOST: Final = 100_000
"""Rows that are compared, and ids that are no numbers and are known: some 20 MB."""
_SHOWN: Final = 10


@final
class RepeatedRows:
    """The rows of a run that were not written, as their ids were; compared with those on disk at its end."""

    def __init__(self) -> None:
        self._numbers = IdSet()
        self._keys: set[str] = set()
        self._digests: dict[int | str, int] = {}
        self._differing: dict[int | str, None] = {}

    def add(self, shown: list[Row], written: list[Row], ids: PageIds) -> None:
        """Take the rows of a page, and those of them that are written. Quick where these are all of them."""
        new = ids if len(written) == len(shown) else ids_of(written)
        self._numbers.update(new.numbers)
        if new.others and len(self._keys) < MOST:
            self._keys.update(new.others)
        if new is not ids:
            places = set(map(id, written))
            self.note(row for row in shown if id(row) not in places)

    def note(self, rows: Iterable[Row]) -> None:
        """Take rows that are not written; those that this run has written under the same id are compared."""
        for row in rows:
            key = _key(row)
            is_known = key in self._numbers if isinstance(key, int) else key in self._keys
            if is_known and len(self._digests) < MOST:
                digest = hash(row.raw)
                if self._digests.setdefault(key, digest) != digest:
                    self._differing[key] = None

    def compare(self, scan: Callable[[int, int], Iterable[Row]]) -> None:
        """Compare them with the rows on disk of two ids and between: costs the reading of their files."""
        if not self._digests:
            return
        numbers = [key for key in self._digests if isinstance(key, int)]
        for row in scan(min(numbers, default=0), max(numbers, default=0)):
            key = _key(row)
            if self._digests.get(key, own := hash(row.raw)) != own:
                self._differing[key] = None

    def warnings(self) -> list[str]:
        """Return the ids that came with different records, as a sentence; nothing where there are none."""
        count = len(self._differing)
        if not count:
            return []
        ids = ", ".join(map(str, list(self._differing)[:_SHOWN]))
        more = f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
        return [f"different records came under one id, and the first of each was kept: {ids}{more}"]


def _key(row: Row) -> int | str:
    """Return what two records of one message have in common: 07 is 7."""
    digits = row.id.lstrip("0") or row.id
    return number(digits) or key_of(row)
