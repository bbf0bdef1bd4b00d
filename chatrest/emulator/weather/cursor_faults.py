"""Faults of lists: cursors that repeat, go back or go round, and pages that are empty in the middle.

The records keep their bytes; only `meta` is written anew. A reply that has no cursor stays as it is.
"""

from typing import Any, Final, final

import msgspec
from msgspec import Raw, structs

from ...errors import RequestInvalidError
from ..service.request import Request
from .faults import Change, Outgoing, asked

_MARKS: Final = ("cursor", "next")


class CursorFault(Change, frozen=True, kw_only=True):
    """A faithful page of messages whose cursor is another; for requests that name an `id`."""

    def fits(self, request: Request) -> bool:
        """Whether the request asks for a page from an id on."""
        return request.method == "GET" and super().fits(request) and asked(request).get("id", "").isdigit()

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """The same page with another cursor."""
        query = asked(request)
        place = self.place(int(query["id"]), query.get("affix", "append"), number)
        return with_cursor(reply, place, query.get("sentAt") if place == int(query["id"]) else None)

    def place(self, at: int, affix: str, number: int) -> int:
        """The cursor's id, for a request for the page from `at` on."""
        raise NotImplementedError


@final
class CursorRepeats(CursorFault, frozen=True):
    """The cursor is the one that was asked with: it does not move."""

    def place(self, at: int, affix: str, number: int) -> int:
        """`at` itself."""
        return at


@final
class CursorMovesBack(CursorFault, frozen=True):
    """The cursor is `by` ids behind the one that was asked with."""

    by: int = 1

    def place(self, at: int, affix: str, number: int) -> int:
        """Below `at` going append, above it going prepend; 1 at least."""
        return at + self.by if affix == "prepend" else max(1, at - self.by)


@final
class CursorCycles(CursorFault, frozen=True):
    """The cursor is one of `ids` in turn, on first pages too: a walk that follows it goes round for ever."""

    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ids or not all(type(place) is int and place > 0 for place in self.ids):
            raise RequestInvalidError(f"cursor_cycles.ids = {self.ids!r}: allowed are whole numbers from 1")

    def fits(self, request: Request) -> bool:
        """Whether the request is of the route; it need not name an id."""
        return request.method == "GET" and super(CursorFault, self).fits(request)

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """The same page with the next cursor of the cycle."""
        return with_cursor(reply, self.ids[(number - 1) % len(self.ids)], None)


@final
class EmptyPage(Change, frozen=True):
    """A page without its records, whose cursor moves on all the same.

    As it is, the page's records are passed by. `lossless`: the cursor moves to just before them, so that
    a walk that goes on gets them all; where the ids leave no room for that, the page stays as it is.
    """

    lossless: bool = False

    def fits(self, request: Request) -> bool:
        """Whether the request reads."""
        return request.method == "GET" and super().fits(request)

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """The emptied page, which does not say that it is the last."""
        found = _parsed(reply)
        if found is None or not bytes(found.get("data", b"")).startswith(b"["):
            return reply
        if self.lossless:
            place = _just_before(found, asked(request).get("id", ""))
            if place is None:
                return reply
            found = _parsed(with_cursor(reply, place, None)) or found
        meta = msgspec.json.decode(found.get("meta", b"{}"))
        for name in ("pagination", "current"):
            if isinstance(meta.get(name), dict):
                meta[name] |= {"count": 0}
        if "pagination" in meta:
            meta["pagination"]["total_pages"] = max(2, meta["pagination"].get("total_pages", 0))
        return _written(reply, found | {"data": Raw(b"[]"), "meta": Raw(msgspec.json.encode(meta))})


def with_cursor(reply: Outgoing, id: int, sent_at: str | None) -> Outgoing:
    """The reply with another id in its cursor; `sent_at` as the `next` dialect wants it, or none."""
    found = _parsed(reply)
    meta = None if found is None else msgspec.json.decode(found.get("meta", b"null"))
    if found is None or not isinstance(meta, dict):
        return reply
    for name in _MARKS:
        mark = meta.get(name)
        if isinstance(mark, dict) and "id" in mark:
            time = {"sentAt": int(sent_at)} if sent_at and sent_at.isdigit() and name == "next" else {}
            rest = {key: value for key, value in mark.items() if key != "sentAt"}
            meta[name] = rest | {"id": str(id) if isinstance(mark["id"], str) else id} | time
            return _written(reply, found | {"meta": Raw(msgspec.json.encode(meta))})
    return reply


def _just_before(found: dict[str, Raw], at: str) -> int | None:
    """An id between the place that was asked for and the nearest record of the page."""
    meta, ids = msgspec.json.decode(found.get("meta", b"{}")), _ids(found)
    mark: dict[str, Any] = next((meta[name] for name in _MARKS if isinstance(meta.get(name), dict)), {})
    if not ids or "id" not in mark or not (at == "" or at.isdigit()):
        return None
    if mark.get("affix") == "append":
        place, room = min(ids) - 1, min(ids) - 1 > int(at or 0)
    else:
        place, room = max(ids) + 1, at == "" or max(ids) + 1 < int(at)
    return place if room else None


def _ids(found: dict[str, Raw]) -> list[int]:
    try:
        records: list[dict[str, Any]] = msgspec.json.decode(found["data"])
        return [int(record["id"]) for record in records]
    except (ValueError, KeyError, TypeError):
        return []


def _parsed(reply: Outgoing) -> dict[str, Raw] | None:
    try:
        return msgspec.json.decode(reply.body, type=dict[str, Raw])
    except ValueError:
        return None


def _written(reply: Outgoing, found: dict[str, Raw]) -> Outgoing:
    return structs.replace(reply, body=msgspec.json.encode(found))
