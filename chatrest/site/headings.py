"""The texts of a conversation on pages: its row in the lists, its header, and the data for scripts.

The scripts hold what would change many pages or make each of them long: all conversations of the site, and
how many pages and which days a conversation has.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from .._texts import plural
from .index import ConversationEntry, Index
from .index_people import PersonEntry, initials
from .item_maker import ItemMaker
from .items import COLOURS
from .search import script
from .zone import day_text

LISTED: Final = 20_000
"""Conversations that the script of the column knows; the pages of the index have all."""
_PEOPLE: Final = 12
"""People that a header names: by the order in which they wrote, so that later ones change no page."""
_WORDS: Final = 80


class Heading(NamedTuple):
    """The header of a conversation, which stays when messages are added."""

    kind: str
    people: tuple[PersonEntry, ...]
    has_more: bool
    first: str


class ConversationRow(NamedTuple):
    conversation: ConversationEntry
    initials: str
    colour: int
    pages: int
    day: str
    """Of its last message."""
    by: str
    """Who wrote its last message; empty for a line."""
    words: str
    """Its last message, shortened."""

    @property
    def href(self) -> str:
        return f"c/{self.conversation.name}/{self.pages}.html#end"

    def data(self) -> list[Any]:
        """Return the members that the script of the column shows."""
        each = self.conversation
        words = self.words if len(self.words) <= _WORDS else f"{self.words[:_WORDS]}…"
        counted = (self.pages, self.day, each.messages, int(each.is_group), self.by, words)
        return [each.name, each.title, self.initials, self.colour, *counted]


class Headings:
    def __init__(self, index: Index, maker: ItemMaker) -> None:
        self._index, self._maker = index, maker
        self.heading: Callable[[ConversationEntry], Heading] = lru_cache(4)(self._heading)
        self._writers = lru_cache(4)(index.colours)

    def row(self, conversation: ConversationEntry) -> ConversationRow:
        [newest] = self._maker.items_of([self._index.messages.at(conversation.newest)])
        who = "" if newest.kind == "line" else newest.sender.name
        return ConversationRow(
            conversation, self._initials(conversation), conversation.number % COLOURS,
            self._index.page_count(conversation.number), self._maker.zone.day(conversation.last),
            who, newest.excerpt,
        )  # fmt: skip

    def _initials(self, conversation: ConversationEntry) -> str:
        if conversation.is_group:
            return initials(conversation.plain_title)
        people = [
            self._index.people.person(each) for each in self._index.parties(conversation.number)[1:] if each
        ]
        people.sort(key=lambda person: person.name.casefold())
        return "".join(each.initials[0] for each in people) or initials(conversation.plain_title)

    def _heading(self, conversation: ConversationEntry) -> Heading:
        guid, *pair = self._index.parties(conversation.number)
        writers = self._writers(conversation.number)
        numbers = dict.fromkeys([*writers, *(each for each in pair if each is not None)])
        people = tuple(map(self._index.people.person, list(numbers)[:_PEOPLE]))
        kind, first = "Group" if guid is not None else "One to one", self._maker.zone.day(conversation.first)
        return Heading(kind, people, len(numbers) > _PEOPLE, first)

    def end_words(self, conversation: ConversationEntry) -> str:
        """Return what new messages and members change: the last day, and how many take part."""
        last = f" to {self._maker.zone.day(conversation.last)}"
        if not conversation.members:
            return last
        wrote = len(self._writers(conversation.number))
        return f"{last} · {plural(conversation.members, 'member')}, {wrote:,} wrote"


def days_script(until: str, pages: int, days: list[tuple[int, int, int]]) -> bytes:
    """Return the script that hands over where a conversation ends, and the page of each day."""
    known = [(day_text(day), page) for day, page, _ in days if day >= 0]
    return script({"until": until, "pages": pages, "days": known})
