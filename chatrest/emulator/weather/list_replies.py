"""The replies that are lists, taken apart and put together again; the records keep their bytes."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from .faults import Outgoing, members_of, with_members

POSITIONS: Final = ("cursor", "next")
"""The members of `meta` that say where to go on."""


def list_members(reply: Outgoing) -> dict[str, Raw] | None:
    """Return the members of a reply that is a list with more than `data`; None for any other."""
    members = members_of(reply)
    if members is None or len(members) < 2 or not bytes(members.get("data", b"")).startswith(b"["):
        return None
    return members


def meta_of(members: dict[str, Raw] | None) -> dict[str, Any] | None:
    """Return `meta`; None where it is missing, or no object."""
    meta = None if members is None else msgspec.json.decode(members.get("meta", b"null"))
    return meta if isinstance(meta, dict) else None


def with_meta(reply: Outgoing, change: Callable[[dict[str, Any]], None]) -> Outgoing:
    """Return the list with a changed `meta`; a reply without one as it is."""
    members = list_members(reply)
    meta = meta_of(members)
    if members is None or meta is None:
        return reply
    change(meta)
    return with_members(reply, members | {"meta": raw_json(meta)})


def raw_json(value: Any) -> Raw:
    """Return `value` as JSON."""
    return Raw(msgspec.json.encode(value))
