"""The search of a static site: the terms of texts, in shards that are scripts which call `chatrest`.

A term is a word, or in scripts without spaces (and of emoji) each pair of neighbours and the last letter of a
run. So a search for the beginning of a word, or for any part of such a run, asks for terms that begin with
something, and one for the middle of a word for those that have it. `site.js` folds and divides a query in the
same way, with `DENSE`, `ACCENTS` and `LETTERS`. A word of more than 40 letters is several terms that overlap,
so any 40 neighbours of it are in one of them. Its letters after the 2,000th are in none.

A shard is lines of a term and the pages that have it, in the order of JavaScript's texts (UTF-16). Pages are
gaps in base 36, runs of pages `gap-length`. Where a shard ends is decided by the terms themselves, so that a
new term changes the shard that it is in, and no other. Terms of a page's people begin with `@`, those of its
conversation's title with `#`, and `!edited` is of a page with an edited message.

The vocabulary has the words of each shard, without their pages: a search for the middle of a word learns from
it which shards it needs.

Memory is bounded: what was gathered is written as a sorted file when it is large, and the files are merged.
"""

import heapq
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec

from .items import FLAGS

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
MAX_TERM: Final = 40
"""Letters of a word that a search asks for."""
_MAX_WORD: Final = 2_000
DENSE: Final = (
    (0xA9, 0xA9), (0xAE, 0xAE), (0xE00, 0xFFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x19E0, 0x19FF),
    (0x1A20, 0x1AAF), (0x200D, 0x200D), (0x20E3, 0x20E3), (0x2122, 0x2122), (0x2190, 0x2BFF),
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x302F), (0x3031, 0x312F), (0x31A0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0xA4CF), (0xA9E0, 0xA9FF), (0xAA60, 0xAADF), (0xF900, 0xFAFF),
    (0xFE00, 0xFE0F), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F), (0x1F000, 0x1FAFF), (0x20000, 0x3FFFF),
    (0xE0020, 0xE007F),
)  # fmt: skip
"""Code points that are not divided by spaces: Han, kana, Thai, Lao, Tibetan, Burmese, Khmer, and emoji."""


def _class(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


def _marks(codes: Iterable[int]) -> str:
    return _class((code, code) for code in codes if unicodedata.category(chr(code))[0] == "M")


_RUN: Final = re.compile(f"([{_class(DENSE)}]+)")
# Combining marks belong to a word, which Python's \w does not know. Those behind U+FFFF are looked for where
# there is such a letter: a class with them would be searched one by one, at twenty times the cost.
_MARK: Final = (
    rf"(?:[{_marks(range(0x300, 0x10000))}]+|(?=[\U00010000-\U0010ffff])"
    rf"[{_marks((*range(0x10000, 0x20000), *range(0xE0100, 0xE01F0)))}]+)"
)
_WORD: Final = re.compile(rf"\w+(?:{_MARK}\w*)*|{_MARK}\w*(?:{_MARK}\w*)*")
_LETTER: Final = re.compile(rf"\w|{_MARK}")
ACCENTS: Final = (
    r"[\u00ad\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u200b\u200c\u200e\u200f\u2060\u2066-\u2069\ufe20-\ufe2f]+"
)
"""Accents, the vowel signs of Arabic and Hebrew, and what is invisible between letters; also in `site.js`."""
_ACCENTS: Final = re.compile(ACCENTS)
LETTERS: Final = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
}  # fmt: skip
"""Letters that are written with others where a keyboard lacks them, and that no form of Unicode divides."""
_LETTERS: Final = str.maketrans(LETTERS)
MIN_INSIDE: Final = 3
"""Letters of what is looked for in the middle of words: fewer would be in most of them.

Of the syllables of Korean two are enough.
"""
_SYLLABLES: Final = re.compile("[가-힣]{2}")


# ── the terms of a text ──


def folded(text: str) -> str:
    """Return a text with one form of each letter, without accents, as the script's `fold` does."""
    if text.isascii():
        return text.lower()
    return _lowered(_ACCENTS.sub("", unicodedata.normalize("NFKD", _lowered(text)))).translate(_LETTERS)


def _lowered(text: str) -> str:
    return unicodedata.normalize("NFC", text).upper().lower().replace("ς", "σ")


def terms(text: str) -> set[str]:
    result = set[str]()
    if not text.isascii():
        parts = _RUN.split(text)  # each second one is a run of letters without spaces
        for run in parts[1::2]:
            result.update(map("".join, pairwise(run)), (run[-1],))
        text = " ".join(parts[::2])
    result.update(_WORD.findall(text))
    if long := [term for term in result if len(term) > MAX_TERM]:
        result.difference_update(long)
        result.update(part for term in long for part in parts_of_word(term))
    return result


def parts_of_word(word: str) -> Iterator[str]:
    """Yield the terms of a word: itself, or where it is long parts of which each begins in the one before."""
    last = min(len(word), _MAX_WORD) - MAX_TERM
    for begin in range(0, max(1, last), MAX_TERM):
        yield word[begin : begin + 2 * MAX_TERM]


def has_middle(term: str) -> bool:
    """Return True for a word whose middle a search may ask for."""
    if term.isascii():
        return len(term) > MIN_INSIDE and term[0] not in "@#!"
    is_long = len(term) > MIN_INSIDE or _SYLLABLES.search(term, 1) is not None
    return is_long and bool(_LETTER.match(term)) and not _RUN.match(term)


# ── shards ──


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
