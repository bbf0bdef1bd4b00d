"""Replies of lists that do not say where to go on, such as one in the midst of a walk:

Emulator(weather=[LostPosition("no-meta", when=First(after=2))])
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, final

from msgspec import Raw

from ...errors import RequestInvalidError
from ..service.request import Request
from .faults import Change, Outgoing, with_members
from .list_replies import POSITIONS, list_members, meta_of, raw_json

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
class LostPosition(Change, frozen=True):
    """A list's reply that does not say where to go on.

    - `no-meta`, `null-meta`, `text-meta`: `meta` is missing, null, a text.
    - `no-cursor`, `null-cursor`, `empty-cursor`: `meta.cursor` (or `meta.next`) is missing, null, `{}`.
    - `cursor-without-id`: it has its other members alone.
    - `unknown-cursor`: it has members that no document names.
    - `empty-page`: no records and no position, but pagination that says page 1 of 2.
    """

    kind: Loss

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in _LOSSES:
            raise RequestInvalidError(f"lost_position.kind = {self.kind!r}: allowed are {', '.join(_LOSSES)}")

    def fits(self, request: Request) -> bool:
        """Return True for a request that reads."""
        return request.method == "GET" and super().fits(request)

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the reply without its position."""
        members = list_members(reply)
        if members is None:
            return reply
        _LOSSES[self.kind](members)
        return with_members(reply, members)


# ── losses: each changes the members of a list's reply ──


def _lose_meta(members: dict[str, Raw]) -> None:
    members.pop("meta", None)


def _set_meta(value: Any) -> Callable[[dict[str, Raw]], None]:
    return lambda members: members.update(meta=raw_json(value))


def _change_cursor(change: Callable[[dict[str, Any], str], None]) -> Callable[[dict[str, Raw]], None]:
    """Return the loss that applies `change` to each position, given its container and its name there."""

    def lose(members: dict[str, Raw]) -> None:
        meta = meta_of(members) or {}
        for name in POSITIONS:
            if name in meta:
                change(meta, name)
        members["meta"] = raw_json(meta)

    return lose


def _drop(meta: dict[str, Any], name: str) -> None:
    del meta[name]


def _drop_id(meta: dict[str, Any], name: str) -> None:
    meta[name].pop("id", None)


def _rename_id(meta: dict[str, Any], name: str) -> None:
    cursor = meta[name]
    meta[name] = {"cursorField": "id", "cursorValue": cursor.get("id"), "cursorAffix": cursor.get("affix")}


def _empty_page(members: dict[str, Raw]) -> None:
    numbers = {"total": 1, "count": 0, "per_page": 1} | ((meta_of(members) or {}).get("pagination") or {})
    numbers |= {"count": 0, "current_page": 1, "total_pages": 2}
    members |= {"data": Raw(b"[]"), "meta": raw_json({"pagination": numbers})}


_LOSSES: Final[dict[str, Callable[[dict[str, Raw]], None]]] = {
    "no-meta": _lose_meta,
    "null-meta": _set_meta(None),
    "text-meta": _set_meta("lost"),
    "no-cursor": _change_cursor(_drop),
    "null-cursor": _change_cursor(lambda meta, name: meta.update({name: None})),
    "empty-cursor": _change_cursor(lambda meta, name: meta.update({name: {}})),
    "cursor-without-id": _change_cursor(_drop_id),
    "unknown-cursor": _change_cursor(_rename_id),
    "empty-page": _empty_page,
}
