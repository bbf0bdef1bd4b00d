"""The place of a walk, as data: it serialises to a token that any process can go on from.

A token holds the fingerprint of its query, the query pairs that ask for its page, the walk's direction and
the id of the last item delivered. It holds no key, and a checksum covers every bit of it. With a cursor key
it is signed too (HMAC-SHA256), so that a token that was made or changed by anybody else is refused. The token
of a list that was read from many positions at once also holds the intervals of ids ahead that are done.

What a token says can only move within the list that the caller asks for: `resumed` refuses a position that
holds anything but the names by which its list is paged, that lies before the query's own beginning, or that
goes in another direction. Filters, path and acting user come from the caller alone.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final, Self, final

import msgspec
from msgspec import Struct, structs

from ...errors import CursorError
from ..requests.endpoint import Pairs
from .cursor_key import MAC_BYTES, CursorKey
from .intervals import LAST, Interval, first_rank, merge
from .order import Affix, is_ahead, is_number
from .paging import COMPARED_MEMBERS, LARGEST_PAGE, Paging

_VERSION: Final = b"\x02"
_SUM: Final = 6
# The standard library's: an id may hold a lone surrogate, which only an escape can carry.
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
_MOST_INTERVALS: Final = 10_000
_DAMAGED: Final = "the cursor token is damaged: it was not made by str(cursor)"


@final
class Cursor(Struct, frozen=True, array_like=True):
    """A place in a walk. `str(cursor)` is its token, `Cursor.parse(token)` reads it back."""

    query: str
    """The fingerprint of what is listed: operation, path, acting user, app and filters."""
    position: Pairs = ()
    """The query pairs that ask for the page, as the service gave them; none at the walk's start."""
    direction: Affix | None = None
    """`append`: ids ascend; `prepend`: they descend; None until the first page has told."""
    last: str | None = None
    """The id of the last item delivered, on this page or before it."""
    skip: int = 0
    """How many items without an id number of their own were delivered from this page."""
    inside: bool = False
    """Whether the last item is on the page that `position` asks for, and not before it."""
    time: int | None = None
    """When the last item delivered was sent, where items tell it: shows whether a list goes by time."""
    by_id: bool = True
    """Whether the list goes by id; if not, its items come in the service's order."""
    delivered: int = 0
    """How many items the walk has given so far: a total that the service counts is measured by it."""
    mac: bytes = b""
    """The signature of a session that has a cursor key."""
    done: tuple[Interval, ...] = ()
    """The ranks ahead whose items were delivered: where a list was read from many positions at once."""

    def __str__(self) -> str:
        payload = _VERSION + self._payload()
        return urlsafe_b64encode(_checksum(payload) + self.mac + payload).decode().rstrip("=")

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The place, without the fingerprint and the signature."""
        names = ("position", "direction", "last", "skip", "inside", "time", "by_id", "delivered", "done")
        return [(name, getattr(self, name)) for name in names]

    @classmethod
    def parse(cls, token: object) -> Self:
        """The cursor that `token` was made of; `CursorError` where it is damaged or none of ours.

        A signature is checked where the cursor is used, by the session that has the key.
        """
        if not isinstance(token, str):
            raise CursorError(f"a cursor token is a text, not {type(token).__name__}")
        try:
            packed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
            mac = packed[_SUM : _SUM + MAC_BYTES] if packed[_SUM : _SUM + 1] != _VERSION else b""
            payload = packed[_SUM + len(mac) :]
            if payload[:1] != _VERSION or packed[:_SUM] != _checksum(payload):
                raise ValueError("checksum")
            fields: list[Any] = msgspec.convert(json.loads(payload[1:]), list)
            cursor = msgspec.convert([*fields[:_FIELDS], "", *fields[_FIELDS:]], cls)
            cursor = structs.replace(cursor, mac=mac)
        except (ValueError, RecursionError, msgspec.MsgspecError):
            raise CursorError(_DAMAGED) from None
        if str(cursor) != token:  # base64 lets the last character's spare bits vary
            raise CursorError(_DAMAGED)
        return cursor

    def signed(self, key: CursorKey | None) -> "Cursor":
        """This cursor with the signature of `key`; as it is without a key."""
        return self if key is None else structs.replace(self, mac=self._mac(key))

    def is_signed_by(self, key: CursorKey) -> bool:
        """Return True where `key` signed this very cursor."""
        return hmac.compare_digest(self.mac, self._mac(key))

    def _mac(self, key: CursorKey) -> bytes:
        mac = key.sign(_VERSION + self._payload())
        # The first byte of a signature is never the version's: that tells a signed token from another.
        return mac if mac[:1] != _VERSION else b"\x00" + mac[1:]

    def _payload(self) -> bytes:
        fields = structs.astuple(self)[:_FIELDS]
        return _json((*fields, self.done) if self.done else fields)


_FIELDS: Final = Cursor.__struct_fields__.index("mac")
"""The number of the fields that every token has."""


def fingerprint(*parts: Any) -> str:
    """A short stable name of a query: the same parts give the same name in any process."""
    return hashlib.sha256(_json(parts)).hexdigest()[:16]


def beginning(query: str, asked: Pairs, paging: Paging) -> Cursor:
    """The cursor of a walk's start; what the query says of a position (`id`, `affix`, `page`) is where it
    begins.
    """
    by_id = paging.order == "id"
    if not asked:
        return Cursor(query, by_id=by_id)
    position = tuple(pair for pair in asked if pair[0] in paging.position_names)
    direction: Affix | None = None
    if (affix := dict(position).get("affix")) is not None:
        direction = "append" if affix == "append" else "prepend"
    return Cursor(query, position, direction, by_id=by_id)


def resumed(cursor: Cursor | str, start: Cursor, paging: Paging, key: CursorKey | None) -> Cursor:
    """The cursor to go on from, without its signature, if it is a place of the list that begins at `start`.

    Raises `CursorError` for a token that is damaged, of another query, not signed by `key` where there is
    one, or that would leave the list.
    """
    place = cursor if isinstance(cursor, Cursor) else Cursor.parse(cursor)
    if key is not None and not place.is_signed_by(key):
        raise CursorError("the cursor token is not signed with this session's cursor_key")
    if place.query != start.query:
        raise CursorError(
            "the cursor is of another query: a walk goes on with the same operation, user, "
            "acting user, app and filters (page sizes may differ)"
        )
    if fault := _fault(place, start, paging):
        raise CursorError(f"the cursor token leads out of its list: {fault}")
    return structs.replace(place, mac=b"")


def _fault(place: Cursor, start: Cursor, paging: Paging) -> str | None:
    """Return the reason why a cursor is no place of the list; None where it is one."""
    begun = dict(paging.filters) | dict(start.position)
    if place.skip < 0 or place.delivered < 0:
        return "a count in it is negative"
    if start.direction not in (None, place.direction):
        return "it goes in another direction than the query"
    for position in (place.position, *(interval.position for interval in place.done)):
        if fault := _position_fault(position, place.direction, begun, paging):
            return fault
    if place.done and (fault := _done_fault(place)):
        return fault
    last = place.last
    if last is None or "id" not in begun or not is_number(last):
        return None
    is_behind = not _is_onward(last, begun["id"], place.direction)
    return "its last item lies before the query's own id" if is_behind else None


def _position_fault(
    pairs: Pairs, direction: Affix | None, begun: dict[str, str], paging: Paging
) -> str | None:
    """Return the reason why a position is none of the list that begins at `begun`; None where it is one."""
    position = dict(pairs)
    # What the query is filtered by may be a position further on, if the query says in which direction.
    filters = dict(paging.filters)
    names = (
        paging.position_names | filters.keys() if filters.get("affix") == direction else paging.position_names
    )
    if unknown := position.keys() - names:
        return f"{min(unknown)[:40]!r} is no name by which this list is paged"
    if len(position) < len(pairs):
        return "a name stands twice in it"
    if any(not _is_size(position[name]) for name in position.keys() & set(paging.sizes)):
        return "its page size is not allowed"
    if position.get("affix") not in (None, direction):
        return "it goes in another direction than the query"
    if "page" in position and not (
        is_number(position["page"]) and int(position["page"]) >= int(begun.get("page", 1))
    ):
        return "its page lies before the query's first one"
    for name in COMPARED_MEMBERS & begun.keys() & position.keys():
        if not _is_onward(position[name], begun[name], direction):
            return f"it lies before the query's own {name}"
    return None


def _done_fault(place: Cursor) -> str | None:
    """Return the reason why the intervals of a cursor are none of its list; None where they are."""
    if not place.by_id or place.direction is None:
        return "it holds intervals of ids, and no direction by id"
    if len(place.done) > _MOST_INTERVALS:
        return f"it holds more than {_MOST_INTERVALS} intervals"
    lowest, highest = first_rank(place.direction), LAST if place.direction == "append" else 0
    is_apart = merge(place.done) == list(place.done)
    is_inside = all(lowest < each.first and each.last < highest for each in place.done)
    return None if is_apart and is_inside else "its intervals overlap, or hold what is no id"


def _is_size(text: str) -> bool:
    return is_number(text) and 1 <= int(text) <= LARGEST_PAGE


def _is_onward(place: str, begun: str, direction: Affix | None) -> bool:
    """Return True where an id is the query's own or further on.

    Ids that are no numbers cannot be compared.
    """
    return place == begun or not is_number(begun) or is_ahead(place, begun, direction or "append")


def _json(value: Any) -> bytes:
    return _ENCODER.encode(value).encode()


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:_SUM]
