"""Stable names in the place of people's own, such as `Person 1`, by the order in which they first wrote.

A text is hidden where it has a full name or a uid of somebody that the site knows, or with a capital letter a
word of such a name. Who is not known, or is called by another name, cannot be found.
"""

import re
from collections.abc import Iterable
from typing import Final, final

_WORD: Final = re.compile(r"[^\W_]+")
_MENTION: Final = re.compile(r"<@uid:(Person \d+|\[name\])>", re.IGNORECASE)
_LEAST: Final = 3
"""Letters of what is looked for inside of a text: shorter ones would be found in other words."""


def pseudonym(number: int) -> str:
    """Return the name of a person by their number; that of 0 is of all who have not written."""
    return f"Person {number}" if number else "[name]"


@final
class Pseudonyms:
    """Replaces the `names` of people, each given with the number of its person."""

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._whole: dict[str, str] = {}
        self._by_first: dict[str, list[tuple[str, str]]] = {}
        self._words: dict[str, str] = {}
        for name, number in names:
            self._add(name.lower(), pseudonym(number))

    def _add(self, name: str, alias: str) -> None:
        words = _WORD.findall(name)
        self._whole[name] = alias
        if not words or len(name) < _LEAST:
            return
        matches = self._by_first.setdefault(words[0], [])
        matches.append((name[name.index(words[0]) :], alias))
        matches.sort(key=lambda match: -len(match[0]))
        for word in words:
            if len(word) >= _LEAST and not word.isdigit():
                known = self._words.setdefault(word, alias)
                self._words[word] = alias if known == alias else "[name]"

    def hide(self, text: str) -> str:
        lowered = text.lower()
        if (alias := self._whole.get(lowered)) is not None:
            return alias
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
        return _MENTION.sub(r"@\1", "".join([*parts, text[end:]])) if parts else text

    def _at(self, lowered: str, text: str, at: int, word: str) -> tuple[str, int]:
        """Return what stands for the name that begins at a place, and the name's length."""
        for name, alias in self._by_first.get(word, ()):
            after = lowered[at + len(name) : at + len(name) + 1]
            if lowered.startswith(name, at) and not _WORD.match(after):
                return alias, len(name)
        is_name = not text[at].islower()
        return (self._words.get(word, "") if is_name else ""), len(word)
