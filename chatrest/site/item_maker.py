"""Make the items of messages: a record of any shape becomes an `Item`, whose texts are harmless.

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
from typing import Any, Final

from .contents import (
    FileLink,
    ShownRecord,
    TextPart,
    call_of,
    file_link,
    members_of,
    milliseconds,
    object_of,
    rank_of,
    reactions_of,
    record_of,
    segments,
    shown_record_of,
    text_of,
    visible,
)  # fmt: skip
from .index import ConversationEntry, Index, PersonEntry
from .index_messages import MessageEntry, PageCut, QuotedMessage
from .items import COLOURS, MAX_SOURCE, MAX_TEXT, Dependencies, Item, Note, Quote, call_text, excerpt
from .zone import Zone

_COLOURS: Final = tuple(f"c{number}" for number in range(COLOURS))
_ISOLATES: Final = "\u2068\u2069"
_MAX_LABEL: Final = 120
_MAX_NAMES: Final = 8
_QUOTED: Final = 1_000
"""Letters of a message of which a quote is made."""
_MAX_FILES: Final = 50
_SENTENCES: Final = {
    "joined": "{by} joined {for_}", "left": "{by} left {for_}", "added": "{by} added {on} to {for_}",
    "kicked": "{by} removed {on} from {for_}", "banned": "{by} banned {on} from {for_}",
    "unbanned": "{by} unbanned {on} in {for_}", "scopeChanged": "{by} changed the role of {on} in {for_}",
    "edited": "{by} edited a message", "deleted": "{by} deleted a message",
}  # fmt: skip


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
        names = ", ".join(self._name(uid) for uid in uids[:_MAX_NAMES])
        return f"{names} and {len(uids) - _MAX_NAMES:,} more" if len(uids) > _MAX_NAMES else names

    def _add_threads(self, items: list[Item], threads: dict[int, tuple[int, int]]) -> None:
        for item in items if threads else ():
            if (own := threads.get(item.rank)) is not None:
                item.replies, item.thread = own[0], f"threads-{own[1]}.html#t{item.rank}"
            elif item.parent is not None:
                item.thread = f"threads-{threads[item.parent][1]}.html#t{item.parent}"
                item.parent_quote = self._quote(item.parent)
            if item.thread:
                item.is_plain, self.dependencies.has_threads = False, True

    def _item(self, message: MessageEntry) -> Item:
        rank, raw, record = message.rank, message.raw, shown_record_of(message.raw)
        self._app = message.app
        self.dependencies.senders.add(message.sender)
        colour = _COLOURS[self._colours.get(message.sender, message.sender) % COLOURS]
        item = Item(
            _id(record.id), rank, f"m{rank}", self._index.people.person(message.sender), colour,
            message.time, self._iso(message.time), raw, len(raw) > MAX_SOURCE, message.parent,
        )  # fmt: skip
        item.is_flagged = _is_flagged(record)
        if message.flags:
            item.deleted = self._note(record.deleted_by, record.deleted_at)
        else:
            self._add_contents(item, record)
        return item

    def _add_contents(self, item: Item, record: ShownRecord) -> None:
        data = record.data
        text = text_of(data.text) or text_of(data.caption)
        match record.category:
            case "message":
                item.files = self._files(item, record)
            case "action":
                text = self._add_action(item, record_of(item.raw))
            case "call":
                text = self._add_call(item, record, record_of(item.raw))
            case _:
                self._add_members(item, record, record_of(item.raw))
        self._add_text(item, text)
        if record.edited_at:
            self._add_versions(item, record)
        if quoted := object_of(record.quoted_message):
            item.quote = self._quote(rank_of(_id(quoted.get("id"))), quoted)
        item.reactions = tuple((*each, "") for each in reactions_of(data.reactions))
        item.is_plain = bool(item.text) and not (
            item.is_long or item.files or item.reactions or item.quote or item.edited or item.target
            or item.members
        )  # fmt: skip

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
        if len(text) > MAX_TEXT:
            item.is_long = True
            item.segments = segments(item.text[:MAX_TEXT] + "…", self._mention)
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

    def _add_call(self, item: Item, record: ShownRecord, members: dict[str, Any]) -> str:
        """Add the state of a call, and return the line that is shown of it."""
        data = object_of(members.get("data"))
        item.kind, item.call = "line", call_of(data)
        item.label = f"{self._actor(item, data)}: {text_of(record.type)} call"
        return call_text(item.label, item.call)

    def _add_action(self, item: Item, members: dict[str, Any]) -> str:
        """Add the message that an action changed, and return the sentence that is shown of it."""
        item.kind, data = "line", object_of(members.get("data"))
        entities, action = object_of(data.get("entities")), text_of(data.get("action"))
        target = object_of(entities.get("on"))
        by, on, for_ = (
            self._actor(item, data),
            self._entity_name(target),
            self._entity_name(entities.get("for")),
        )
        if target.get("entityType") == "message":
            rank = rank_of(_id(object_of(target.get("entity")).get("id")))
            self.dependencies.quoted.add(rank)
            known = self._quoted(self._app, rank)
            item.target = known.link if known else None
        if (sentence := _SENTENCES.get(action)) is not None:
            return sentence.format(by=by, on=on or "somebody", for_=for_ or "the group")
        about = " ".join(filter(None, (on, for_ and f"({for_})")))
        return f"{by}: {action or 'action'} {about}".rstrip()

    def _actor(self, item: Item, data: dict[str, Any]) -> str:
        name = self._entity_name(object_of(data.get("entities")).get("by"))
        return name or item.sender.name.strip(_ISOLATES)

    def _entity_name(self, wrapper: Any) -> str:
        entity = object_of(object_of(wrapper).get("entity"))
        # Without isolates: the line that it is part of is made harmless as a whole, and would show them.
        return (
            self._name(entity.get("uid")).strip(_ISOLATES)
            or text_of(entity.get("name"))
            or text_of(entity.get("guid"))
        )

    def _add_members(self, item: Item, record: ShownRecord, members: dict[str, Any]) -> None:
        data = object_of(members.get("data"))
        item.label = visible(text_of(record.type) or text_of(record.category) or "unknown")[:_MAX_LABEL]
        contents = list(_strings([record.data.custom_data, data.get("interactiveData")]))
        if record.category not in ("custom", "interactive"):
            item.kind = "unknown"
        item.members = tuple(members_of(data, members, MAX_TEXT))
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
            for position, each in enumerate(files[:_MAX_FILES])
            if isinstance(each, dict)
        )


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
