"""Stable names in the place of people's own, such as `Person 1`, by the order in which they first wrote.

A text is hidden where it has a full name or a uid of somebody that the export names, or with a capital letter
a word of such a name; of words of two letters the first and the last one. Accents, widths, several spaces and
`_` make no difference. In scripts without spaces a name is found anywhere. Who is called by another name, or
by an inflected one, cannot be found. Uids that differ only in case are of different people.

A pseudonym is made once, and is never looked through itself: somebody's name may be `Person 3`, too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final
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
_MIN: Final = 3
"""Letters of what is looked for inside of a text: shorter ones would be found in other words.

In scripts without spaces one letter is enough.
"""
_SHORT: Final = 2
"""Letters of a name that is found where it has a capital letter, or of its first or last word."""
_PSEUDONYM: Final = re.compile(r"Person ([1-9][0-9]{0,17})", re.ASCII)
_OF_PEOPLE: Final = frozenset({"sender", "owner", "initiator"})
_SERVICE: Final = "app_system"
"""Who acts where nobody does."""


def pseudonym(number: int) -> str:
    """Return the name of a person by their number; that of 0 is of all who have not written."""
    return f"Person {number}" if number else "[name]"


def number_of(pseudonym: str) -> int:
    """Return the number of a person by their pseudonym; 0 for any other text."""
    match = _PSEUDONYM.fullmatch(pseudonym)
    return int(match[1]) if match else 0


def people_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
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


class Pseudonyms:
    """Replaces the `names` of people: each a text, the number of its person, 0 for a uid, and the app.

    In a text of an app a name is that of its people, if it has any of this name; `app` says which app it is.
    """

    def __init__(self, names: Iterable[tuple[str, int, int, str]]) -> None:
        self.app = ""
        self._uids = set[tuple[str, str]]()
        self._exact = _Aliases(self)
        """By a uid, else by a name: somebody may be called as another one's uid."""
        self._whole = _Aliases(self)
        """By what is left of a name without its case."""
        self._pseudonyms = _Aliases(self)
        self._lengths: dict[str, set[int]] = {}
        """The lengths of what is found, by their first words."""
        self._words = _Aliases(self)
        for name, number, is_name, self.app in sorted(names, key=itemgetter(2)):
            self._add(name, pseudonym(number), bool(is_name))

    def _add(self, name: str, alias: str, is_name: bool) -> None:
        if not is_name:
            self._uids.add((self.app, name))
            self._exact.put(name, alias)
        elif (self.app, name) not in self._uids:
            self._exact.put(name, alias)
        self._whole.put(name.lower(), alias)
        folded = _folded(name)[0].strip()
        self._add_phrase(folded, alias, is_name)
        words = _RUN.findall(folded) if is_name else []
        if len(words) > 1:  # written as one, or with letters between that nobody sees
            self._add_phrase(folded.replace(" ", ""), alias, is_name)
        for position, word in enumerate(words):
            is_outer = position in (0, len(words) - 1) and len(word) == _SHORT
            if _SPACELESS_LETTER.match(word):
                if len(word) > 1:
                    self._add_phrase(word, alias, is_name)
            elif (len(word) >= _MIN or is_outer) and not word.isdigit():
                self._words.put(word, alias)

    def _add_phrase(self, name: str, alias: str, is_name: bool) -> None:
        first = _WORD.search(name)
        is_spaceless = _SPACELESS_LETTER.search(name) is not None
        if first is None or len(name) < (_MIN - is_spaceless * (1 + is_name)):
            return
        name = name[first.start() :]
        self._pseudonyms.put(name, alias)
        self._lengths.setdefault(first[0], set()).add(len(name))

    def alias_of(self, text: str) -> str | None:
        """Return what stands for a text that is a name or uid, or that of two people; None for any other.

        The uids may be too short to be found in another text.
        """
        if alias := self._alias(text):
            return alias
        first, _, second = text.partition(_PAIR)
        if (alias := self._alias(first)) and (other := self._alias(second)):
            return f"{alias}{_PAIR}{other}"
        return None

    def _alias(self, name: str) -> str:
        return self._exact.get(name) or self._whole.get(name.lower())

    def mentions(self, text: str) -> list[str]:
        """Divide a text at its mentions: each second part is a mention, with a pseudonym."""
        if "<@" not in text:
            return [text]
        parts = _MENTION.split(text)
        parts[1::2] = [f"@{self._alias(uid) or pseudonym(0)}" for uid in parts[1::2]]
        return parts

    def hide_names(self, text: str) -> tuple[str, int]:
        """Return a text with pseudonyms for the names in it, and how many there are."""
        folded, positions = _folded(text)
        parts, end = list[str](), 0
        for match in _WORD.finditer(folded):
            at = match.start()
            if positions[at] < end:
                continue
            alias, length = self._match_at(folded, text[positions[at]].islower(), match)
            if alias:
                parts += text[end : positions[at]], alias
                end = positions[at + length]
        return "".join([*parts, text[end:]]), len(parts) // 2

    def _match_at(self, folded: str, is_lower: bool, word: re.Match[str]) -> tuple[str, int]:
        """Return what stands for the name that begins with a word of a text, and the name's length."""
        at = word.start()
        for length in sorted(self._lengths.get(word[0], ()), reverse=True):
            end = at + length
            if (
                end <= len(folded)
                and _is_name_end(folded, end)
                and (alias := self._pseudonyms.get(folded[at:end]))
            ):
                return alias, length
        return ("" if is_lower else self._words.get(word[0])), len(word[0])


class _Aliases:
    """The pseudonyms of names, of the app of `of` or else of all; none of what several people are called."""

    def __init__(self, owner: Pseudonyms) -> None:
        self._owner = owner
        self._aliases: dict[str, dict[str, str]] = {}
        """By app; "" has those of all apps."""

    def put(self, name: str, alias: str) -> None:
        for app in {self._owner.app, ""}:
            aliases = self._aliases.setdefault(app, {})
            aliases[name] = alias if aliases.get(name, alias) == alias else pseudonym(0)

    def get(self, name: str) -> str:
        alias = self._aliases.get(self._owner.app, {}).get(name)
        return alias or self._aliases.get("", {}).get(name, "")


def _is_name_end(folded: str, end: int) -> bool:
    """Say if a name may end at a position: not inside of a word."""
    after = folded[end : end + 1]
    return not _RUN.match(after) or bool(
        _SPACELESS_LETTER.match(after) or _SPACELESS_LETTER.match(folded[end - 1])
    )


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in which what reads the same is the same, and the positions of its letters and end."""
    if not _ODD.search(text):
        return text.lower(), range(len(text) + 1)
    letters, positions = list[str](), list[int]()
    for at, letter in enumerate(text):
        folded = _folded_letter(letter)
        if folded != " " or letters[-1:] != [" "]:
            letters += folded
            positions += [at] * len(folded)
    return "".join(letters), [*positions, len(text)]


@lru_cache(maxsize=10_000)
def _folded_letter(letter: str) -> str:
    if letter == "_" or letter.isspace():
        return " "
    marked = normalize("NFKD", letter)
    plain = "".join(each for each in marked if not "\u0300" <= each <= "\u036f" and category(each) != "Cf")
    return normalize("NFKC", plain.casefold()).strip()
