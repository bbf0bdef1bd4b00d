"""Stable names in the place of people's own, such as `Person 1`, by the order in which they first wrote.

A text is hidden where it has a full name or a uid of somebody that the export names, or with a capital letter
a word of such a name. Who is called by another name cannot be found.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, final

_WORD: Final = re.compile(r"[^\W_]+")
_MENTION: Final = re.compile(r"<@uid:([^<>\s]*)>", re.IGNORECASE)
_PAIR: Final = "_user_"
"""Between the uids of a conversation's id."""
_LEAST: Final = 3
"""Letters of what is looked for inside of a text: shorter ones would be found in other words."""
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
        self._by_first: dict[str, list[tuple[str, str]]] = {}
        self._words: dict[str, str] = {}
        for name, number, is_name in names:
            self._add(name.lower(), pseudonym(number), bool(is_name))

    def _add(self, name: str, alias: str, is_name: bool) -> None:
        words = _WORD.findall(name)
        self._whole[name] = alias
        if not words or len(name) < _LEAST:
            return
        matches = self._by_first.setdefault(words[0], [])
        matches.append((name[name.index(words[0]) :], alias))
        matches.sort(key=lambda match: -len(match[0]))
        for word in words if is_name else ():
            if len(word) >= _LEAST and not word.isdigit():
                known = self._words.setdefault(word, alias)
                self._words[word] = alias if known == alias else "[name]"

    def hide_ids(self, text: str) -> tuple[str, int]:
        """Return a text that is a name or an id, or has mentions, with pseudonyms, and how many there are."""
        lowered = text.lower()
        if (alias := self._whole.get(lowered)) is not None:
            return alias, 1
        one, _, other = lowered.partition(_PAIR)
        if one in self._whole and other in self._whole:  # also of uids that are too short for any other text
            return f"{self._whole[one]}{_PAIR}{self._whole[other]}", 2
        return _MENTION.subn(self._mentioned, text) if "<@" in text else (text, 0)

    def hide_names(self, text: str) -> tuple[str, int]:
        """Return a text with pseudonyms for the names in it, and how many there are."""
        lowered = text.lower()
        if len(lowered) != len(text):  # of few letters the small one is two
            lowered = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
        parts, end = list[str](), 0
        for match in _WORD.finditer(lowered):
            at = match.start()
            if at < end:
                continue
            alias, length = self._at(lowered, text, at, match[0])
            if alias:
                parts += text[end:at], alias
                end = at + length
        return "".join([*parts, text[end:]]), len(parts) // 2

    def _mentioned(self, match: re.Match[str]) -> str:
        return f"@{self._whole.get(match[1].lower(), pseudonym(0))}"

    def _at(self, lowered: str, text: str, at: int, word: str) -> tuple[str, int]:
        """Return what stands for the name that begins at a place, and the name's length."""
        for name, alias in self._by_first.get(word, ()):
            after = lowered[at + len(name) : at + len(name) + 1]
            if lowered.startswith(name, at) and not _WORD.match(after):
                return alias, len(name)
        is_name = not text[at].islower()
        return (self._words.get(word, "") if is_name else ""), len(word)
