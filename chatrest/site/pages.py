"""The pages of a site, each rendered by a function of this file from the index.

| address                     | page                                                      |
|-----------------------------|-----------------------------------------------------------|
| index.html, index-2.html    | conversations, the newest message first; the site's facts |
| people.html, people-2.html  | who has written                                           |
| u/PERSON.html               | a person                                                  |
| c/CONVERSATION/3.html       | a page of a conversation, oldest first                    |
| …/3-source.html             | the records of its messages                               |
| …/days.html                 | where there is more than one page; `days.js` has its days |
| …/threads-2.html            | threads, each by the message that it began with           |
| …/mRANK.html                | a message that is too large for its page                  |

A page of a conversation does not say how many there are, so that only the last one changes with new messages:
`days.js` says it to a script, as `conversations.js` gives all pages the column of conversations, and
`about.js` the facts of the site, which new messages change.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from .._texts import missing_extra, plural
from ..errors import RequestInvalidError
from .articles import Articles, Escape, EscapedText, name_of
from .contents import is_address, record_of, visible_json
from .index import ConversationEntry, Index, PersonEntry, initials
from .index_messages import PageCut
from .item_maker import ItemMaker
from .items import COLOURS, FLAGS, Item, one_line_a_call
from .search import script
from .zone import day_text, month_of, weekday_of

TEMPLATES: Final = Path(__file__).parent / "templates"
STATIC: Final = {"site.css": ("site.css",), "site.js": ("pages.js", "site.js")}
"""The files that all pages share, and of which templates they are made."""
LIST: Final = 400
"""Rows of a page of a list."""
_MAX_CONVERSATIONS: Final = 500
_SPACES: Final = re.compile(r"/\*.*?\*/|\s*([{}>])\s*|(?<=[:;,])\s+|;\s*(?=})")
"""What a style sheet does not need: spaces and comments."""
_BREAKS: Final = re.compile(r"([;,({=])\n|\n(?=[}).?:&])| (=>|=|===|&&|\|\|) ")
"""What a script does not need: ends of lines, and spaces around operators. No text in one has them."""
_MAX_RECORD: Final = 10_000
"""Letters of a user's record that their page shows."""
_DAY: Final = attrgetter("day")
_CUT: Final = "\0cut\0"
"""Where the frame is divided: nothing that is shown has it."""
ADVICE: Final = (
    "Try fewer words or filters, or a part of a word: one or two letters are only found where a word begins. "
    "Deleted texts, types of messages and numbers in custom data are not searched."
)
"""For who has found nothing."""
_FLAG_WORDS: Final = tuple(
    zip(FLAGS, ("edited", "deleted", "flagged", "has a file", "in a thread"), strict=True)
)
LISTED: Final = 20_000
"""Conversations that the script of the column knows; the pages of the index have all."""
_PEOPLE: Final = 12
"""People that a header names: by the order in which they wrote, so that later ones change no page."""
_WORDS: Final = 80


class SiteFacts(NamedTuple):
    """The facts of the site that every page shows."""

    title: str
    zone: str
    window: str
    """The bounds of what was chosen by time; empty for none."""


class _Day(NamedTuple):
    date: str
    page: int
    messages: int

    @property
    def year(self) -> str:
        return self.date.partition("-")[0]

    @property
    def month(self) -> str:
        return self.date.partition("-")[2][:2]


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


class Pages:
    def __init__(self, index: Index, title: str) -> None:
        self.maker = ItemMaker(index)
        self.headings = Headings(index, self.maker)
        zone, choice = self.maker.zone, index.choice
        self.site = SiteFacts(title, zone.name, zone.window_text(choice.since, choice.until))
        values = {
            "site": self.site,
            "flags": _FLAG_WORDS, "advice": ADVICE, "name_of": name_of, "plural": plural, "day_of": zone.day,
            "weekday_of": weekday_of, "month_of": month_of,
        }  # fmt: skip
        self._articles = Articles(_escape())
        self._template = cache(_environment(values | {"face": self._articles.face}).get_template)
        self.index = index
        self._conversation: Callable[[int], ConversationEntry] = lru_cache(10_000)(index.conversation)
        self._frame = cache(self._make_frame)

    def _make_frame(self, root: str, has_column: bool) -> list[EscapedText]:
        html = self._template("frame.html").render(root=root, has_column=has_column, cut=_CUT)
        return list(map(EscapedText, html.split(_CUT)))

    def _render(self, template: str, root: str, **values: Any) -> str:
        frame = self._frame(root, "conversation" in values)
        html: str = self._template(f"{template}.html").render(root=root, frame=frame, **values)
        return html

    def generate(self, template: str, **values: Any) -> Iterator[str]:
        parts: Iterator[str] = self._template(f"{template}.html").generate(root="", **values)
        return parts

    def _render_in(self, template: str, conversation: ConversationEntry, **values: Any) -> str:
        return self._render(template, "../../", conversation=conversation, **values)

    # ── a conversation ──

    def items(self, conversation: ConversationEntry, cut: PageCut) -> list[Item]:
        """Return the messages of a page, with their links."""
        items = self.maker.items_of(
            self.index.messages.of_page(conversation.number, cut), conversation.number
        )
        source = f"{cut.page}-source.html#"
        for item in items:
            item.href = f"#{item.anchor}"
            item.source_href = f"{item.anchor}.html" if item.is_long else source + item.anchor
        return items

    def page(self, conversation: ConversationEntry, cut: PageCut, items: list[Item], pages: int) -> str:
        days = groupby(one_line_a_call(items), key=_DAY)
        groups = [(day, self._articles.html_of(each)) for day, each in days]
        until = self.headings.end_words(conversation) if cut.page == pages else ""
        return self._render_in("conversation", conversation, page=cut.page, groups=groups, until=until,
                        is_last=cut.page == pages, has_days=has_days(conversation, pages),
                        heading=self.headings.heading(conversation))  # fmt: skip

    def source(self, conversation: ConversationEntry, cut: PageCut, items: list[Item]) -> str:
        records = self._articles.records(items, f"{cut.page}.html")
        return self._render_in("source", conversation, page=cut.page, records=records)

    def whole(self, conversation: ConversationEntry, page: int, item: Item) -> str:
        return self._render_in("whole", conversation, page=page, item=item, source=visible_json(item.raw))

    def days(self, conversation: ConversationEntry, pages: int) -> str:
        days = [_Day(day_text(day), *others) for day, *others in self.index.days(conversation.number)]
        years = [(year, list(each)) for year, each in groupby(days, key=lambda day: day.year)]
        return self._render_in("days", conversation, pages=pages, years=years,
                        people=self.index.people.people_of(conversation.number),
                        silent=self.index.silent_members(conversation))  # fmt: skip

    def days_script(self, conversation: ConversationEntry, pages: int) -> bytes:
        """Return the script that hands over where a conversation ends, and the page of each day."""
        days = [(day_text(day), page) for day, page, _ in self.index.days(conversation.number) if day >= 0]
        return script({"until": self.headings.end_words(conversation), "pages": pages, "days": days})

    def threads(self, conversation: ConversationEntry) -> Iterator[tuple[int, str]]:
        """Yield the pages of a conversation's threads with their numbers."""
        rows = self.index.threads(conversation.number)
        cuts = self.index.pages(conversation.number)
        for page, group in groupby(rows, key=itemgetter(0)):
            threads = list(self._threads(conversation, cuts, [row[1:] for row in group]))
            is_last = page == rows[-1][0]
            yield page, self._render_in("threads", conversation, page=page, threads=threads, is_last=is_last)

    def _threads(
        self, conversation: ConversationEntry, cuts: list[PageCut], rows: list[tuple[int, int, int]]
    ) -> Iterator[dict[str, Any]]:
        """Yield threads of (rank of the first message, replies to skip, replies to show)."""
        index, number = self.index, conversation.number
        parents = index.messages.by_rank(number, [rank for rank, _, _ in rows])
        replies = [index.messages.replies(number, *row) for row in rows]
        messages = [*parents.values(), *chain.from_iterable(replies)]
        items = iter(self.maker.items_of(messages, number))
        parent_items = {rank: next(items) for rank in parents}
        starts = [cut[1:3] for cut in cuts]
        for (rank, skipped, _), thread in zip(rows, replies, strict=True):
            first = [parent_items[rank]] if rank in parent_items else []
            reply_items = list(islice(items, len(thread)))
            for item in (*first, *reply_items):
                page = bisect_right(starts, (item.time, item.rank))
                item.href = f"{page}.html#{item.anchor}"
                item.source_href = (
                    f"{item.anchor}.html" if item.is_long else f"{page}-source.html#{item.anchor}"
                )
            yield {
                "rank": rank,
                "has_parent": bool(first),
                "parent": self._articles.html_of(first, is_repeat=True),
                "replies": self._articles.html_of(reply_items, is_repeat=True),
                "skipped": skipped,
            }

    # ── lists ──

    def rows(self, part: int) -> list[ConversationRow]:
        conversations = self.index.conversations(offset=(part - 1) * LIST, limit=LIST)
        return list(map(self.headings.row, conversations))

    def index_page(
        self, rows: list[ConversationRow], part: int, parts: int, facts: Iterable[tuple[str, str]] = ()
    ) -> str:
        """Return a page of the conversations; the first one states the facts of the site."""
        kinds = [(name, [row for row in rows if row.conversation.is_group == is_group])
                 for name, is_group in (("One to one", False), ("Groups", True))]  # fmt: skip
        return self._render(
            "index", "", kinds=kinds, part=part, parts=parts, facts=facts, messages=self.index.count("posts"),
            conversations=self.index.count("conversations"),
        )  # fmt: skip

    def people_page(self, part: int, parts: int) -> str:
        rows = self.index.people.writers(offset=(part - 1) * LIST, limit=LIST)
        return self._render("people", "", rows=rows, part=part, parts=parts)

    def person(self, person: PersonEntry) -> str:
        raw = self.index.people.record_of(person)
        avatar = record_of(raw).get("avatar") if raw else None
        rows = self.index.people.conversations_of(person.number, _MAX_CONVERSATIONS)
        conversations = [(self._conversation(each), *counts) for each, *counts in rows]
        return self._render(
            "person", "../", person=person, record=visible_json(raw)[:_MAX_RECORD] if raw else "",
            avatar=avatar if is_address(avatar) else "", conversations=conversations,
        )  # fmt: skip

    def unfinished(self) -> str:
        return self._render("unfinished", "")


def has_days(conversation: ConversationEntry, pages: int) -> bool:
    """Return True where a page lists days and people: of several pages, and of a group's members."""
    return pages > 1 or conversation.members > 0


def check_installed() -> None:
    """Raise `RequestInvalidError` where Jinja2 is not installed: before an export is read, not after."""
    if find_spec("jinja2") is None:
        raise RequestInvalidError(missing_extra("writing pages", "html"))


def _escape() -> Escape:
    """Return what escapes a text, without an object of MarkupSafe's class for each: a fifth of the time."""
    from markupsafe import escape

    escape_text: Escape = getattr(sys.modules[escape.__module__], "_escape_inner", escape)
    return escape_text


def _environment(values: dict[str, Any]) -> Any:
    """Return an environment that escapes every value, with these ones in each template."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.globals |= values
    return environment


@cache
def static(name: str) -> bytes:
    """Return a file that all pages share, without indents and comments: readers of a site fetch it, too."""
    lines = (line for each in STATIC[name] for line in (TEMPLATES / each).read_text("utf-8").splitlines())
    text = "\n".join([*(line for line in map(str.strip, lines) if line and not line.startswith("//")), ""])
    spaces = _SPACES if name.endswith(".css") else _BREAKS
    return spaces.sub(lambda match: match[match.lastindex] if match.lastindex else "", text).encode()


def parts_of(rows: int) -> int:
    """Return the number of pages of a list, at least one."""
    return max(1, -(-rows // LIST))
