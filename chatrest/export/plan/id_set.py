"""Sets of message ids as compressed bitmaps.

A set needs 0.13 bytes an id where ids are dense, 2 where one in a hundred is used. Operations on two sets
take microseconds, whatever their size.

Nothing else of the export knows `pyroaring`, which is in the extra `export`.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, Self, TypeAlias

from ..._texts import missing_extra
from ...errors import RequestInvalidError

BitMap: TypeAlias = Any
"""A `pyroaring.BitMap64`."""
try:
    from pyroaring import BitMap64

    _BitMap: Any = BitMap64
except ImportError:
    _BitMap = None

NAMES: Final = 1 << 63
"""The names of a journal are numbered from here on, in the order in which they were first seen."""
_SUM: Final = 4
"""Bytes of the checksum before a serialised set."""
_ABOVE_ALL: Final = (1 << 64) - 1
"""No id is as high."""


def check_extra() -> None:
    """Raise `RequestInvalidError` where the extra is not installed."""
    if _BitMap is None:
        raise RequestInvalidError(missing_extra("an export", "export"))


class IdSet:
    """A set of ids, numbers from 1 to 2**63 - 2; those above stand for names: ids that are no numbers.

    `|`, `&` and `-` return new sets; `update` and `discard` change this one. Iterating gives ascending ids.
    """

    __slots__ = ("_bits",)

    def __init__(self, ids: Iterable[int] = ()) -> None:
        if _BitMap is None:
            check_extra()
        self._bits: BitMap = _BitMap(ids)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the set that `to_bytes` made `data` of; ValueError where a byte of it is another one."""
        check_extra()
        if len(data) <= _SUM or zlib.crc32(data[_SUM:]).to_bytes(_SUM, "big") != data[:_SUM]:
            raise ValueError("a set of ids is damaged: its checksum does not match its bytes")
        return cls._of(_BitMap.deserialize(data[_SUM:]))

    @classmethod
    def union(cls, sets: "Iterable[IdSet]") -> Self:
        joined = cls()
        for each in sets:
            joined.update(each)
        return joined

    @classmethod
    def _of(cls, bits: BitMap) -> Self:
        new = cls.__new__(cls)
        new._bits = bits
        return new

    def to_bytes(self) -> bytes:
        """Return the set as bytes, with a checksum in front."""
        data: bytes = self._bits.serialize()
        return zlib.crc32(data).to_bytes(_SUM, "big") + data

    def __contains__(self, id: int) -> bool:
        return id in self._bits

    def __len__(self) -> int:
        return len(self._bits)

    def __bool__(self) -> bool:
        return bool(self._bits)

    def __iter__(self) -> Iterator[int]:
        return iter(self._bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdSet) and bool(self._bits == other._bits)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        edges = f" from {self.first} to {self.last}" if self else ""
        return f"<IdSet of {len(self):,} ids{edges}>"

    def __or__(self, other: "IdSet") -> "IdSet":
        return IdSet._of(self._bits | other._bits)

    def __and__(self, other: "IdSet") -> "IdSet":
        return IdSet._of(self._bits & other._bits)

    def __sub__(self, other: "IdSet") -> "IdSet":
        return IdSet._of(self._bits - other._bits)

    def __le__(self, other: "IdSet") -> bool:
        return bool(self._bits <= other._bits)

    def update(self, other: "IdSet") -> None:
        self._bits |= other._bits

    def discard(self, other: "IdSet") -> None:
        self._bits -= other._bits

    @property
    def first(self) -> int:
        """The lowest id; 0 of an empty set."""
        return int(self._bits.min()) if self._bits else 0

    @property
    def last(self) -> int:
        """The highest id; 0 of an empty set."""
        return int(self._bits.max()) if self._bits else 0

    def from_last(self, count: int) -> int:
        """Return the first of the last `count` ids; 0 of an empty set."""
        return int(self._bits[-min(count, len(self._bits))]) if self._bits else 0

    def between(self, first: int, last: int) -> "IdSet":
        """Return the ids from `first` to `last`, both included."""
        bits = self._bits.copy()
        bits.remove_range(0, max(0, first))
        bits.remove_range(max(0, last + 1), _ABOVE_ALL)
        return IdSet._of(bits)

    @property
    def numbers(self) -> "IdSet":
        return self.between(1, NAMES)

    @property
    def names(self) -> "IdSet":
        return self.between(NAMES + 1, _ABOVE_ALL - 1)

    def count(self, first: int, last: int) -> int:
        """Return how many ids there are from `first` to `last`, both included."""
        return int(self._bits.range_cardinality(first, last + 1)) if last >= first else 0

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The ids as (first, last) of those that follow one another without a gap, ascending."""
        first = last = 0
        for each in self._bits:
            if first and each == last + 1:
                last = each
                continue
            if first:
                yield first, last
            first = last = each
        if first:
            yield first, last
