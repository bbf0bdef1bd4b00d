"""The query parameters of the message lists, read and checked: which messages, and which part of the list.

The 27 parameters of GET /users/{uid}/messages, and for every list alike the
few more that the others have: senders, receiverType, conversationId, hideDeleted,
onlyDeleted, hideQuotedMessages, hideMessagesFromBlockedUsers, saved, pinned, sentAt, and the windows
`sentAt[from]` to `editedAt[to]`. Where the documents are silent, the emulator has chosen:

- A boolean that is false filters nothing, as if it were absent.
- Several filters must all match; within a list (types, tags, mentionedUids …) one of its values must.
- `searchKey` matches anywhere in `data.text`, without regard to case.
- `unread` and `undelivered`: messages of others without `readAt` or `deliveredAt`. "The user" is the
  one in `onBehalfOf`, without it the one in the path.
- Messages up to the last one that the acting user has marked as read (or delivered) are read by that user.
- `saved` without `onBehalfOf` matches nothing; nor is anybody blocked then.
- The windows of `updatedAt` and `editedAt` skip messages that were never changed; both ends are included.
- `myMentionsOnly` without `onBehalfOf` matches nothing.
- `fromTimestamp` and `toTimestamp` are about `sentAt`, both ends included.
- `sentAt` is a position where there is no `id`; beside one it counts only where the list is ordered by time.
"""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..store.message_lists import Condition
from .arguments import Arguments

Affix: TypeAlias = Literal["append", "prepend"]
KINDS: Final = ("image", "video", "audio", "file")

_FLAGS: Final = {
    "hasAttachments": "m.attachments NOT NULL",
    "hasMentions": "m.mentions NOT NULL",
    "hasLinks": "m.links",
    "hasReactions": "m.reactions",
    "hideReplies": "m.parent IS NULL",
    "hideDeleted": "NOT m.deleted",
    "onlyDeleted": "m.deleted",
    "hideQuotedMessages": "m.id NOT IN (SELECT id FROM quotes)",
    "pinned": "m.id IN (SELECT id FROM pins)",
}
_EQUALS: Final = {
    "category": "m.category = ?",
    "type": "m.type = ?",
    "sender": "m.sender = ?",
    "receiverType": "m.receiver_type = ?",
    "conversationId": "m.conversation = ?",
}
_IN: Final = {"categories": "m.category", "types": "m.type", "senders": "m.sender"}
_CONTAINS: Final = {"attachmentTypes": "m.attachments", "mentionedUids": "m.mentions", "tags": "m.tags"}

_SEEN: Final = """NOT m.COLUMN AND m.sender != ? AND m.id > coalesce(
    (SELECT COLUMN_id FROM views v WHERE v.uid = ? AND v.conversation = m.conversation), 0)"""
_WINDOWS: Final = {
    "fromTimestamp": "m.sent_at >= ?",
    "toTimestamp": "m.sent_at <= ?",
    "sentAt[from]": "m.sent_at >= ?",
    "sentAt[to]": "m.sent_at <= ?",
    "updatedAt[from]": "m.id IN (SELECT id FROM changes WHERE updated_at >= ?)",
    "updatedAt[to]": "m.id IN (SELECT id FROM changes WHERE updated_at <= ?)",
    "editedAt[from]": "m.id IN (SELECT id FROM changes WHERE edited_at >= ?)",
    "editedAt[to]": "m.id IN (SELECT id FROM changes WHERE edited_at <= ?)",
}
_ANY: Final = "EXISTS (SELECT 1 FROM json_each(COLUMN) WHERE value IN"


class ListRequest(Struct, frozen=True):
    """A request for part of a list of messages."""

    condition: Condition
    id: int | None
    """The message after or before which the page begins; None for the list's beginning or end."""
    sent_at: int | None
    affix: Affix | None
    size: int
    """Records of a page."""
    count: bool
    """Numbers of messages in the place of messages."""
    with_tags: bool
    blocked_info: bool
    tag_info: bool


def list_request(
    query: Arguments, acting_user: str | None, uid: str | None, sizes: tuple[str, ...], default_size: int
) -> ListRequest:
    """Read and check a query; `sizes` names the parameters that give the page size, the first counts.

    `acting_user` is the user in `onBehalfOf`, `uid` the one in the path. Refuses with 400 what is wrong.
    """
    bounds = {name: query.number(name, 1, 1000) for name in ("limit", "perPage")}
    message_id, sent_at = query.number("id"), query.number("sentAt")
    affix = query.choice("affix", ("append", "prepend"))
    terms = [
        *_plain(query),
        *_personal(query, acting_user, uid),
        *_times(query, sent_at if message_id is None else None, affix),
    ]
    request = ListRequest(
        condition=Condition(
            " AND ".join(sql for sql, _ in terms), tuple(value for _, values in terms for value in values)
        ),
        id=message_id,
        sent_at=sent_at,
        affix="append" if affix == "append" else "prepend" if affix == "prepend" else None,
        size=next((size for name in sizes if (size := bounds[name])), default_size),
        count=query.flag("count"),
        with_tags=query.flag("withTags"),
        blocked_info=query.flag("mentionsWithBlockedInfo"),
        tag_info=query.flag("mentionsWithTagInfo"),
    )
    query.check()
    return request


_Terms: TypeAlias = list[tuple[str, tuple[str | int, ...]]]


def _plain(query: Arguments) -> _Terms:
    terms: _Terms = [(sql, ()) for name, sql in query.named(_FLAGS) if query.flag(name)]
    terms += [(sql, (value,)) for name, sql in query.named(_EQUALS) if (value := query.text(name))]
    if text := query.text("searchKey"):
        terms.append(("instr(m.text, ?)", (text.casefold(),)))
    for name, column in query.named(_IN):
        if values := query.texts(name):
            terms.append((f"{column} IN ({_marks(values)})", values))
    for name, column in query.named(_CONTAINS):
        if values := query.texts(name, KINDS if name == "attachmentTypes" else ()):
            terms.append(_contains(column, values))
    return terms


def _personal(query: Arguments, acting_user: str | None, uid: str | None) -> _Terms:
    terms: _Terms = []
    reader = acting_user or uid or ""
    for name, column in (("unread", "read"), ("undelivered", "delivered")):
        if query.flag(name):
            terms.append((_SEEN.replace("COLUMN", column), (reader, reader)))
    if query.flag("saved"):
        terms.append(("m.id IN (SELECT id FROM saves WHERE uid = ?)", (acting_user or "",)))
    if query.flag("myMentionsOnly"):
        terms.append(_contains("m.mentions", (acting_user,)) if acting_user else ("0", ()))
    return terms


def _times(query: Arguments, position: int | None, affix: str | None) -> _Terms:
    terms: _Terms = []
    for name, sql in query.named(_WINDOWS):
        if (at := query.number(name)) is not None:
            terms.append((sql, (at,)))
    if position is not None:
        terms.append(("m.sent_at < ?" if affix == "prepend" else "m.sent_at > ?", (position,)))
    return terms


def _contains(column: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return f"{_ANY.replace('COLUMN', column)} ({_marks(values)}))", values


def _marks(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))
