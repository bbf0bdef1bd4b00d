"""The forms of replies: the envelopes around what a handler gives, and the pages of all lists.

The handler of a list gives all its documents. A page has a `number` of them, with `meta.pagination`; those
beyond the `position` of the last one; those beyond a `cursor`, from the newest to the oldest; the first ones
up to a `limit`; or the `whole` list.

By a position, such as `createdAt`, documents of one position stay on one page of any length: nothing is lost
at its border. A page that has documents has a `next`, also if it is the last; an empty page repeats the
position of its request. By a cursor `next` is there only where there is such a page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec.json import encode

from ..._core.requests.endpoint import Endpoint
from ..store.documents import Document
from ..store.message_index import number_of

_Item = TypeVar("_Item")


def ack(message: str | None = None, name: str = "message") -> Document:
    """Return the acknowledgement of a call that has succeeded; its text is under `name`, None for none."""
    return {"success": True} if message is None else {"success": True, name: message}


def list_reply(records: Iterable[bytes], members: Mapping[str, Any]) -> bytes:
    """Return `{"data": [records], …}`, of records that are JSON; `members` beside `data`, one at least."""
    return b'{"data":[%b],%b' % (b",".join(records), encode(members)[1:])


def pagination(total: int, count: int, size: int, page: int = 1) -> dict[str, int]:
    pages = max(1, -(-total // size))
    return {"total": total, "count": count, "per_page": size, "current_page": page, "total_pages": pages}


class ListForm(NamedTuple):
    kind: Literal["number", "position", "cursor", "limit", "whole"] = "number"
    by: str = ""
    """The documents' member by which the list continues; it is in a position, too, but for a cursor's."""
    parameter: str = ""
    """The query parameter that takes the position; empty for `by`."""
    size: int = 100
    time: Literal["", "reply", "meta"] = ""
    """Where the time of the page's last record is, as `cursor`: beside `meta`, or in it."""


LIST_FORMS: Final[Mapping[str, ListForm]] = {
    "banned_users.list": ListForm(time="reply"),
    "blocked_users.list": ListForm(time="meta"),
    "conversations.list_pinned": ListForm("whole"),
    "conversations.replace_pinned": ListForm("whole"),
    "friends.list": ListForm(time="meta"),
    "groups.list": ListForm(time="reply"),
    "members.list": ListForm(time="reply"),
    "messages.list_reaction": ListForm("position", "id", size=10),
    "messages.list_reactions": ListForm("position", "id", size=10),
    "moderation.list_messages": ListForm("position", "id"),
    "notifications.list_logs": ListForm("position", "messageId", "logId", 20),
    "users.list": ListForm(time="reply"),
}
"""The lists whose paging in the table of operations does not say it all; `messages` has those of messages."""


def form_of(endpoint: Endpoint[Any], id: str) -> ListForm:
    paging = endpoint.list_paging
    if endpoint.name in LIST_FORMS:
        return LIST_FORMS[endpoint.name]
    if paging.own_member:
        return ListForm("position", paging.own_member, size=10)
    if paging.shows_end:
        return ListForm("cursor", id, "cursor", size=10)
    return ListForm("limit" if paging.size == "limit" and not paging.numbered else "number")


class LazyRecords(NamedTuple):
    """The documents of a list in another form, which is made for the one page that is shown."""

    items: Sequence[Any]
    make_record: Callable[[Any], Document]


def encode_page(query: Mapping[str, Any], documents: Any, form: ListForm) -> bytes:
    if form.kind == "whole":
        return encode({"data": documents})
    if form.kind == "number":
        return _by_number(form, query, documents)
    # The filter of rules has the size as a text, too.
    size = int(query.get("limit") or query.get("perPage", form.size))
    if form.kind == "limit":
        return encode({"data": documents[:size], "meta": current_meta(documents[:size], size)})
    return _by_position(form, query, documents, size)


def _by_number(form: ListForm, query: Mapping[str, Any], documents: Any) -> bytes:
    number, size = query.get("page", 1), query.get("perPage") or query.get("limit", form.size)
    items, make_record = documents if isinstance(documents, LazyRecords) else (documents, dict)
    page = [make_record(each) for each in items[(number - 1) * size : number * size]]
    meta: Document = {"pagination": pagination(len(items), len(page), size, number)}
    reply = {"data": page, "meta": meta}
    if page and form.time:
        holder = meta if form.time == "meta" else reply
        holder["cursor"] = {"updatedAt": changed_at(page[-1]), "affix": query.get("affix", "append")}
    return encode(reply)


def changed_at(record: Document) -> int:
    return int(record.get("updatedAt") or record.get("createdAt") or 0)


def _by_position(form: ListForm, query: Mapping[str, Any], documents: list[Document], size: int) -> bytes:
    shows_end, affix = form.kind == "cursor", query.get("affix", "append")
    name, position = "cursor" if shows_end else form.by, query.get(form.parameter or form.by)
    rows = ((_rank(each.get(form.by, "")), each) for each in documents)
    start = None if position is None else _rank(position)
    page, has_more = page_beyond(rows, start, size, ascending=(affix == "append") is not shows_end)
    meta = current_meta(page, size)
    if page and not (shows_end and position is None):
        opposite = "prepend" if affix == "append" else "append"
        meta["previous"] = {"affix": opposite, name: "" if position is None else page[0].get(form.by)}
    if page and (has_more or not shows_end):
        meta["next"] = {"affix": affix, name: page[-1].get(form.by)}
    elif position is not None and not shows_end:
        meta["next"] = {"affix": affix, name: position}
    return encode({"data": page, "meta": meta})


def page_beyond(
    items: Iterable[tuple[Any, _Item]], rank: Any, size: int, *, ascending: bool
) -> tuple[list[_Item], bool]:
    """Return the first `size` of items (rank, item) beyond a rank, with those of the last one's rank; and
    True if there are more.
    """
    ordered = sorted(items, key=itemgetter(0), reverse=not ascending)
    if rank is not None:
        ordered = [each for each in ordered if (each[0] > rank if ascending else each[0] < rank)]
    page = ordered[:size]
    page += takewhile(lambda each: each[0] == page[-1][0], ordered[size:])
    return [item for _, item in page], len(page) < len(ordered)


def _rank(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts after them."""
    number = number_of(value)
    return (2**63, str(value)) if number is None else (number, "")


def current_meta(page: Sequence[Any], size: int) -> Document:
    return {"current": {"limit": size, "count": len(page)}}
