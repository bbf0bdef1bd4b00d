"""A message as the templates show it: a record of any shape becomes an `Item`, whose texts are harmless.

| record                    | shown as                                                                   |
|---------------------------|----------------------------------------------------------------------------|
| text, media               | its text, its files, what it quotes or answers, its reactions              |
| action, call              | one line; on a page one for all messages of a call                         |
| custom, interactive       | a table of the members of its content                                      |
| anything else             | its text where it has one, and a table of its members                      |
| with `deletedAt`, or gone | that it was deleted, when and by whom; no text                             |
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import Struct

from .contents import (
    CallState,
    FileLink,
    call_of,
    duration_text,
    file_link,
    members_of,
    object_of,
    reactions_of,
    text_of,
)
from .heads import ShownRecord, milliseconds, rank_of, record_of, shown_record_of
from .index import ConversationEntry, Index
from .index_messages import MessageEntry, PageCut, PageLink, QuotedMessage
from .index_people import PersonEntry
from .text import TextPart, segments, visible, visible_json
from .zone import Zone, time_text

LONGEST_TEXT: Final = 4_000
"""Letters of a text that its page shows; all of it has its own page."""
LONGEST_SOURCE: Final = 60_000
"""Bytes of a record that is shown with those of its page."""
_EXCERPT: Final = 160
COLOURS: Final = 10
_COLOURS: Final = tuple(f"c{number}" for number in range(COLOURS))
_NAME: Final = 120
_MOST_NAMES: Final = 8
_QUOTED: Final = 1_000
"""Letters of a message of which a quote is made."""
_MOST_FILES: Final = 50
FLAGS: Final = ("edited", "deleted", "flagged", "file", "thread")
"""What a search can be narrowed to; a static site has them as bits, from 1."""
_SENTENCES: Final = {
    "joined": "{by} joined {for_}", "left": "{by} left {for_}", "added": "{by} added {on} to {for_}",
    "kicked": "{by} removed {on} from {for_}", "banned": "{by} banned {on} from {for_}",
    "unbanned": "{by} unbanned {on} in {for_}", "scopeChanged": "{by} changed the role of {on} in {for_}",
    "edited": "{by} edited a message", "deleted": "{by} deleted a message",
}  # fmt: skip


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

    def source(self) -> str:
        return visible_json(self.raw)


class ItemMaker:
    def __init__(self, index: Index) -> None:
        self._index = index
        self.zone = Zone(index.choice.timezone)
        self._iso = self.zone.iso
        self._person_of: Callable[[str, str], PersonEntry | None] = lru_cache(10_000)(index.people.person_of)
        self._quoted: Callable[[str, int], QuotedMessage | None] = lru_cache(1_000)(index.messages.quoted)
        self._thread_facts = lru_cache(1)(index.thread_facts)
        self._thread_counts = lru_cache(1)(index.thread_counts)
        self._colours_of = lru_cache(4)(index.colours)
        self._colours: dict[int, int] = {}
        self._app = ""
        self.dependencies = Dependencies()

    def items_of(self, messages: list[MessageEntry], conversation: int | None = None) -> list[Item]:
        """Return the items of messages of one app, with the numbers of their replies.

        `dependencies` is of the last ones. In a conversation no two of the first ten people have one colour.
        """
        self.dependencies = Dependencies()
        self._colours = {} if conversation is None else self._colours_of(conversation)
        items = list(map(self._item, messages))
        if conversation is not None:
            self._add_threads(items, self._thread_counts(conversation))
        if self._index.messages.has_reactors:
            self._add_reactors(items)
        return items

    def facts_behind(
        self, conversation: ConversationEntry, cut: PageCut, dependencies: Dependencies
    ) -> list[Any]:
        """Return what the index knows now of what the items of a page were made with."""
        index, app = self._index, conversation.app
        colours = self._colours_of(conversation.number)
        threads, parents = self._thread_facts(conversation.number)
        begun = parents[bisect_left(parents, (cut.time, cut.rank)) : bisect_left(parents, (cut.last + 1, 0))]
        return [
            [(colours.get(each), index.people.person(each)) for each in sorted(dependencies.senders)],
            [self._person_of(app, uid) for uid in sorted(dependencies.people)],
            [self._quoted(app, rank) for rank in sorted(dependencies.quoted)],
            [index.messages.files(app, rank) for rank in sorted(dependencies.files)],
            [index.messages.newest_version(app, rank) for rank in sorted(dependencies.edited)],
            (
                index.messages.reactors_of_page(app, conversation.number, cut)
                if index.messages.has_reactors
                else []
            ),
            threads if dependencies.has_threads else begun,
        ]  # fmt: skip

    def _add_reactors(self, items: list[Item]) -> None:
        """Say who has reacted: the table may know more of them than the record counts."""
        by_rank: dict[int, dict[str, list[str]]] = {}
        for rank, reaction, uid in self._index.messages.reactors(self._app, (item.rank for item in items)):
            by_rank.setdefault(rank, {}).setdefault(visible(reaction)[:30], []).append(uid)
        for item in items if by_rank else ():
            if item.deleted is None and (known := by_rank.get(item.rank)):
                counts = {reaction: number for reaction, number, _ in item.reactions}
                item.is_plain = False
                item.reactions = tuple(
                    (each, counts.get(each) or str(len(known[each])), self._names(known.get(each, [])))
                    for each in counts | known
                )

    def _names(self, uids: list[str]) -> str:
        names = ", ".join(self._name(uid) for uid in uids[:_MOST_NAMES])
        return f"{names} and {len(uids) - _MOST_NAMES:,} more" if len(uids) > _MOST_NAMES else names

    def _add_threads(self, items: list[Item], threads: dict[int, tuple[int, int]]) -> None:
        for item in items if threads else ():
            if (own := threads.get(item.rank)) is not None:
                item.replies, item.thread = own[0], f"threads-{own[1]}.html#t{item.rank}"
            elif item.parent is not None:
                item.thread = f"threads-{threads[item.parent][1]}.html#t{item.parent}"
                item.parent_quote = self._quote(item.parent)
            if item.thread:
                item.is_plain, self.dependencies.has_threads = False, True

    def _item(self, stored: MessageEntry) -> Item:
        sender, rank, raw = self._index.people.person(stored.sender), stored.rank, stored.raw
        self._app = sender.app
        self.dependencies.senders.add(stored.sender)
        colour = _COLOURS[self._colours.get(stored.sender, stored.sender) % COLOURS]
        record = shown_record_of(raw)
        item = Item(
            _id(record.id), rank, f"m{rank}", sender, colour, stored.time, self._iso(stored.time), raw,
            len(raw) > LONGEST_SOURCE, stored.parent,
        )  # fmt: skip
        data, category = record.data, record.category
        if data.moderation is not None or record.flagged_by or record.flagged_count:
            item.is_flagged = _is_flagged(record)
        if stored.flags:
            item.deleted = self._note(record.deleted_by, record.deleted_at)
            return item
        text = text_of(data.text) or text_of(data.caption)
        if category == "message":
            if data.url is not None or data.attachments is not None:
                item.files = self._files(item, record)
        elif category in ("action", "call"):
            item.kind, text = "line", self._sentence(item, record, record_of(raw))
        else:
            self._add_content(item, record, record_of(raw))
        self._add_text(item, text)
        if record.edited_at:
            self._add_versions(item, record)
        if quoted := object_of(record.quoted_message):
            item.quote = self._quote(rank_of(_id(quoted.get("id"))), quoted)
        if data.reactions is not None:
            item.reactions = tuple((*each, "") for each in reactions_of(data.reactions))
        item.is_plain = bool(item.text) and not (
            item.is_long or item.files or item.reactions or item.quote or item.edited or item.target
            or item.members
        )  # fmt: skip
        return item

    def _add_versions(self, item: Item, record: ShownRecord) -> None:
        item.edited = self._note(record.edited_by, record.edited_at)
        if self._index.messages.has_versions:
            self.dependencies.edited.add(item.rank)
            versions = self._index.messages.versions(item.sender.app, item.rank)
            item.versions = tuple((text, self.zone.time_text(at)) for text, at in versions)

    def _add_text(self, item: Item, text: str) -> None:
        if not text:
            return
        item.text, item.letters = visible(text), len(text)
        if len(text) > LONGEST_TEXT:
            item.is_long = True
            item.segments = segments(item.text[:LONGEST_TEXT] + "…", self._mention)
        elif "://" in text or "<@" in text:
            item.segments = segments(item.text, self._mention)
            item.text = "".join(segment.text for segment in item.segments)

    def _mention(self, uid: str) -> TextPart:
        person = self._person(uid)
        return TextPart(f"@{person.name}", person.file, is_mention=True) if person else TextPart(f"@{uid}")

    def _name(self, uid: object) -> str:
        if not isinstance(uid, str) or not uid:
            return ""
        person = self._person(uid)
        return person.name if person else visible(uid)

    def _person(self, uid: str) -> PersonEntry | None:
        uid = visible(uid)  # as the index has it, without half a character
        self.dependencies.people.add(uid)
        return self._person_of(self._app, uid)

    def _note(self, by: object, at: object) -> Note:
        return Note(self._name(by), self._iso(milliseconds(at)) if type(at) is int else "")

    def _quote(self, rank: int, record: dict[str, Any] | None = None) -> Quote | None:
        """Return a message as another one quotes it: as the `record` has it, else as the index has it."""
        self.dependencies.quoted.add(rank)
        known = self._quoted(self._app, rank)
        if record is None:
            if known is None:
                return None
            name, text = self._index.people.person(known.sender).name, known.text
            self.dependencies.senders.add(known.sender)
        else:
            data, name = object_of(record.get("data")), self._name(record.get("sender"))
            text = text_of(data.get("text")) or text_of(data.get("caption")) or text_of(record.get("type"))
        is_deleted = bool((record or {}).get("deletedAt")) or (known is not None and known.link.flags > 0)
        words = "".join(part.text for part in segments(visible(text[:_QUOTED]), self._mention))
        return Quote(name, excerpt(words), is_deleted, known.link if known else None)

    def _sentence(self, item: Item, record: ShownRecord, members: dict[str, Any]) -> str:
        data = object_of(members.get("data"))
        entities = object_of(data.get("entities"))
        by = self._entity_name(object_of(entities.get("by"))) or item.sender.name
        if record.category == "call":
            item.call, item.label = call_of(data), f"{by}: {text_of(record.type)} call"
            return call_text(item.label, item.call)
        names = {key: self._entity_name(object_of(entities.get(key))) for key in ("on", "for")}
        on, action = object_of(entities.get("on")), text_of(data.get("action"))
        if on.get("entityType") == "message":
            rank = rank_of(_id(object_of(on.get("entity")).get("id")))
            self.dependencies.quoted.add(rank)
            known = self._quoted(self._app, rank)
            item.target = known.link if known else None
        if (sentence := _SENTENCES.get(action)) is not None:
            group = names["for"] or "the group"
            return sentence.format(by=by, on=names["on"] or "somebody", for_=group)
        about = " ".join(filter(None, (names["on"], names["for"] and f"({names['for']})")))
        return f"{by}: {action or 'action'} {about}".rstrip()

    def _entity_name(self, wrapper: dict[str, Any]) -> str:
        entity = object_of(wrapper.get("entity"))
        return self._name(entity.get("uid")) or text_of(entity.get("name")) or text_of(entity.get("guid"))

    def _add_content(self, item: Item, record: ShownRecord, members: dict[str, Any]) -> None:
        data = object_of(members.get("data"))
        item.label = visible(text_of(record.type) or text_of(record.category) or "unknown")[:_NAME]
        contents = list(_strings([record.data.custom_data, data.get("interactiveData")]))
        if record.category not in ("custom", "interactive"):
            item.kind = "unknown"
        item.members = tuple(members_of(data, members, LONGEST_TEXT))
        if item.kind == "unknown":
            contents += (text for _, text in item.members)
        item.content_text = visible("\n".join(dict.fromkeys(filter(None, contents))))

    def _files(self, item: Item, record: ShownRecord) -> tuple[FileLink, ...]:
        data = record.data
        files = data.attachments
        if not files and isinstance(data.url, str):
            files = [{"url": data.url, "name": data.name, "size": data.size}]
        if not isinstance(files, list):
            return ()
        self.dependencies.files.add(item.rank)
        stored = self._index.messages.files(self._app, item.rank) if self._index.messages.has_files else {}
        return tuple(
            file_link(each, stored.get(position, ""), text_of(record.type))
            for position, each in enumerate(files[:_MOST_FILES])
            if isinstance(each, dict)
        )


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


def _is_flagged(record: ShownRecord) -> bool:
    status = object_of(record.data.moderation).get("status")
    return bool(record.flagged_by or record.flagged_count or status not in (None, "", "approved"))


def _strings(value: Any) -> Iterator[str]:
    pending = deque([value])
    while pending:
        match pending.popleft():
            case str() as text:
                yield text
            case list() as values:
                pending.extend(values)
            case dict() as members:
                pending.extend(members.values())


def _id(value: Any) -> str:
    return visible(str(value)) if isinstance(value, str | int) else ""


def excerpt(text: str) -> str:
    line = " ".join(text[: 2 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
