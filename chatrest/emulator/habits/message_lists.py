"""The message lists of a compatible server: by time, then by id.

- `fromTimestamp` and `sentAt` are places to continue from: `append` gives what is later, `prepend` what is
  earlier. `id` alone is a place by id, `id` with `sentAt` a place by time, then id.
- What a place leaves is ordered by (sentAt, id), and the page is its beginning (`append`) or its end.
- A list is that of the acting user, who is the login token's.
- Deleted messages are in no list.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Raw
from msgspec.json import encode

from ..service.arguments import joined
from ..service.context import Handler, ServiceCall as Call
from ..service.message_lists import condition_of, count_reply, list_records, page_size
from ..service.messages import message_record
from ..service.refusals import ServiceRefusal as Refusal
from ..service.users import path_user
from ..store.message_index import conversation_id, conversation_list, group_list, thread_list
from ..store.message_lists import Condition
from .records import DEFAULT_SIZE

_PLACE: Final = ("id", "sentAt", "fromTimestamp", "affix")


def list_user(call: Call) -> bytes:
    return _page(call, conversation_list(conversation_id(path_user(call), _reader(call))))


def list_group(call: Call) -> bytes:
    """The messages of a group of the acting user's; whether there is any other group is not told."""
    guid, reader = call.path["guid"], _reader(call)
    if call.store.members.member(guid, reader) is None:
        raise Refusal(400, "ERR_NOT_A_MEMBER", f"The user {reader} is not a member of the group {guid}.")
    return _page(call, group_list(guid))


def list_thread(call: Call) -> bytes:
    parent = call.path["id"]
    message_record(call, parent)
    return _page(call, thread_list(str(int(parent))))


def list_all(call: Call) -> bytes:
    """Counts of what is unread, or the messages with one receiver but the newest; else nothing."""
    query, reader = call.query, _reader(call)
    if query.get("unread") and query.get("count"):
        condition, size = condition_of(call, query), page_size(query, ("limit",), DEFAULT_SIZE)
        return count_reply(call, f"u:{reader}", condition, size, reader, "cursor")
    receiver = query.get("receiver")
    if receiver is None:
        return encode({"data": [], "meta": {"cursor": {"affix": query.get("affix", "prepend")}}})
    is_group = query.get("receiverType") == "group"
    name = group_list(receiver) if is_group else conversation_list(conversation_id(reader, receiver))
    ids = call.store.matching(name)
    return _page(call, name, [Condition("m.id < ?", (ids[-1] if ids else 0,))])


def _reader(call: Call) -> str:
    return str(call.acting_user)


def _page(call: Call, name: str, terms: Iterable[Condition] = ()) -> bytes:
    place, is_later = _place(call)
    rest = {name: value for name, value in call.query.items() if name not in _PLACE}
    condition = joined([condition_of(call, rest), Condition("NOT m.deleted"), *terms, *place])
    order, size = call.store.by_time(name, condition), page_size(rest, ("limit",), DEFAULT_SIZE)
    page = order[:size] if is_later else order[-size:]
    records = list_records(call, [number for _, number in page])
    cursor: dict[str, Any] = {"affix": "append" if is_later else "prepend"}
    if page:
        sent_at, number = page[-1 if is_later else 0]
        cursor = {"id": number, "sentAt": sent_at, **cursor}
    return encode({"data": [Raw(record) for record in records], "meta": {"cursor": cursor}})


def _place(call: Call) -> tuple[list[Condition], bool]:
    """Return the conditions of the place that a page begins at, and if it goes to later messages."""
    query = call.query
    start, sent_at, number = query.get("fromTimestamp"), query.get("sentAt"), query.get("id")
    has_place = (start, sent_at, number) != (None, None, None)
    affix = query.get("affix") or ("append" if has_place else "prepend")
    sign = ">" if affix == "append" else "<"
    terms: list[Condition] = []
    if start is not None:
        terms.append(Condition(f"m.sent_at {sign} ?", (start,)))
    if number is not None and sent_at is not None:
        terms.append(Condition(f"(m.sent_at, m.id) {sign} (?, ?)", (sent_at, number)))
    elif number is not None:
        terms.append(Condition(f"m.id {sign} ?", (number,)))
    elif sent_at is not None:
        terms.append(Condition(f"m.sent_at {sign} ?", (sent_at,)))
    return terms, affix == "append"


LISTS: Final[dict[str, Handler]] = {
    "messages.list": list_all,
    "messages.list_user": list_user,
    "messages.list_group": list_group,
    "messages.list_thread": list_thread,
}
