"""Stable names in the place of people's own, such as `Person 1`, by the order in which they first wrote.

A text is hidden where it has a full name or a uid of somebody that the export names, or with a capital letter
a word of such a name. Accents, widths, several spaces and `_` make no difference. In scripts without spaces a
name of two letters is found anywhere. Who is called by another name, or by an inflected one, cannot be found.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, final
from unicodedata import category, normalize

_SPACELESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30fa\u30fc-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
"""Letters between which a name may begin and end: Thai to Khmer, kana, Han, and Hangul with its endings."""
_WORD: Final = re.compile(rf"[{_SPACELESS}]|(?:(?![{_SPACELESS}])[^\W_])+")
_RUN: Final = re.compile(rf"(?:[{_SPACELESS}]|[^\W_])+")
_SPACELESS_LETTER: Final = re.compile(rf"[{_SPACELESS}]")
_ODD: Final = re.compile(r"[^ -^`-~]|  ")
"""What makes a text one that must be folded letter by letter."""
_MENTION: Final = re.compile(r"<@uid:([^<>\s]*)>", re.IGNORECASE)
_PAIR: Final = "_user_"
"""Between the uids of a conversation's id."""
_LEAST: Final = 3
"""Letters of what is looked for inside of a text: shorter ones would be found in other words.

In scripts without spaces it is one less.
"""
_OF_PEOPLE: Final = frozenset({"sender", "owner", "initiator"})
_SERVICE: Final = "app_system"
"""Who acts where nobody does."""


def pseudonym(number: int) -> str:
    """Return the name of a person by their number; that of 0 is of all who have not written."""
    return f"Person {number}" if number else "[name]"


def people_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the uids in a record, each with the name that it has there, or an empty one."""
    match value:
        case dict():
            if isinstance(uid := value.get("uid"), str):
                own = value.get("name")
                yield uid, own if isinstance(own, str) else ""
            for key, each in value.items():
                yield from people_in(each, key)
        case list():
            for each in value:
                yield from people_in(each, name)
        case str() if (name in _OF_PEOPLE or name.endswith("By")) and value != _SERVICE:
            yield value, ""


@final
class Pseudonyms:
    """Replaces the `names` of people: each a text, the number of its person, and 0 for a uid."""

    def __init__(self, names: Iterable[tuple[str, int, int]]) -> None:
        self._whole: dict[str, str] = {}
        self._pseudonyms: dict[str, str] = {}
        self._lengths: dict[str, set[int]] = {}
        """The lengths of what is found, by their first words."""
        self._words: dict[str, str] = {}
        for name, number, is_name in names:
            self._add(name, pseudonym(number), bool(is_name))

    def _add(self, name: str, alias: str, is_name: bool) -> None:
        self._whole[name.lower()] = alias
        folded = _folded(name)[0].strip()
        self._find(folded, alias)
        for word in _RUN.findall(folded) if is_name else ():
            if _SPACELESS_LETTER.match(word):
                self._find(word, alias)
            elif len(word) >= _LEAST and not word.isdigit():
                self._words[word] = alias if self._words.get(word, alias) == alias else "[name]"

    def _find(self, name: str, alias: str) -> None:
        """Look for a name inside of texts; that of several people stands for no number."""
        first = _WORD.search(name)
        if first is None or len(name) < _LEAST - bool(_SPACELESS_LETTER.search(name)):
            return
        name = name[first.start() :]
        self._pseudonyms[name] = alias if self._pseudonyms.get(name, alias) == alias else "[name]"
        self._lengths.setdefault(first[0], set()).add(len(name))

    def hide_ids(self, text: str) -> tuple[str, int]:
        """Return a text that is a name or an id, or has mentions, with pseudonyms, and how many there are."""
        lowered = text.lower()
        if (alias := self._whole.get(lowered)) is not None:
            return alias, 1
        first, _, second = lowered.partition(_PAIR)
        if (
            first in self._whole and second in self._whole
        ):  # also of uids that are too short for any other text
            return f"{self._whole[first]}{_PAIR}{self._whole[second]}", 2
        return _MENTION.subn(self._mentioned, text) if "<@" in text else (text, 0)

    def hide_names(self, text: str) -> tuple[str, int]:
        """Return a text with pseudonyms for the names in it, and how many there are."""
        folded, places = _folded(text)
        parts, end = list[str](), 0
        for match in _WORD.finditer(folded):
            at = match.start()
            if places[at] < end:
                continue
            alias, length = self._at(folded, text[places[at]].islower(), match)
            if alias:
                parts += text[end : places[at]], alias
                end = places[at + length]
        return "".join([*parts, text[end:]]), len(parts) // 2

    def _mentioned(self, match: re.Match[str]) -> str:
        return f"@{self._whole.get(match[1].lower(), pseudonym(0))}"

    def _at(self, folded: str, is_lower: bool, word: re.Match[str]) -> tuple[str, int]:
        """Return what stands for the name that begins with a word of a text, and the name's length."""
        at = word.start()
        for length in sorted(self._lengths.get(word[0], ()), reverse=True):
            end = at + length
            if end <= len(folded) and folded[at:end] in self._pseudonyms and _ends(folded, end):
                return self._pseudonyms[folded[at:end]], length
        return ("" if is_lower else self._words.get(word[0], "")), len(word[0])


def _ends(folded: str, end: int) -> bool:
    """Say if a name may end at a place: not inside of a word."""
    after = folded[end : end + 1]
    return not _RUN.match(after) or bool(
        _SPACELESS_LETTER.match(after) or _SPACELESS_LETTER.match(folded[end - 1])
    )


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in which what reads the same is the same, and the places of its letters and end."""
    if not _ODD.search(text):
        return text.lower(), range(len(text) + 1)
    letters, places = list[str](), list[int]()
    for at, letter in enumerate(text):
        folded = _folded_letter(letter)
        if folded != " " or letters[-1:] != [" "]:
            letters += folded
            places += [at] * len(folded)
    return "".join(letters), [*places, len(text)]


@lru_cache(maxsize=10_000)
def _folded_letter(letter: str) -> str:
    if letter == "_" or letter.isspace():
        return " "
    marked = normalize("NFKD", letter)
    plain = "".join(each for each in marked if not "\u0300" <= each <= "\u036f" and category(each) != "Cf")
    return normalize("NFKC", plain.casefold()).strip()
