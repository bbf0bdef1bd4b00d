"""A message as the templates show it: a record of any shape becomes an `Item`, whose texts are harmless.

| record                    | shown as                                                                   |
|---------------------------|----------------------------------------------------------------------------|
| text, media               | its text, its files, what it quotes, its reactions                         |
| action, call              | one line                                                                   |
| custom, interactive       | its text, and its content as JSON, folded                                  |
| anything else             | its text where it has one, and the record as JSON, folded                  |
| with `deletedAt`, or gone | that it was deleted, when and by whom; its text is in its source alone     |
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from .heads import ShownRecord, milliseconds, rank_of, record_of, shown_record_of
from .index import ConversationEntry, Index, MessageEntry, MessagePlace, PageCut, PersonEntry
from .text import TextPart, is_address, segments, shown, shown_json
from .zone import Zone, words_of

LONGEST_TEXT: Final = 4_000
"""Letters of a text that its page shows; all of it has its own page."""
LONGEST_SOURCE: Final = 60_000
"""Bytes of a record that is shown with those of its page."""
_EXCERPT: Final = 160
_COLOURS: Final = tuple(f"c{number}" for number in range(8))
_NAME: Final = 120
_TOGETHER: Final = 600_000
"""Milliseconds in which messages of one sender are shown together."""
_MOST_FILES: Final = 50
_MOST_REACTIONS: Final = 100
_RICH: Final = tuple(
    f'"{name}"'.encode() for name in ("attachments", "reactions", "quotedMessage", "editedAt", "url")
)
"""Members that are shown beside a text. A record without them is not decoded: that takes half of the time."""
_STORED: Final = re.compile(r"files/([0-9a-f]{2})/([0-9a-f]{64})(?:\.([a-z0-9]{1,10}))?", re.ASCII)
_SIZE: Final = re.compile("[0-9]{1,18}")
_KINDS: Final = {
    "image": "png jpg jpeg gif webp avif bmp",
    "video": "mp4 webm m4v mov ogv",
    "audio": "mp3 ogg oga m4a wav flac aac opus",
    "file": "pdf txt csv zip gz 7z rar doc docx xls xlsx ppt pptx odt ods odp rtf md log epub",
}
KIND_OF: Final = {extension: kind for kind, names in _KINDS.items() for extension in names.split()}
"""By a file's extension. A file of any other one could act when it is opened: it is named `.bin`."""
_SENTENCES: Final = {
    "joined": "{by} joined {for_}", "left": "{by} left {for_}", "added": "{by} added {on} to {for_}",
    "kicked": "{by} removed {on} from {for_}", "banned": "{by} banned {on} from {for_}",
    "unbanned": "{by} unbanned {on} in {for_}", "scopeChanged": "{by} changed the role of {on} in {for_}",
    "edited": "{by} edited a message", "deleted": "{by} deleted a message",
}  # fmt: skip


class FileLink(NamedTuple):
    """A file of a message."""

    kind: str
    """image, video, audio or file."""
    name: str
    href: str
    """Below the site's folder where it has it, else its address; empty if that is no link."""
    stored: str
    """Its name in the export; empty if the site does not have it."""
    size: str


class Note(NamedTuple):
    """An edit or deletion of a message: by whom, and when."""

    by: str
    iso: str

    @property
    def at(self) -> str:
        return words_of(self.iso)


class Quote(NamedTuple):
    """The message that another one replies to."""

    name: str
    text: str
    is_deleted: bool
    place: MessagePlace | None


class Uses(Struct):
    """The facts beside their records that items were made with: pages of other facts are made again.

    People are uids, quoted messages and those with files ranks.
    """

    senders: set[int] = set()
    people: set[str] = set()
    quoted: set[int] = set()
    files: set[int] = set()
    has_threads: bool = False


class Item(Struct, gc=False):
    """A message for the templates."""

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
    kind: str = "said"
    """said, line or unknown."""
    text: str = ""
    """All that is shown as its text, and searched."""
    segments: tuple[TextPart, ...] = ()
    letters: int = 0
    files: tuple[FileLink, ...] = ()
    reactions: tuple[tuple[str, str], ...] = ()
    json: str = ""
    """Content that has no other form; `label` is its type."""
    label: str = ""
    quote: Quote | None = None
    edited: Note | None = None
    deleted: Note | None = None
    replies: int = 0
    thread: str = ""
    """The address of its thread, or of the one that it is in; empty for none."""
    is_plain: bool = False
    """True for a text and nothing else."""
    href: str = ""
    """The place where it is shown, as the page that shows it says."""
    source_href: str = ""

    @property
    def at(self) -> str:
        return words_of(self.iso)

    @property
    def day(self) -> str:
        return self.iso[:10] or "undated"

    @property
    def excerpt(self) -> str:
        if self.deleted is not None:
            return "(deleted)"
        names = ", ".join(file.name for file in self.files)
        return excerpt(self.text or names or self.label)

    @property
    def searched(self) -> str:
        """The text that a search looks through."""
        if self.deleted is not None or self.kind == "line":
            return ""
        return "\n".join([self.text, *(file.name for file in self.files)] if self.files else [self.text])

    def source(self) -> str:
        return shown_json(self.raw)


class Items:
    def __init__(self, index: Index) -> None:
        self._index = index
        self.zone = Zone(index.choice.timezone)
        self._iso = self.zone.iso
        self._person_of: Callable[[str, str], PersonEntry | None] = lru_cache(10_000)(index.person_of)
        self._thread_facts = lru_cache(1)(index.thread_facts)
        self._colours_of = lru_cache(4)(index.colours)
        self._colours: dict[int, int] = {}
        self._app = ""
        self.uses = Uses()

    def of(self, messages: list[MessageEntry], conversation: int | None = None) -> list[Item]:
        """Return the items of messages of one app, with the numbers of their replies.

        `uses` is of the last ones. In a conversation no two of the first eight people have one colour.
        """
        self.uses = Uses()
        self._colours = {} if conversation is None else self._colours_of(conversation)
        items = list(map(self._item, messages))
        if self._index.has_threads:
            self._add_threads(items)
        return items

    def facts(self, conversation: ConversationEntry, cut: PageCut, uses: Uses) -> list[Any]:
        """Return what the index knows now of what the items of a page were made with."""
        index, app = self._index, conversation.app
        colours = self._colours_of(conversation.number)
        threads, parents = self._thread_facts(conversation.number)
        begun = parents[bisect_left(parents, (cut.time, cut.rank)) : bisect_left(parents, (cut.last + 1, 0))]
        return [
            [(colours.get(each), index.person(each)) for each in sorted(uses.senders)],
            [self._person_of(app, uid) for uid in sorted(uses.people)],
            [index.place(app, rank) for rank in sorted(uses.quoted)],
            [index.files(app, rank) for rank in sorted(uses.files)],
            threads if uses.has_threads else begun,
        ]  # fmt: skip

    def _add_threads(self, items: list[Item]) -> None:
        parents = {item.parent for item in items if item.parent is not None}
        threads = self._index.threads_of(self._app, {item.rank for item in items} | parents)
        for item in items if threads else ():
            if (own := threads.get(item.rank)) is not None:
                item.replies, item.thread = own[0], f"threads-{own[1]}.html#t{item.rank}"
            elif item.parent is not None:
                item.thread = f"threads-{threads[item.parent][1]}.html#t{item.parent}"
            if item.thread:
                item.is_plain, self.uses.has_threads = False, True

    def _item(self, stored: MessageEntry) -> Item:
        _, time, rank, sender_number, parent, flags, key, category, text, raw = stored
        sender = self._index.person(sender_number)
        self._app = sender.app
        self.uses.senders.add(sender_number)
        colour = _COLOURS[self._colours.get(sender_number, sender_number) & 7]
        item = Item(
            shown(key), rank, f"m{rank}", sender, colour, time, self._iso(time), raw,
            len(raw) > LONGEST_SOURCE, parent,
        )  # fmt: skip
        if (
            text
            and category == "message"
            and not (flags or item.is_long or any(map(raw.__contains__, _RICH)))
        ):
            self._add_text(item, text)
            item.is_plain = len(item.segments) == 1 and not item.is_long
            return item
        record = shown_record_of(raw)
        item.id = _id(record.id)
        if flags:
            item.deleted = self._note(record.deleted_by, record.deleted_at)
            return item
        data, category = record.data, record.category
        text = _text(data.text) or _text(data.caption)
        if category == "message":
            item.is_plain = not item.is_long
            if data.url is not None or data.attachments is not None:
                item.files = self._files(item, record)
        elif category in ("action", "call"):
            item.kind, text = "line", self._sentence(record, record_of(raw), sender.name)
        else:
            self._add_json(item, record, record_of(raw))
            text = "\n".join(dict.fromkeys(filter(None, [text, *_strings(data.custom_data)])))
        self._add_text(item, text)
        if record.edited_at:
            item.edited = self._note(record.edited_by, record.edited_at)
        if record.quoted_message is not None:
            item.quote = self._quote(_object(record.quoted_message))
        if data.reactions is not None:
            item.reactions = _reactions(data.reactions)
        if item.files or item.reactions or item.quote or item.edited or len(item.segments) != 1:
            item.is_plain = False
        return item

    def _add_text(self, item: Item, text: str) -> None:
        if not text:
            return
        item.text, item.letters = shown(text), len(text)
        if len(text) > LONGEST_TEXT:
            item.is_long, item.is_plain = True, False
            item.segments = segments(item.text[:LONGEST_TEXT] + "…", self._mention)
            return
        item.segments = segments(item.text, self._mention)
        if len(item.segments) > 1:
            item.text = "".join(segment.text for segment in item.segments)

    def _mention(self, uid: str) -> TextPart:
        person = self._person(uid)
        return TextPart(f"@{person.name}", person.file, is_mention=True) if person else TextPart(f"@{uid}")

    def _name(self, uid: object) -> str:
        if not isinstance(uid, str) or not uid:
            return ""
        person = self._person(uid)
        return person.name if person else shown(uid)

    def _person(self, uid: str) -> PersonEntry | None:
        uid = shown(uid)  # as the index has it, without half a character
        self.uses.people.add(uid)
        return self._person_of(self._app, uid)

    def _note(self, by: object, at: object) -> Note:
        return Note(self._name(by), self._iso(milliseconds(at)) if type(at) is int else "")

    def _quote(self, quoted: dict[str, Any]) -> Quote | None:
        if not quoted:
            return None
        rank = rank_of(_id(quoted.get("id")))
        self.uses.quoted.add(rank)
        place = self._index.place(self._app, rank)
        data = _object(quoted.get("data"))
        is_deleted = bool(quoted.get("deletedAt")) or (place is not None and place.flags > 0)
        text = _text(data.get("text")) or _text(data.get("caption")) or _text(quoted.get("type"))
        return Quote(self._name(quoted.get("sender")), excerpt(shown(text)), is_deleted, place)

    def _sentence(self, record: ShownRecord, members: dict[str, Any], sender: str) -> str:
        data = _object(members.get("data"))
        entities = _object(data.get("entities"))
        names = {key: self._entity_name(_object(entities.get(key))) for key in ("by", "on", "for")}
        by, action = names["by"] or sender, _text(data.get("action"))
        if record.category == "call":
            call = _object(_object(entities.get("on")).get("entity"))
            state = action or _text(call.get("status"))
            return f"{by}: {_text(record.type)} call, {state}".removesuffix(", ")
        if (sentence := _SENTENCES.get(action)) is not None:
            group = names["for"] or "the group"
            return sentence.format(by=by, on=names["on"] or "somebody", for_=group)
        about = " ".join(filter(None, (names["on"], names["for"] and f"({names['for']})")))
        return f"{by}: {action or 'action'} {about}".rstrip()

    def _entity_name(self, wrapper: dict[str, Any]) -> str:
        entity = _object(wrapper.get("entity"))
        return self._name(entity.get("uid")) or _text(entity.get("name")) or _text(entity.get("guid"))

    def _add_json(self, item: Item, record: ShownRecord, members: dict[str, Any]) -> None:
        known = {"custom": "customData", "interactive": "interactiveData"}.get(str(record.category))
        data = _object(members.get("data"))
        item.label = shown(_text(record.type) or _text(record.category) or "unknown")[:_NAME]
        item.json = item.source()[:LONGEST_TEXT]
        if known is None or known not in data:
            item.kind = "unknown"
            return
        with suppress(UnicodeEncodeError, RecursionError):
            raw = msgspec.json.encode(data[known])
            item.json = shown_json(msgspec.json.format(raw, indent=1))[:LONGEST_TEXT]

    def _files(self, item: Item, record: ShownRecord) -> tuple[FileLink, ...]:
        data = record.data
        files = data.attachments
        if not files and isinstance(data.url, str):
            files = [{"url": data.url, "name": data.name, "size": data.size}]
        if not isinstance(files, list):
            return ()
        self.uses.files.add(item.rank)
        stored = self._index.files(self._app, item.rank) if self._index.has_files else {}
        return tuple(
            _file(each, stored.get(position, ""), _text(record.type))
            for position, each in enumerate(files[:_MOST_FILES])
            if isinstance(each, dict)
        )


def _file(file: dict[str, Any], stored: str, type: str) -> FileLink:
    url = file.get("url")
    name = shown(_text(file.get("name"))) or shown(str(url)).rpartition("/")[2] or "file"
    size = str(file.get("size"))
    text = size_text(int(size)) if _SIZE.fullmatch(size) else ""
    if match := _STORED.fullmatch(stored):
        extension = match[3] if match[3] in KIND_OF else "bin"
        href = f"files/{match[1]}/{match[2]}.{extension}"
        return FileLink(KIND_OF.get(extension, "file"), name[:_NAME], href, stored, text)
    kind = type if type in _KINDS else "file"
    return FileLink(kind, name[:_NAME], shown(str(url)) if is_address(url) else "", "", text)


def size_text(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def _reactions(counts: Any) -> tuple[tuple[str, str], ...]:
    return tuple(
        (shown(each["reaction"])[:30], f"{each['count']}"[:12])
        for each in (counts if isinstance(counts, list) else [])[:_MOST_REACTIONS]
        if isinstance(each, dict) and isinstance(each.get("reaction"), str) and "count" in each
    )


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


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _id(value: Any) -> str:
    return shown(str(value)) if isinstance(value, str | int) else ""


def rows_of(
    items: Iterable[Item], sender_of: Callable[[PersonEntry, str, bool], str]
) -> list[tuple[Any, ...]]:
    """Return what a template needs of most items: variables of its loop cost less than attributes.

    A message that follows one of the same sender is shown without the name.
    """
    rows, last, until = list[tuple[Any, ...]](), 0, 0
    for item in items:
        sender, iso = item.sender, item.iso
        style = "message" if item.kind == "said" else f"message {item.kind}"
        if is_more := sender.number == last and item.time < until:
            style += " more"
        last, until = sender.number, item.time + _TOGETHER
        rows.append((
            item, style, item.is_plain, item.anchor, item.id, sender_of(sender, item.colour, not is_more),
            item.href, iso, words_of(iso), iso[11:16], item.source_href, item.text,
        ))  # fmt: skip
    return rows


def excerpt(text: str) -> str:
    line = " ".join(text[: 2 * _EXCERPT].split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"
