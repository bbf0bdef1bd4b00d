"""The place of a walk, as data: it serialises to a token that any process can continue from.

A token holds the fingerprint of its query, the query pairs that ask for its page, the walk's direction and
the id of the last item delivered. It holds no key, and a checksum covers every bit of it. With a cursor key
it is signed too (HMAC-SHA256), so that a token that was made or changed by anybody else is refused.

A token can change only the position in the list: `resumed` refuses a position that holds anything but the
names by which its list is paged, that is before the query's own beginning, or that goes in another
direction. Filters, path and acting user come from the caller alone.
"""

import hashlib
import hmac
import json
from binascii import a2b_base64, b2a_base64
from typing import Any, Final
from zlib import crc32

import msgspec
from msgspec import Struct, structs

from ...errors import CursorError
from ..requests.dialects import COMPARED_MEMBERS, LARGEST_PAGE, Paging
from ..requests.endpoint import Pairs
from .order import Affix, is_ahead, is_number

MAC_BYTES: Final = 32
_VERSION: Final = b"\x01"
_SUM: Final = 4
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")
_DAMAGED: Final = "the cursor token is damaged: no list has given it"


class CursorKey:
    """A session's key for the tokens of its cursors. No repr shows it, and it cannot be pickled."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "<CursorKey>"

    def __reduce__(self) -> str:
        raise TypeError("a CursorKey is a secret and cannot be pickled: give the key to each session")

    def sign(self, payload: bytes) -> bytes:
        """Return the signature (HMAC-SHA256) of a token's payload, which never begins as a version does."""
        mac = hmac.digest(self._key, payload, "sha256")
        return mac if mac[:1] != _VERSION else b"\x00" + mac[1:]


class Cursor(Struct, frozen=True, array_like=True):
    """A place in a walk. `str(cursor)` is its token, `Cursor.parse(token)` reads it back."""

    query: str
    """The fingerprint of what is listed: operation, path, acting user, app and filters."""
    position: Pairs = ()
    """The query pairs that ask for the page, as the service gave them; none at the walk's start."""
    direction: Affix | None = None
    """`append`: ids ascend; `prepend`: they descend; None before the first page."""
    last: str | None = None
    """The id of the last item delivered, on this page or before it."""
    skip: int = 0
    """How many items without an id number were delivered from this page."""
    inside: bool = False
    """Whether the last item is on the page that `position` asks for, and not before it."""
    time: int | None = None
    """When the last item delivered was sent, where items tell it: shows whether a list goes by time."""
    by_id: bool = True
    """Whether the list goes by id; if not, its items come in the service's order."""
    delivered: int = 0
    """How many items the walk has given so far: a total that the service counts is measured by it."""
    earlier: Pairs | None = None
    """The query pairs of an earlier page, asked for again if the page here is empty; None where that is the
    end.
    """
    mac: bytes = b""
    """The signature of a session with a cursor key; within a walk no cursor is signed."""

    def __str__(self) -> str:
        payload = _payload(self)
        packed = b2a_base64(crc32(payload).to_bytes(_SUM) + self.mac + payload, newline=False)
        return packed.translate(_TO_URL).rstrip(b"=").decode()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The place, without the fingerprint and the signature."""
        return list(zip(self.__struct_fields__, structs.astuple(self), strict=True))[1:-1]

    @classmethod
    def parse(cls, token: object) -> "Cursor":
        """The cursor that `token` was made of; `CursorError` where it is damaged or not ours.

        A signature is checked where the cursor is used, by the session that has the key.
        """
        if not isinstance(token, str):
            raise CursorError(f"a cursor token is a text, not {type(token).__name__}")
        try:
            packed = a2b_base64(token.encode("ascii").translate(_FROM_URL) + b"=" * (-len(token) % 4))
            # A signature is between the checksum and the version, and never begins as the version does.
            start = _SUM if packed[_SUM : _SUM + 1] == _VERSION else _SUM + MAC_BYTES
            cursor = _decoded(packed[start + len(_VERSION) :])
        except (ValueError, RecursionError, msgspec.MsgspecError):
            raise CursorError(_DAMAGED) from None
        cursor = structs.replace(cursor, mac=packed[_SUM:start])
        # Base64 lets the last character's spare bits vary, and JSON its spaces: the token itself is compared.
        if str(cursor) != token:
            raise CursorError(_DAMAGED)
        return cursor

    @property
    def unsigned(self) -> "Cursor":
        """This place without a signature, as a walk continues from it."""
        return structs.replace(self, mac=b"") if self.mac else self

    def signed(self, key: CursorKey | None) -> "Cursor":
        """This place with the signature of `key` in its token; as it is without a key."""
        return self if key is None else structs.replace(self, mac=key.sign(_payload(self)))


_DECODE: Final = msgspec.json.Decoder(Cursor).decode


def _decoded(text: bytes) -> Cursor:
    try:
        return _DECODE(text)
    except msgspec.MsgspecError:
        return msgspec.convert(json.loads(text), Cursor)


def _payload(cursor: Cursor) -> bytes:
    # `earlier` is the last field: many tokens are shorter without it.
    text = _json(structs.astuple(cursor)[:-1])
    return _VERSION + (text[: -len(b",null]")] + b"]" if cursor.earlier is None else text)


def fingerprint(*parts: Any) -> str:
    """A short stable name of a query: the same parts give the same name in any process."""
    return hashlib.blake2b(_json(parts), digest_size=8).hexdigest()


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
    """The cursor to continue from, unsigned, if it is a place of the list that begins at `start`.

    Raises `CursorError` for a token that is damaged, of another query, not signed by `key` where there is
    one, or that would leave the list.
    """
    place = Cursor.parse(cursor) if isinstance(cursor, str) or not isinstance(cursor, Cursor) else cursor
    if key is not None and not hmac.compare_digest(place.mac, key.sign(_payload(place))):
        raise CursorError("the cursor token is not signed with this session's cursor_key")
    if place.query != start.query:
        raise CursorError(
            "the cursor is of another query: it can only continue with the same operation, user, "
            "acting user, app and filters (page sizes may differ)"
        )
    if fault := _fault(place, start, paging):
        raise CursorError(f"the cursor token leads out of its list: {fault}")
    return place.unsigned


def _fault(place: Cursor, start: Cursor, paging: Paging) -> str | None:
    begun = dict((*paging.filters, *start.position))
    if place.skip < 0 or place.delivered < 0:
        return "a count in it is negative"
    if start.direction not in (None, place.direction):
        return "it goes in another direction than the query"
    for position in (place.position, place.earlier):
        if position and (fault := _position_fault(position, place.direction, begun, paging)):
            return fault
    last = place.last
    if last is None or "id" not in begun or not is_number(last):
        return None
    is_behind = not _is_onward(last, begun["id"], place.direction)
    return "its last item is before the query's own id" if is_behind else None


def _position_fault(
    pairs: Pairs, direction: Affix | None, begun: dict[str, str], paging: Paging
) -> str | None:
    position, names = dict(pairs), paging.position_names
    if paging.filters and dict(paging.filters).get("affix") == direction:
        # What the query is filtered by may be a position further on, too.
        names |= dict(paging.filters).keys()
    if not names >= position.keys():
        return f"{min(position.keys() - names)[:40]!r} is no name by which this list is paged"
    if len(position) < len(pairs):
        return "a name is in it twice"
    for name, value in pairs:
        if name in paging.sizes and not (is_number(value) and 1 <= int(value) <= LARGEST_PAGE):
            return "its page size is not allowed"
        if name == "affix" and value != direction:
            return "it goes in another direction than the query"
        if name == "page" and not (is_number(value) and int(value) >= int(begun.get("page", 1))):
            return "its page is before the query's first one"
        if name in begun and name in COMPARED_MEMBERS and not _is_onward(value, begun[name], direction):
            return f"it is before the query's own {name}"
    return None


def _is_onward(place: str, begun: str, direction: Affix | None) -> bool:
    """Return True if an id is the query's own or further on.

    Ids that are no numbers cannot be compared.
    """
    return place == begun or not is_number(begun) or is_ahead(place, begun, direction or "append")


def _json(value: tuple[Any, ...]) -> bytes:
    try:
        return _ENCODE(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate of an id, which only an escape can carry
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
