"""The ids that were read from the files of an export, by file: 0.13 to 2 bytes for each id that is a number.

An id that is none, or is beyond 64 bits, is kept as a hash of 63 bits, which takes about 16 bytes.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple, final

from ..id_set import IdSet
from ..message_ids import number

_LONGEST: Final = 18
"""Digits of a number that surely fits into 63 bits."""
_SHOWN: Final = 3


class Repetition(NamedTuple):
    """Ids that were read before."""

    file: str
    """The file in which they were read first."""
    ids: list[str]


class _FileIds(NamedTuple):
    numbers: IdSet
    hashes: IdSet


@final
class ReadIds:
    """The ids of all files that were read so far."""

    def __init__(self) -> None:
        self.numbers = IdSet()
        """Those that are numbers."""
        self._hashes = IdSet()
        self._by_file: dict[str, _FileIds] = {}

    def add(self, file: str, ids: list[str]) -> tuple[IdSet, list[Repetition]]:
        """Add ids of a file. Return those that are numbers, and the ids that were there before or twice."""
        numbers, texts = split_ids(ids)
        hashes = {text_hash(text): text for text in texts}
        here = _FileIds(IdSet(numbers), IdSet(hashes))
        repetitions = list(self._repetitions(here, hashes))
        if len(here.numbers) < len(numbers) or len(here.hashes) < len(texts):
            repetitions.append(Repetition(file, [each for each, count in Counter(ids).items() if count > 1]))
        there = self._by_file.setdefault(file, _FileIds(IdSet(), IdSet()))
        for total in (there, _FileIds(self.numbers, self._hashes)):
            total.numbers.update(here.numbers)
            total.hashes.update(here.hashes)
        return here.numbers, repetitions

    def of_file(self, file: str) -> IdSet:
        """Return the numbers that were read from a file."""
        return self._by_file[file].numbers if file in self._by_file else IdSet()

    def has_text(self, id: str, file: str | None = None) -> bool:
        """Return True if an id that is no number was read, from this file where it is given."""
        if file is None:
            return text_hash(id) in self._hashes
        return file in self._by_file and text_hash(id) in self._by_file[file].hashes

    @property
    def text_count(self) -> int:
        """The count of ids that are no numbers."""
        return len(self._hashes)

    def _repetitions(self, here: _FileIds, texts: dict[int, str]) -> Iterable[Repetition]:
        if not here.numbers & self.numbers and not here.hashes & self._hashes:
            return
        for file, there in self._by_file.items():
            ids = [str(each) for each in here.numbers & there.numbers]
            ids += [texts[each] for each in here.hashes & there.hashes]
            if ids:
                yield Repetition(file, ids)


def split_ids(ids: list[str]) -> tuple[list[int], list[str]]:
    """Return ids as numbers, and those that are none."""
    digits = "".join(ids)
    if digits.isdecimal() and digits.isascii() and all(ids) and max(map(len, ids)) <= _LONGEST:
        return list(map(int, ids)), []
    numbers = [(text, number(text)) for text in ids]
    return [each for _, each in numbers if each is not None], [text for text, each in numbers if each is None]


def text_hash(id: str) -> int:
    """Return a hash of 63 bits of an id that is no number."""
    data = id.encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") >> 1


def shortened(ids: list[str], count: int | None = None) -> str:
    """Return the first few ids, and how many more there are; `count` is that of all, if these are not all."""
    more = (len(ids) if count is None else count) - _SHOWN
    return ", ".join(ids[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
