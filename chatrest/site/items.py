"""A message as pages show it, and the messages of a call in one line. All its texts are harmless."""

from typing import Final, NamedTuple

from msgspec import Struct

from .contents import CallState, FileLink, TextPart, duration_text, visible
from .index import PersonEntry
from .index_messages import PageLink
from .zone import time_text

MAX_TEXT: Final = 4_000
"""Letters of a text that its page shows; all of it has its own page."""
MAX_SOURCE: Final = 60_000
"""Bytes of a record that is shown with those of its page."""
_EXCERPT: Final = 160
COLOURS: Final = 10
FLAGS: Final = ("edited", "deleted", "flagged", "file", "thread")
"""What a search can be narrowed to; a static site has them as bits, from 1."""


class Note(NamedTuple):
    by: str
    iso: str

    @property
    def at(self) -> str:
        return time_text(self.iso)


class Quote(NamedTuple):
    """The message that another one quotes, or answers in its thread."""

    name: str
    text: str
    is_deleted: bool
    link: PageLink | None


class Dependencies(Struct):
    """The facts of others that items show: if one of them changes, their page is made again.

    People are uids. Messages are ranks: those that are quoted, and those with files or earlier versions.
    """

    senders: set[int] = set()
    people: set[str] = set()
    quoted: set[int] = set()
    files: set[int] = set()
    edited: set[int] = set()
    has_threads: bool = False


class Item(Struct, gc=False):
    id: str
    rank: int
    anchor: str
    sender: PersonEntry
    colour: str
    time: int
    iso: str
    """The time in the site's zone, with its offset; empty if there is none."""
    raw: bytes
    is_long: bool
    """True if text or record are too large for its page, and have another one."""
    parent: int | None = None
    """The rank of the message whose thread it is in."""
    kind: str = "message"
    """message, line (an action or call) or unknown."""
    text: str = ""
    """All that is shown as its text, and searched."""
    segments: tuple[TextPart, ...] = ()
    """The parts of a text with links, and of one that is shortened; empty where all of it is one text."""
    letters: int = 0
    files: tuple[FileLink, ...] = ()
    reactions: tuple[tuple[str, str, str], ...] = ()
    """Each with its count, and who reacted so, as far as that is known."""
    members: tuple[tuple[str, str], ...] = ()
    """Content that has no other form."""
    content_text: str = ""
    """The texts of its `members`, for the search."""
    label: str = ""
    """The type of a content; of a call its caller and type."""
    call: CallState | None = None
    call_updates: tuple["Item", ...] = ()
    """The later messages of the same call."""
    target: PageLink | None = None
    """The message that an action changed."""
    quote: Quote | None = None
    parent_quote: Quote | None = None
    """The first message of its thread."""
    edited: Note | None = None
    versions: tuple[tuple[str, str], ...] = ()
    """Earlier texts, each with its time."""
    deleted: Note | None = None
    replies: int = 0
    thread: str = ""
    """The address of its thread, or of the one that it is in; empty for none."""
    is_flagged: bool = False
    """True if a user has flagged it, or a rule of the app has not approved it."""
    is_plain: bool = False
    """True for a text or a line that has nothing beside it but links."""
    href: str = ""
    """Its address, seen from the page that shows it."""
    source_href: str = ""

    @property
    def at(self) -> str:
        return time_text(self.iso)

    @property
    def day(self) -> str:
        return self.iso[:10] or "undated"

    @property
    def excerpt(self) -> str:
        if self.deleted is not None:
            return "(deleted)"
        names = ", ".join(file.name for file in self.files)
        return excerpt(self.text or names or self.content_text or self.label)

    @property
    def search_text(self) -> str:
        """The texts that a search looks through, earlier ones included; of a deleted message none."""
        if self.deleted is not None:
            return ""
        if not (self.files or self.content_text or self.versions):
            return self.text
        names, earlier = (file.name for file in self.files), (text for text, _ in self.versions)
        return "\n".join(filter(None, [self.text, self.content_text, *names, *earlier]))

    @property
    def flags(self) -> tuple[str, ...]:
        """Those of `FLAGS` that the message has."""
        if self.is_plain and not self.is_flagged and self.parent is None:
            return ()
        has = (self.edited, self.deleted, self.is_flagged, self.files, self.thread or self.parent is not None)
        return tuple(name for name, value in zip(FLAGS, has, strict=True) if value)


def call_text(label: str, call: CallState) -> str:
    duration = duration_text(call.seconds)
    state = "" if duration and call.state == "ended" else call.state
    return ", ".join(filter(None, (label, state, duration)))


def one_line_a_call(items: list[Item]) -> list[Item]:
    """Return the items of a page, in which a call's first message stands for all of them."""
    calls: dict[str, list[Item]] = {}
    shown_items = list[Item]()
    for item in items:
        same = calls.setdefault(item.call.session, []) if item.call and item.call.session else []
        same.append(item)
        if len(same) == 1:
            shown_items.append(item)
    for first, *updates in calls.values():
        if not updates or (last := updates[-1].call) is None:
            continue
        begin = next(
            (each for each in (first, *updates) if each.call and each.call.state == "ongoing"), first
        )
        span = (updates[-1].time - begin.time) // 1000 if last.state == "ended" and begin.time else 0
        first.call_updates, first.is_plain = tuple(updates), False
        first.text = visible(call_text(first.label, last._replace(seconds=last.seconds or max(0, span))))
        first.segments = ()
    return shown_items


def excerpt(text: str) -> str:
    line = " ".join(text[: 2 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
