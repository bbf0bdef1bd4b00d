"""The messages of a store: the bytes that are served, what filters read of them, and their lists.

- A record is stored as the bytes that are served, without `tags`: a list shows those only `withTags`. Filters
  read what is decoded from those bytes and nothing else; they do not match a member of an unexpected type.
- A list is its ids, ascending. Those that a condition lets through are cached until a message changes, and
  later only what was added since is tested. So a filtered walk reads its list once.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import UNSET, DecodeError, Struct, convert
from msgspec.json import Decoder, decode, encode

from ...errors import RequestInvalidError

ALL: Final = "*"


def conversation_list(conversation: str) -> str:
    """Name the list of one conversation: `<uid>_user_<uid>`, the two sorted, or `group_<guid>`."""
    return f"c:{conversation}"


def group_list(guid: str) -> str:
    return conversation_list(f"group_{guid}")


def participant_list(uid: str) -> str:
    """Name the list of all that a user has sent, and all that was sent to that user alone."""
    return f"u:{uid}"


def thread_list(parent: object) -> str:
    return f"t:{parent}"


def conversation_id(uid: str, party: str, kind: str = "user") -> str:
    """Return the id of a user's conversation with another one, or with a group."""
    return f"group_{party}" if kind == "group" else "_user_".join(sorted((uid, party)))


def number_of(id: Any) -> int | None:
    """Return the number that an id is; None for what is no number, or one of more than 18 digits."""
    text = str(id)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class _Data(Struct, frozen=True, gc=False):
    text: Any = None
    attachments: Any = None
    mentions: Any = None
    reactions: Any = None


class StoredMessage(Struct, gc=False, rename="camel"):
    """A message: its record, and what filters read of it, of any type that JSON has."""

    number: int = 0
    record: bytes = b""
    """The JSON that is served, without `tags`."""
    id: Any = None
    conversation_id: Any = None
    sender: Any = None
    receiver: Any = None
    receiver_type: Any = None
    category: Any = None
    type: Any = None
    sent_at: Any = None
    updated_at: Any = None
    edited_at: Any = None
    parent_id: Any = None
    quoted_message: Any = None
    read_at: Any = UNSET
    delivered_at: Any = UNSET
    deleted_at: Any = UNSET
    pinned_at: Any = None
    tags: Any = None
    data: _Data = _Data()

    @property
    def text(self) -> str:
        return self.data.text.casefold() if isinstance(self.data.text, str) else ""

    @property
    def mentions(self) -> Iterable[Any]:
        return self.data.mentions if isinstance(self.data.mentions, dict | list) else ()

    @property
    def attachment_kinds(self) -> list[str]:
        items = self.data.attachments if isinstance(self.data.attachments, list) else ()
        types = [str(item.get("mimeType")).partition("/")[0] for item in items if isinstance(item, dict)]
        return [kind if kind in ("image", "video", "audio") else "file" for kind in types]

    @property
    def changed_at(self) -> Any:
        """`updatedAt` of a message that has changed since it was sent; else None."""
        is_unchanged = self.updated_at == self.sent_at and self.edited_at is None
        return None if is_unchanged else self.updated_at

    def served(self, *, with_tags: bool) -> bytes:
        if not with_tags or self.tags is None:
            return self.record
        return b'%b,"tags":%b}' % (self.record[:-1], encode(self.tags))

    def list_names(self) -> Iterator[str]:
        sender, receiver = self.sender or "", self.receiver or ""
        yield ALL
        yield conversation_list(self.conversation_id or "")
        yield participant_list(sender)
        if self.receiver_type == "user" and receiver != sender:
            yield participant_list(receiver)
        if self.parent_id:
            yield thread_list(self.parent_id)


_DECODER: Final = Decoder(StoredMessage)


def read_message(raw: bytes) -> StoredMessage:
    try:
        message = _DECODER.decode(raw)
    except DecodeError:  # of another shape, or not UTF-8
        record = parse_record(raw)
        data = record.get("data")
        message = convert(record | {"data": data if isinstance(data, dict) else {}}, StoredMessage)
    if message.tags is not None:
        raw = encode({name: value for name, value in parse_record(raw).items() if name != "tags"})
    message.record = raw
    return message


def parse_record(raw: bytes) -> dict[str, Any]:
    """Return the record as an object; lone surrogates, which are not UTF-8, become question marks."""
    try:
        record = decode(raw)
    except DecodeError:
        record = _decode_surrogates(raw)
    return record if isinstance(record, dict) else {}


def _decode_surrogates(raw: bytes) -> Any:
    try:
        return json.loads(json.dumps(json.loads(raw), ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError as error:
        raise RequestInvalidError(f"record = {raw[:80]!r}: expected JSON in UTF-8; {error}") from None


# ── lists ──

Test: TypeAlias = Callable[[StoredMessage], Any]


class Condition(NamedTuple):
    """A condition that messages of a list are to meet; without tests all do."""

    tests: tuple[Test, ...] = ()
    key: Hashable = None
    """What two equal conditions have in common; None for one that depends on more than the message."""


class Span(NamedTuple):
    ids: Sequence[int]
    left: int
    """The number of messages from here on in the walk's direction, these included."""


NO_CONDITION: Final = Condition()
_CACHED: Final = 256


class MessageIndex:
    """The messages of one store, to be read and changed."""

    def __init__(self) -> None:
        self.messages: dict[int, StoredMessage] = {}
        self.lists: dict[str, list[int]] = {}
        self._matches: dict[tuple[str, Hashable], tuple[list[int], int]] = {}
        self.last_id: int = 0
        self.last_sent_at: int = 0

    # reading

    def span(
        self, name: str, id: int | None, size: int, condition: Condition = NO_CONDITION, *, ascending: bool
    ) -> Span:
        """Return the `size` messages of a list that are next to an id, or to an end of the list for None."""
        ids = self.matching(name, condition)
        if ascending:
            first = 0 if id is None else bisect_right(ids, id)
            return Span(ids[first : first + size], len(ids) - first)
        end = len(ids) if id is None else bisect_left(ids, id)
        return Span(ids[max(0, end - size) : end], end)

    def matching(self, name: str, condition: Condition = NO_CONDITION) -> Sequence[int]:
        """Return the ids, ascending, of all messages of a list that match; not to be changed."""
        all_ids, (tests, key) = self.lists.get(name, []), condition
        if not tests:
            return all_ids
        ids, tested = self._matches.pop((name, key), ([], 0)) if key is not None else ([], 0)
        for number in all_ids[tested:]:
            message = self.messages[number]
            if all(test(message) for test in tests):
                ids.append(number)
        if key is not None:
            self._matches[name, key] = ids, len(all_ids)
            if len(self._matches) > _CACHED:
                del self._matches[next(iter(self._matches))]
        return ids

    def records(self, ids: Iterable[int], *, with_tags: bool = False) -> list[bytes]:
        return [
            self.messages[number].served(with_tags=with_tags) for number in ids if number in self.messages
        ]

    def message(self, id: int) -> bytes | None:
        return self.messages[id].served(with_tags=True) if id in self.messages else None

    def record(self, id: int) -> dict[str, Any]:
        return parse_record(self.message(id) or b"{}")

    def ids(
        self,
        *,
        conversation: str | None = None,
        group: str | None = None,
        participant: str | None = None,
        thread: int | str | None = None,
    ) -> list[int]:
        """Return the ids, ascending, of a conversation, group, participant or thread, or of all messages."""
        choices = (
            (conversation_list, conversation), (group_list, group), (participant_list, participant),
            (thread_list, thread),
        )  # fmt: skip
        names = [list_name(str(value)) for list_name, value in choices if value is not None]
        if len(names) > 1:
            raise RequestInvalidError("ids: expected one of conversation, group, participant, thread")
        return list(self.matching(names[0] if names else ALL))

    # changes

    def add_records(self, records: Iterable[bytes]) -> None:
        """Add messages given as JSON bytes, as odd as a test wants them.

        A record's own `id` counts where it is a number, or digits, above the last; else it is stored
        under the next one, and served as it is. `RequestInvalidError` for what is not JSON, and then
        none of them is added.
        """
        messages = [read_message(record) for record in records]
        for message in messages:
            own_number = number_of(message.id) or 0
            number = message.number = own_number if own_number > self.last_id else self.last_id + 1
            self.last_id = number
            if isinstance(message.sent_at, int):
                self.last_sent_at = max(self.last_sent_at, message.sent_at)
            self.messages[number] = message
            for name in message.list_names():
                self.lists.setdefault(name, []).append(number)

    def rewrite(self, versions: Mapping[int, Mapping[str, Any]]) -> None:
        """Serve other versions of messages, by id; filters go by them, `tags` included."""
        for number, version in versions.items():
            self.messages[number] = read_message(encode(version))
            self.messages[number].number = number
        self._matches.clear()

    def remove(self, ids: Iterable[int]) -> None:
        removed_ids = set(ids)
        self.hide(removed_ids)
        for number in removed_ids & self.messages.keys():
            del self.messages[number]

    def hide(self, ids: Iterable[int], *names: str) -> None:
        """Take messages out of the lists of these names, such as `u:ann`; out of all where none is given."""
        hidden_ids = set(ids)
        for name in names or self.lists:
            self.lists[name] = [each for each in self.lists.get(name, ()) if each not in hidden_ids]
        self._matches.clear()

    def show(self, ids: Collection[int], *names: str) -> None:
        for name in names:
            self.lists[name] = sorted({*ids, *self.lists.get(name, ())})
        self._matches.clear()
