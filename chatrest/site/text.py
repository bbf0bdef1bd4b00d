"""The texts of messages: what a page shows of them, and the terms by which they are found.

A term is a word, or in scripts without spaces (and of emoji) each pair of neighbours and the last letter of a
run. So a search for the beginning of a word, or for any part of such a run, asks for terms that begin with
something, and one for the middle of a word for those that have it. `site.js` folds and divides a query in the
same way, with `DENSE`, `ACCENTS` and `LETTERS`.

A word of more than 40 letters is several terms that overlap, so any 40 neighbours of it are in one of them.
Its letters after the 2,000th are in none.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

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
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u200b\u200c\u200e\u200f\u2060\ufe20-\ufe2f]+"
)
"""Accents, the vowel signs of Arabic and Hebrew, and what is invisible between letters; also in `site.js`."""
_ACCENTS: Final = re.compile(ACCENTS)
LETTERS: Final = {
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
}  # fmt: skip
"""Letters that are written with others where a keyboard lacks them, and that no form of Unicode divides."""
_LETTERS: Final = str.maketrans(LETTERS)


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


MIN_INSIDE: Final = 3
"""Letters of what is looked for in the middle of words: fewer would be in most of them.

Of the syllables of Korean two are enough.
"""
_SYLLABLES: Final = re.compile("[가-힣]{2}")


def has_middle(term: str) -> bool:
    """Return True for a word whose middle a search may ask for."""
    if term.isascii():
        return len(term) > MIN_INSIDE and term[0] not in "@#!"
    is_long = len(term) > MIN_INSIDE or _SYLLABLES.search(term, 1) is not None
    return is_long and bool(_LETTER.match(term)) and not _RUN.match(term)


_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Controls, the signs that turn the direction of writing, and halves of a pair."""


def visible(text: str) -> str:
    """Return a text in which nothing acts on what surrounds it: such letters are written as their numbers."""
    if text.isprintable():  # which none of the hidden ones is
        return text
    return _HIDDEN.sub(_number, text.replace("\r\n", "\n"))


def visible_json(raw: bytes) -> str:
    """Return a record's JSON in the same way, with the escapes of JSON."""
    text = raw.decode(errors="replace")
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class EscapedText(str):
    __slots__ = ()

    def __html__(self) -> str:
        return self


def escaped_json(raw: bytes) -> str:
    """Return a record as `visible_json` gives it, escaped for an element; its quotes may stay."""
    return visible_json(raw).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"


class TextPart(NamedTuple):
    text: str
    href: str = ""
    is_mention: bool = False


# Letters of both cases instead of a flag: then the search for its beginning is fast.
_LINK: Final = re.compile(r"<@[uU][iI][dD]:([^<>\s]{1,200})>|([hH][tT][tT][pP][sS]?://[^\s<>\"'⟨⟩]{1,2000})")
_AFTER_LINK: Final = ".,;:!?)]}»”’…"


def segments(text: str, mention: Callable[[str], TextPart]) -> tuple[TextPart, ...]:
    """Divide a text at its mentions and at addresses of http and https; all else stays text.

    `mention` returns the segment of a uid.
    """
    parts, end = list[TextPart](), 0
    for match in _LINK.finditer(text):
        parts.append(TextPart(text[end : match.start()]))
        end = match.end()
        if match[1]:
            parts.append(mention(match[1]))
            continue
        address = match[2].rstrip(_AFTER_LINK)
        end = match.start() + len(address)
        parts.append(TextPart(address, address) if len(address) > len("https://") else TextPart(address))
    parts.append(TextPart(text[end:]))
    return tuple(part for part in parts if part.text)


def is_address(url: object) -> bool:
    return isinstance(url, str) and url[:8].lower().startswith(("http://", "https://"))
