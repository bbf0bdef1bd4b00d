"""The search of a static site: shards of terms, each a script that calls `chatrest`.

A shard is lines of a term and the pages that have it, in the order of JavaScript's texts (UTF-16). Pages are
gaps in base 36, runs of pages `gap-length`. Where a shard ends is decided by the terms themselves, so that a
new term changes the shard that it is in, and no other. Terms of a page's people begin with `@`, those of its
conversation's title with `#`, and `!edited` is of a page with an edited message.

The vocabulary has the words of each shard, without their pages: a search for the middle of a word learns from
it which shards it needs.

Memory is bounded: what was gathered is written as a sorted file when it is large, and the files are merged.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec

from .items import FLAGS
from .text import ACCENTS, DENSE, LETTERS, folded, has_middle, parts_of_word, terms

WORDS_OF: Final = 8
"""Shards whose words are in one script."""
_AT_ONCE: Final = 3_000_000
"""Pairs of a term and a page that are gathered in memory."""
_TERM: Final = 30
"""Pairs that need as much of it as a term."""
_MIN_SHARD: Final = 24_000
_MAX_SHARD: Final = 64_000
"""Bytes of a shard."""
_EDGE: Final = 63
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def script(data: Any) -> bytes:
    return b"chatrest(%b);\n" % msgspec.json.encode(data)


def base36(number: int) -> str:
    digits = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return _DIGITS[number] + digits


@lru_cache(50_000)
def _terms_of(word: str) -> tuple[str, ...]:
    if word.isascii() and word.isalnum():
        return tuple(parts_of_word(word.lower()))
    return tuple(terms(folded(word)))


def flag_bits(flags: Iterable[str]) -> int:
    return sum(1 << FLAGS.index(flag) for flag in flags)


def page_terms(
    title: str, people: Iterable[tuple[str, str]], texts: list[str], flags: Iterable[str]
) -> set[str]:
    words = set("\n".join(texts).split())  # most words of a page are there more than once
    result = set(chain.from_iterable(map(_terms_of, words)))
    result.update(f"!{flag}" for flag in flags)
    result.update(f"#{term}" for term in terms(folded(title)))
    result.update(f"@{term}" for term in terms(folded(" ".join(f"{uid} {name}" for uid, name in people))))
    return result


class Shard(NamedTuple):
    first: str
    """Its first term."""
    name: str
    script: bytes
    words: str
    """Those that have a middle, with spaces between."""


class TermIndex:
    """The pages of all terms: gathered by `add`, given by `shards`. Pages are added in any order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: dict[str, list[int]] = {}
        self._pairs = 0
        self._files: list[Path] = []

    def add(self, page: int, own_terms: Iterable[str]) -> None:
        pages, count = self._pages, 0
        for term in own_terms:
            count += 1
            if (listed := pages.get(term)) is None:
                pages[term] = [page]
                count += _TERM
            else:
                listed.append(page)
        self._pairs += count
        if self._pairs >= _AT_ONCE:
            self._write()

    def _write(self) -> None:
        path = self._folder / f"terms-{len(self._files)}"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{term} {' '.join(map(str, pages))}\n" for term, pages in self._sorted())
        self._files.append(path)
        self._pages, self._pairs = {}, 0

    def _sorted(self) -> list[tuple[str, list[int]]]:
        return sorted(self._pages.items(), key=lambda pair: _sort_key(pair[0]))

    def shards(self) -> Iterator[Shard]:
        """Yield the shards in the order of the terms."""
        lines, size, first = list[str](), 0, ""
        for term, pages in self._merged():
            is_edge = size >= _MIN_SHARD and not crc32(term.encode()) & _EDGE
            line = f"{term} {_gaps(pages)}"
            if lines and (is_edge or size + len(line) > _MAX_SHARD):
                yield _shard(first, lines)
                lines, size = [], 0
            if not lines:
                first = term
            lines.append(line)
            size += len(line) + 1
        if lines:
            yield _shard(first, lines)

    def _merged(self) -> Iterator[tuple[str, list[int]]]:
        with ExitStack() as stack:
            opened = [stack.enter_context(path.open(encoding="utf-8", newline="\n")) for path in self._files]
            runs: list[Iterable[tuple[str, list[int]]]] = [map(_parse_line, file) for file in opened]
            every = heapq.merge(*runs, self._sorted(), key=lambda pair: _sort_key(pair[0]))
            for term, group in groupby(every, key=itemgetter(0)):
                pages = [page for _, listed in group for page in listed]
                pages.sort()
                yield term, pages


def _sort_key(term: str) -> bytes:
    return term.encode("utf-16-be")


def _parse_line(line: str) -> tuple[str, list[int]]:
    term, *pages = line.split()
    return term, list(map(int, pages))


def _shard(first: str, lines: list[str]) -> Shard:
    name = blake2b(first.encode(), digest_size=6).hexdigest()
    words = " ".join(filter(has_middle, (line.partition(" ")[0] for line in lines)))
    return Shard(first, name, script("\n".join(lines)), words)


def _gaps(pages: list[int]) -> str:
    """Return ascending page numbers as gaps and runs."""
    parts, last_page, start = list[str](), 0, 0
    while start < len(pages):
        end = start
        while end + 1 < len(pages) and pages[end + 1] == pages[end] + 1:
            end += 1
        run = f"-{base36(end - start)}" if end > start else ""
        parts.append(base36(pages[start] - last_page) + run)
        last_page, start = pages[end], end + 1
    return ",".join(parts)


def meta_script(firsts: list[tuple[str, str]], times: Iterable[tuple[int, int, int]]) -> bytes:
    """Return the table that a search begins with; `times` are (page, first, last) in milliseconds."""
    newest = sorted(times, key=itemgetter(2, 0), reverse=True)
    dense = "".join(f"\\u{{{low:x}}}-\\u{{{high:x}}}" for low, high in DENSE)
    tables = {"dense": dense, "accents": ACCENTS, "letters": LETTERS, "flags": FLAGS}
    return script(tables | {"firsts": firsts, "times": newest})
