"""Faults of positions: cursors that repeat, go back or cycle, empty pages, and replies without a position.

    Emulator(weather=[LostPosition("no-meta", when=First(after=2))])

The records keep their bytes; only `meta` is written again. A reply that has no cursor stays as it is.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, final

import msgspec
from msgspec import UNSET, Meta, Raw

from ..checked import Count
from ..service.context import ServiceRequest as Request
from .faults import Change, Outgoing, query_of, with_members
from .list_habits import POSITIONS, list_members, meta_of, raw_json, with_meta


class CursorFault(Change, kw_only=True):
    """An unchanged page of messages with another cursor; for requests that name an `id`."""

    only_reads: ClassVar[bool] = True

    def fits(self, request: Request) -> bool:
        return super().fits(request) and query_of(request).get("id", "").isdigit()

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        query = query_of(request)
        own = int(query["id"])
        position = self.position(own, query.get("affix", "append"), number)
        return with_cursor(reply, position, query.get("sentAt") if position == own else None)

    def position(self, id: int, affix: str, number: int) -> int:
        """Return the cursor's id, for a request for the page from `id` on."""
        raise NotImplementedError


@final
class CursorRepeats(CursorFault):
    """The cursor is the request's own: it does not move."""

    def position(self, id: int, affix: str, number: int) -> int:
        return id


@final
class CursorMovesBack(CursorFault):
    """The cursor is `by` ids after the request's own."""

    by: int = 1

    def position(self, id: int, affix: str, number: int) -> int:
        """Return an id below `id` for append, above it for prepend; 1 at least."""
        return id + self.by if affix == "prepend" else max(1, id - self.by)


@final
class CursorCycles(CursorFault):
    """The cursor is one of `ids` in turn, on first pages too: a walk that follows it never ends."""

    ids: Annotated[tuple[Count, ...], Meta(min_length=1, description="one or more whole numbers from 1")]

    def fits(self, request: Request) -> bool:
        """Return True for a request of the route; it need not name an id."""
        return super(CursorFault, self).fits(request)

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        return with_cursor(reply, self.ids[(number - 1) % len(self.ids)], None)


@final
class EmptyPage(Change):
    """A page without its records, whose cursor moves on all the same.

    By default the page's records are skipped. `lossless`: the cursor moves to just before them, so that
    a walk that continues gets them all; where the ids leave no room for that, the page stays as it is.
    """

    lossless: bool = False

    only_reads: ClassVar[bool] = True

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the page without its records; its pagination does not claim that it is the last."""
        members = list_members(reply)
        if members is None:
            return reply
        if self.lossless:
            position = _just_before(members, query_of(request).get("id", ""))
            if position is None:
                return reply
            members = list_members(with_cursor(reply, position, None)) or members
        meta = meta_of(members) or {}
        for name in ("pagination", "current"):
            if isinstance(meta.get(name), dict):
                meta[name] |= {"count": 0}
        if "pagination" in meta:
            meta["pagination"]["total_pages"] = max(2, meta["pagination"].get("total_pages", 0))
        return with_members(reply, members | {"data": Raw(b"[]"), "meta": raw_json(meta)})


def with_cursor(reply: Outgoing, id: int, sent_at: str | None) -> Outgoing:
    """Return the reply with another id in its cursor; `sent_at` as the `next` dialect wants it, or none."""

    def change(meta: dict[str, Any]) -> None:
        for name in POSITIONS:
            cursor = meta.get(name)
            if isinstance(cursor, dict) and "id" in cursor:
                time = {"sentAt": int(sent_at)} if sent_at and sent_at.isdigit() and name == "next" else {}
                rest = {key: value for key, value in cursor.items() if key != "sentAt"}
                meta[name] = rest | {"id": str(id) if isinstance(cursor["id"], str) else id} | time

    return with_meta(reply, change)


def _just_before(members: dict[str, Raw], at: str) -> int | None:
    meta, ids = meta_of(members) or {}, _ids(members)
    cursor: dict[str, Any] = next((meta[name] for name in POSITIONS if isinstance(meta.get(name), dict)), {})
    if not ids or "id" not in cursor or not (at == "" or at.isdigit()):
        return None
    if cursor.get("affix") == "append":
        position, has_room = min(ids) - 1, min(ids) - 1 > int(at or 0)
    else:
        position, has_room = max(ids) + 1, at == "" or max(ids) + 1 < int(at)
    return position if has_room else None


def _ids(members: dict[str, Raw]) -> list[int]:
    try:
        records: list[dict[str, Any]] = msgspec.json.decode(members["data"])
        return [int(record["id"]) for record in records]
    except (ValueError, KeyError, TypeError):
        return []


# ── replies that do not say where to continue ──


Loss: TypeAlias = Literal[
    "no-meta",
    "null-meta",
    "text-meta",
    "no-cursor",
    "null-cursor",
    "empty-cursor",
    "cursor-without-id",
    "unknown-cursor",
    "empty-page",
]


@final
class LostPosition(Change):
    """A list's reply that does not say where to continue.

    - `no-meta`, `null-meta`, `text-meta`: `meta` is missing, null, a text.
    - `no-cursor`, `null-cursor`, `empty-cursor`: `meta.cursor` (or `meta.next`) is missing, null, `{}`.
    - `cursor-without-id`: it has its other members alone.
    - `unknown-cursor`: it has members that no document names.
    - `empty-page`: no records and no position, but pagination that says page 1 of 2.
    """

    kind: Loss

    only_reads: ClassVar[bool] = True

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        members = list_members(reply)
        if members is None:
            return reply
        meta = _LOSSES[self.kind](meta_of(members) or {})
        members.pop("meta", None)
        if self.kind == "empty-page":
            members["data"] = Raw(b"[]")
        return with_members(reply, members if meta is UNSET else members | {"meta": raw_json(meta)})


# ── losses: each makes another `meta` of a list's, UNSET for none ──


def _on_positions(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """Return the loss that applies `change` to each position; UNSET takes it away."""

    def lose(meta: dict[str, Any]) -> Any:
        changed = {name: change(part) if name in POSITIONS else part for name, part in meta.items()}
        return {name: part for name, part in changed.items() if part is not UNSET}

    return lose


def _unknown_cursor(cursor: dict[str, Any]) -> dict[str, Any]:
    return {"cursorField": "id", "cursorValue": cursor.get("id"), "cursorAffix": cursor.get("affix")}


def _first_of_two(meta: dict[str, Any]) -> dict[str, Any]:
    numbers = {"total": 1, "per_page": 1} | (meta.get("pagination") or {})
    return {"pagination": numbers | {"count": 0, "current_page": 1, "total_pages": 2}}


_LOSSES: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "no-meta": lambda meta: UNSET,
    "null-meta": lambda meta: None,
    "text-meta": lambda meta: "lost",
    "no-cursor": _on_positions(lambda cursor: UNSET),
    "null-cursor": _on_positions(lambda cursor: None),
    "empty-cursor": _on_positions(lambda cursor: {}),
    "cursor-without-id": _on_positions(
        lambda cursor: {name: value for name, value in cursor.items() if name != "id"}
    ),
    "unknown-cursor": _on_positions(_unknown_cursor),
    "empty-page": _first_of_two,
}
