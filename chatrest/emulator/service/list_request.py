"""Which messages, and which part of the list: the query parameters of the message lists, checked.

The 27 parameters of GET /users/{uid}/messages (specification, Endpoints), and for every list alike the
few more that the operations table gives the app-wide one: senders, receiverType, conversationId,
hideDeleted, onlyDeleted, sentAt. Where the specification is silent, the emulator has chosen:

- A boolean that is false filters nothing, as if it were absent.
- Several filters must all match; within a list (types, tags, mentionedUids …) one of its values must.
- `searchKey` is found in `data.text` anywhere, without regard to case.
- `unread` and `undelivered`: messages of others without `readAt` or `deliveredAt`. "The user" is the
  one in `onBehalfOf`, without it the one in the path.
- `myMentionsOnly` without `onBehalfOf` matches nothing: nobody is meant.
- `fromTimestamp` and `toTimestamp` are about `sentAt`, both ends included.
- `sentAt` beside `id` says nothing new; without `id` it is itself the place to go on from.
"""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..store.store import Condition
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
}
_EQUALS: Final = {
    "category": "m.category = ?",
    "type": "m.type = ?",
    "sender": "m.sender = ?",
    "receiverType": "m.receiver_type = ?",
    "conversationId": "m.conversation = ?",
}
_AMONG: Final = {"categories": "m.category", "types": "m.type", "senders": "m.sender"}
_HOLDS: Final = {"attachmentTypes": "m.attachments", "mentionedUids": "m.mentions", "tags": "m.tags"}


_HELD: Final = "EXISTS (SELECT 1 FROM json_each(COLUMN) WHERE value IN"


class Asked(Struct, frozen=True):
    """What a list of messages was asked for."""

    condition: Condition
    id: int | None
    affix: Affix | None
    size: int
    count: bool
    with_tags: bool
    blocked_info: bool
    tag_info: bool


def asked(
    query: Arguments, acting_user: str | None, uid: str | None, sizes: tuple[str, ...], default: int
) -> Asked:
    """Reads and checks a query; `sizes` names the parameters that give the page size, the first counts.

    `acting_user` is the user in `onBehalfOf`, `uid` the one in the path. Refuses with 400 what is wrong.
    """
    bounds = {name: query.number(name, 1, 1000) for name in ("limit", "perPage")}
    place, affix = query.number("id"), query.choice("affix", ("append", "prepend"))
    terms = [*_plain(query), *_personal(query, acting_user, uid), *_times(query, place, affix)]
    found = Asked(
        condition=Condition(
            " AND ".join(sql for sql, _ in terms), tuple(value for _, values in terms for value in values)
        ),
        id=place,
        affix="append" if affix == "append" else "prepend" if affix == "prepend" else None,
        size=next((size for name in sizes if (size := bounds[name])), default),
        count=query.flag("count"),
        with_tags=query.flag("withTags"),
        blocked_info=query.flag("mentionsWithBlockedInfo"),
        tag_info=query.flag("mentionsWithTagInfo"),
    )
    query.check()
    return found


_Terms: TypeAlias = list[tuple[str, tuple[str | int, ...]]]


def _plain(query: Arguments) -> _Terms:
    terms: _Terms = [(sql, ()) for name, sql in _FLAGS.items() if query.flag(name)]
    terms += [(sql, (value,)) for name, sql in _EQUALS.items() if (value := query.text(name))]
    if text := query.text("searchKey"):
        terms.append(("instr(m.words, ?)", (text.casefold(),)))
    for name, column in _AMONG.items():
        if values := query.texts(name):
            terms.append((f"{column} IN ({_marks(values)})", values))
    for name, column in _HOLDS.items():
        if values := query.texts(name, KINDS if name == "attachmentTypes" else ()):
            terms.append(_holds(column, values))
    return terms


def _personal(query: Arguments, acting_user: str | None, uid: str | None) -> _Terms:
    terms: _Terms = []
    reader = acting_user or uid or ""
    if query.flag("unread"):
        terms.append(("NOT m.read AND m.sender != ?", (reader,)))
    if query.flag("undelivered"):
        terms.append(("NOT m.delivered AND m.sender != ?", (reader,)))
    if query.flag("myMentionsOnly"):
        terms.append(_holds("m.mentions", (acting_user,)) if acting_user else ("0", ()))
    return terms


def _times(query: Arguments, id: int | None, affix: str | None) -> _Terms:
    terms: _Terms = []
    if (start := query.number("fromTimestamp")) is not None:
        terms.append(("m.sent_at >= ?", (start,)))
    if (end := query.number("toTimestamp")) is not None:
        terms.append(("m.sent_at <= ?", (end,)))
    if (place := query.number("sentAt")) is not None and id is None:
        terms.append(("m.sent_at < ?" if affix == "prepend" else "m.sent_at > ?", (place,)))
    return terms


def _holds(column: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return f"{_HELD.replace('COLUMN', column)} ({_marks(values)}))", values


def _marks(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))
