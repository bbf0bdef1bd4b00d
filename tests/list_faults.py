"""Lists that disagree with the documents, as other servers of this wire have them: weather for the emulator.

    Emulator(weather=[ListFault("capped", 100), ListFault("ignored", "perPage")])

| kind           | lists have                                                                           |
|----------------|--------------------------------------------------------------------------------------|
| `capped`       | pages of at most `value` records, each of which says that it is the last             |
| `ignored`      | no effect of the query parameter `value`                                             |
| `no-meta`      | nothing but `data`                                                                   |
| `top-level`    | the position beside `meta`, as `cursor`                                              |
| `totals`       | `value` in `meta.pagination`, whatever is right                                      |
| `integer-ids`  | records whose `id` is a number                                                       |
| `descending`   | pages in the other order                                                             |
| `cursor-alone` | the position in `meta.cursor`, never in `meta.next`                                  |
| `next-alone`   | the position in `meta.next`, never in `meta.cursor`                                  |
| `empty`        | a page without records whose position is just before them, where ids leave room      |

The records keep their bytes. Other replies stay as they are.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Raw, structs

from chatrest.emulator import Fault, OutgoingReply, Request

Pairs: TypeAlias = list[tuple[str, str]]
Meta: TypeAlias = dict[str, Any]
POSITIONS = ("cursor", "next")
SIZES = ("limit", "perPage", "per_page")


class List(msgspec.Struct):
    """A reply that is a list, being changed."""

    data: list[Raw]
    meta: Meta | None
    cursor: Any = None


class ListFault(Fault):
    """A habit of a server with its lists; strikes beside all other faults."""

    kind: str
    value: Any = None

    accompanies: ClassVar[bool] = True
    only_reads: ClassVar[bool] = True

    def rewritten(self, request: Request) -> Request:
        rewrite = REQUESTS.get(self.kind)
        pairs = _pairs(request)
        return request if rewrite is None else request._replace(query=urlencode(rewrite(pairs, self.value)))

    def changed(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        change = REPLIES.get(self.kind)
        try:
            body = msgspec.json.decode(reply.body, type=List)
        except msgspec.MsgspecError:
            return reply
        if change is None or body.meta is None:
            return reply
        change(body, dict(_pairs(request)), self.value)
        members = {"data": body.data, "meta": body.meta, "cursor": body.cursor}
        sent = {name: value for name, value in members.items() if value is not None}
        return structs.replace(reply, body=msgspec.json.encode(sent))


class EmptyPage(ListFault):
    """A page without its records, in the place of the service's answer."""

    kind: str = "empty"

    accompanies: ClassVar[bool] = False


def _pairs(request: Request) -> Pairs:
    return parse_qsl(request.query, keep_blank_values=True, errors="replace")


def _capped(pairs: Pairs, size: int) -> Pairs:
    if not any(name in SIZES for name, _ in pairs):
        pairs = [*pairs, ("limit", "10"), ("perPage", "100")]
    return [(name, str(min(int(value), size)) if name in SIZES else value) for name, value in pairs]


def _ignored(pairs: Pairs, parameter: str) -> Pairs:
    names = {parameter, re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", parameter)}
    return [pair for pair in pairs if pair[0] not in names]


REQUESTS: dict[str, Callable[[Pairs, Any], Pairs]] = {"capped": _capped, "ignored": _ignored}


def _last_pages(body: List, query: dict[str, str], size: int) -> None:
    sizes = [int(query[name]) for name in SIZES if name in query]
    size = max(sizes) if sizes else size
    if "pagination" in (body.meta or {}):
        _totals(body, query, {"per_page": size, "current_page": 1, "total_pages": 1})
    elif body.meta and "current" in body.meta:
        body.meta["current"] |= {"limit": size}


def _totals(body: List, query: dict[str, str], numbers: Meta) -> None:
    if body.meta and "pagination" in body.meta:
        body.meta["pagination"] |= numbers


def _no_meta(body: List, query: dict[str, str], _: None) -> None:
    body.meta = body.cursor = None


def _top_level(body: List, query: dict[str, str], _: None) -> None:
    for name in POSITIONS:
        body.cursor = (body.meta or {}).pop(name, body.cursor)


def _integer_ids(body: List, query: dict[str, str], _: None) -> None:
    body.data = [Raw(re.sub(rb'^\{"id":"(\d+)"', rb'{"id":\1', bytes(each))) for each in body.data]


def _descending(body: List, query: dict[str, str], _: None) -> None:
    body.data.reverse()


def _alone(name: str) -> Callable[[List, dict[str, str], Any], None]:
    def rename(body: List, query: dict[str, str], _: None) -> None:
        body.meta = {name if each in POSITIONS else each: value for each, value in (body.meta or {}).items()}

    return rename


def _emptied(body: List, query: dict[str, str], _: None) -> None:
    meta = body.meta or {}
    cursor: Meta = next((meta[name] for name in POSITIONS if meta.get(name)), {})
    ids = [int(match[1]) for each in body.data if (match := re.match(rb'\{"id":"(\d+)"', bytes(each)))]
    start = query.get("id", "")
    if not ids or len(ids) != len(body.data) or "id" not in cursor or not (start == "" or start.isdigit()):
        return
    if cursor.get("affix") == "append":
        position, has_room = min(ids) - 1, min(ids) - 1 > int(start or 0)
    else:
        position, has_room = max(ids) + 1, start == "" or max(ids) + 1 < int(start)
    if has_room:
        cursor.pop("sentAt", None)
        cursor["id"], body.data = type(cursor["id"])(position), []
        _totals(body, query, {"count": 0, "total_pages": 2})


REPLIES: dict[str, Callable[[List, dict[str, str], Any], None]] = {
    "capped": _last_pages,
    "no-meta": _no_meta,
    "top-level": _top_level,
    "totals": _totals,
    "integer-ids": _integer_ids,
    "descending": _descending,
    "cursor-alone": _alone("cursor"),
    "next-alone": _alone("next"),
    "empty": _emptied,
}
