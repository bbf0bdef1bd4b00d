"""Habits of servers whose lists disagree with the documents, and odd records.

A habit strikes every request of its route, beside all other faults, so that several make one server:

    Emulator(weather=[CappedPages(100), IgnoredParameter("perPage"), NoMeta(route="users.list")])

The records keep their bytes; only the envelope around them is written again. Replies that are no list stay as
they are. Lists ordered by time are an option of the emulator, `list_order="time"`; ids that are numbers are
in `OddRecords`; single replies without a position in `LostPosition`.
"""

import json
from collections.abc import Callable
from typing import Any, ClassVar, Final, Literal, TypeAlias, final
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import Raw, structs

from ..checked import Count
from ..service.context import ServiceRequest as Request
from .faults import Change, Outgoing, members_of, with_members

POSITIONS: Final = ("cursor", "next")
"""The members of `meta` that say where to continue."""


def list_members(reply: Outgoing) -> dict[str, Raw] | None:
    """Return the members of a reply that is a list with more than `data`; None for any other."""
    members = members_of(reply)
    if members is None or len(members) < 2 or not bytes(members.get("data", b"")).startswith(b"["):
        return None
    return members


def meta_of(members: dict[str, Raw] | None) -> dict[str, Any] | None:
    meta = None if members is None else msgspec.json.decode(members.get("meta", b"null"))
    return meta if isinstance(meta, dict) else None


def with_meta(reply: Outgoing, change: Callable[[dict[str, Any]], None]) -> Outgoing:
    members = list_members(reply)
    meta = meta_of(members)
    if members is None or meta is None:
        return reply
    change(meta)
    return with_members(reply, members | {"meta": raw_json(meta)})


def raw_json(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


_SIZES: Final = ("limit", "perPage", "per_page")
_DEFAULT_SIZES: Final = {"limit": 10, "perPage": 100}
_ALIASES: Final = {"perPage": "per_page"}


class ListHabit(Change, kw_only=True):
    """A habit of a server with its lists; strikes beside all other faults."""

    accompanies: ClassVar[bool] = True
    only_reads: ClassVar[bool] = True


@final
class CappedPages(ListHabit):
    """Pages of at most `size` records, each of which says that it is the last.

    `per_page` (or `meta.current.limit`) repeats the size of the request, `current_page` and `total_pages`
    are 1 on every page.
    """

    size: Count

    def rewritten(self, request: Request) -> Request:
        pairs = _pairs(request)
        if not any(name in _SIZES for name, _ in pairs):
            pairs += [(name, str(size)) for name, size in _DEFAULT_SIZES.items()]
        return _with_pairs(
            request, [(name, self._capped(value) if name in _SIZES else value) for name, value in pairs]
        )

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        sizes = [int(value) for name, value in _pairs(request) if name in _SIZES and value.isdecimal()]

        def change(meta: dict[str, Any]) -> None:
            size = {"per_page": max(sizes)} if sizes else {}
            if isinstance(meta.get("pagination"), dict):
                meta["pagination"] |= {**size, "current_page": 1, "total_pages": 1}
            if isinstance(meta.get("current"), dict) and sizes:
                meta["current"] |= {"limit": max(sizes)}

        return with_meta(reply, change)

    def _capped(self, value: str) -> str:
        return str(min(int(value), self.size)) if value.isdecimal() else value


@final
class NoMeta(ListHabit):
    """Lists of nothing but `data`: neither `meta` nor a cursor."""

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        members = list_members(reply)
        return reply if members is None else with_members(reply, {"data": members["data"]})


@final
class IgnoredParameter(ListHabit):
    """A query parameter without any effect, such as "perPage", "page" or "toTimestamp"."""

    parameter: str

    def rewritten(self, request: Request) -> Request:
        spellings = {self.parameter, f"{self.parameter}[]", _ALIASES.get(self.parameter)}
        return _with_pairs(request, [pair for pair in _pairs(request) if pair[0] not in spellings])


@final
class ExclusiveFrom(ListHabit):
    """`fromTimestamp` leaves its own second out."""

    def rewritten(self, request: Request) -> Request:
        return _with_pairs(
            request,
            [
                (name, str(int(value) + 1) if name == "fromTimestamp" and value.isdecimal() else value)
                for name, value in _pairs(request)
            ],
        )


@final
class WrongTotals(ListHabit):
    """A `meta.pagination.total` that is always the same; with `total_pages` that one too."""

    total: int = 0
    total_pages: int | None = None

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        def change(meta: dict[str, Any]) -> None:
            if isinstance(meta.get("pagination"), dict):
                pages = {} if self.total_pages is None else {"total_pages": self.total_pages}
                meta["pagination"] |= {"total": self.total, **pages}

        return with_meta(reply, change)


@final
class TopLevelPositions(ListHabit):
    """The position to continue from is beside `meta`, as `cursor`, and not in it."""

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        members = list_members(reply)
        meta = meta_of(members)
        if members is None or meta is None:
            return reply
        for name in POSITIONS:
            if name in meta:
                members |= {"cursor": raw_json(meta.pop(name))}
        return with_members(reply, members | {"meta": raw_json(meta)})


def _pairs(request: Request) -> list[tuple[str, str]]:
    return parse_qsl(request.query, keep_blank_values=True, errors="replace")


def _with_pairs(request: Request, pairs: list[tuple[str, str]]) -> Request:
    return request._replace(query=urlencode(pairs))


# ── odd records, as services of this kind send them against their documents ──


Oddity: TypeAlias = Literal[
    "integer-ids", "empty-lists", "unknown-category", "lone-surrogate", "nan", "byte-order-mark"
]


@final
class OddRecords(Change):
    """Odd records in the answer: every `step`-th of a page, counted from its first.

    - `integer-ids`: `id` is a number.
    - `empty-lists`: `data.metadata` is `[]`, and so is every empty object.
    - `unknown-category`: a category that no document names.
    - `lone-surrogate`: half of a surrogate pair, escaped, at the end of `data.text`.
    - `nan`: `data.score` is NaN, which is no JSON.
    - `byte-order-mark`: in front of the body.
    """

    oddity: Oddity
    step: Count = 1

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer with odd records; one without records stays as it is."""
        try:
            reply_json = json.loads(reply.body)
        except ValueError:
            return reply
        data = reply_json.get("data") if isinstance(reply_json, dict) else None
        records = data if isinstance(data, list) else [data] if isinstance(data, dict) else []
        if self.oddity == "byte-order-mark":
            return structs.replace(reply, body=b"\xef\xbb\xbf" + reply.body)
        odd = [record for record in records[:: self.step] if isinstance(record, dict)]
        for record in odd:
            _CHANGES[self.oddity](record)
        if not odd:
            return reply
        return structs.replace(reply, body=json.dumps(reply_json, separators=(",", ":")).encode())


def _integer_id(record: dict[str, Any]) -> None:
    if str(record.get("id", "")).isdigit():
        record["id"] = int(record["id"])


def _empty_lists(record: dict[str, Any]) -> None:
    _data(record)["metadata"] = []
    for name, value in record.items():
        record[name] = _with_lists(value)


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_lists(part) for name, part in value.items()} or []
    return [_with_lists(part) for part in value] if isinstance(value, list) else value


def _unknown_category(record: dict[str, Any]) -> None:
    record["category"] = "unheard-of"


def _lone_surrogate(record: dict[str, Any]) -> None:
    data = _data(record)
    data["text"] = f"{data.get('text', '')}\ud83d"


def _nan(record: dict[str, Any]) -> None:
    _data(record)["score"] = float("nan")


def _unchanged(record: dict[str, Any]) -> None:
    return


def _data(record: dict[str, Any]) -> dict[str, Any]:
    data = record.get("data")
    if not isinstance(data, dict):
        data = record["data"] = {}
    return data


_CHANGES: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "integer-ids": _integer_id,
    "empty-lists": _empty_lists,
    "unknown-category": _unknown_category,
    "lone-surrogate": _lone_surrogate,
    "nan": _nan,
    "byte-order-mark": _unchanged,
}
