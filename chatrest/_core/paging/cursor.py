"""The position of a walk, as data: it serialises to a token from which any process can continue.

A token holds the fingerprint of its query, the query pairs that ask for its page, the walk's direction and
the id of the last item delivered. It holds no key, and a checksum covers every bit of it. With a cursor key
it is signed too (HMAC-SHA256), so that a token that was made or changed by anybody else is refused.

A token can change only the position in the list. `resumed` refuses a position that holds other names than
those by which its list is paged, that is before the query's own beginning, or that goes in another
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
from ..requests.dialects import COMPARED_MEMBERS, MAX_PAGE_SIZE, Paging
from ..requests.endpoint import Pairs
from .order import Affix, is_ahead, is_number

MAC_BYTES: Final = 32
_VERSION: Final = b"\x01"
_SUM: Final = 4
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")
_DAMAGED: Final = "the cursor token is damaged: expected an unchanged one, such as str(walk.cursor)"


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
    """A position in a walk. `str(cursor)` is its token, `Cursor.parse(token)` reads it back."""

    query: str
    """The fingerprint of what is listed: operation, path, acting user, app and filters."""
    position: Pairs = ()
    """The query pairs that ask for the page, as the service gave them; none at the walk's start."""
    direction: Affix | None = None
    """`append`: ids ascend; `prepend`: they descend; None before the first page."""
    last: str | None = None
    """The id of the last item delivered, on this page or before it."""
    given_here: int = 0
    """The number of items in the service's order that were delivered from this page."""
    is_inside: bool = False
    """True if the last item is on the page that `position` asks for, and not before it."""
    last_time: int | None = None
    """The timestamp at which the last item delivered was sent; None if unknown. It shows a list by time."""
    by_id: bool = True
    """True if the list goes by id; if not, its items come in the service's order."""
    delivered: int = 0
    """The number of items that the walk has given so far: the service's total is compared with it."""
    earlier: Pairs | None = None
    """The query pairs of an earlier page, asked for if the page here is empty; None if that is the end."""
    mac: bytes = b""
    """The signature of a session with a cursor key; within a walk no cursor is signed."""

    def __str__(self) -> str:
        payload = _payload(self)
        packed = b2a_base64(crc32(payload).to_bytes(_SUM) + self.mac + payload, newline=False)
        return packed.translate(_TO_URL).rstrip(b"=").decode()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """The position, without the fingerprint and the signature."""
        return list(zip(self.__struct_fields__, structs.astuple(self), strict=True))[1:-1]

    @classmethod
    def parse(cls, token: object) -> "Cursor":
        """Return the cursor of a token that `str(cursor)` gave, in this process or another.

        Its query and its signature are checked where it is used, by the session that has the key. Raises
        `CursorError` for a text that is no token, or a damaged one.
        """
        if not isinstance(token, str):
            raise CursorError(f"the cursor is of type {type(token).__name__}: expected a token as text")
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
    def is_at_number(self) -> bool:
        """True in a list by id after an item whose id is a number: it shows all that the walk has given."""
        return self.by_id and is_number(self.last)

    @property
    def unsigned(self) -> "Cursor":
        """This position without a signature, as a walk continues from it."""
        return structs.replace(self, mac=b"") if self.mac else self

    def signed(self, key: CursorKey | None) -> "Cursor":
        """Return this position with the signature of `key` in its token; as it is for None."""
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
    """Return a short stable name of a query: the same parts give the same name in any process."""
    return hashlib.blake2b(_json(parts), digest_size=8).hexdigest()


def beginning(query: str, asked: Pairs, paging: Paging) -> Cursor:
    """Return the cursor of a walk's start; a position in its query (`id`, `affix`, `page`) begins it."""
    by_id = paging.order == "id"
    if not asked:
        return Cursor(query, by_id=by_id)
    position = tuple(pair for pair in asked if pair[0] in paging.position_names)
    direction: Affix | None = None
    if (affix := dict(position).get("affix")) is not None:
        direction = "append" if affix == "append" else "prepend"
    return Cursor(query, position, direction, by_id=by_id)


def resumed(cursor: Cursor | str, start: Cursor, paging: Paging, key: CursorKey | None) -> Cursor:
    """Return the cursor to continue from, unsigned, if it is a position in the list that begins at `start`.

    Raises `CursorError` for a token that is damaged, of another query, not signed by `key` where there is
    one, or that would leave the list.
    """
    given = cursor if isinstance(cursor, Cursor) else Cursor.parse(cursor)
    if key is not None and not hmac.compare_digest(given.mac, key.sign(_payload(given))):
        raise CursorError("the cursor token is not signed with this session's cursor_key")
    if given.query != start.query:
        raise CursorError(
            "the cursor is of another query: it can only continue with the same operation, user, "
            "acting user, app and filters (page sizes may differ)"
        )
    if fault := _fault(given, start, paging):
        raise CursorError(f"the cursor token leads out of its list: {fault}")
    return given.unsigned


def _fault(cursor: Cursor, start: Cursor, paging: Paging) -> str | None:
    """Return the reason why a cursor is no position in the list that begins at `start`; None if it is one."""
    begun = dict((*paging.filters, *start.position))
    if cursor.given_here < 0 or cursor.delivered < 0:
        return "a count in it is negative"
    if start.direction not in (None, cursor.direction):
        return "it goes in another direction than the query"
    for position in (cursor.position, cursor.earlier):
        if position and (fault := _position_fault(position, cursor.direction, begun, paging)):
            return fault
    last = cursor.last
    if last is None or "id" not in begun or not is_number(last):
        return None
    is_before = not _is_in_list(last, begun["id"], cursor.direction)
    return "its last item is before the query's own id" if is_before else None


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
        if name in paging.sizes and not (is_number(value) and 1 <= int(value) <= MAX_PAGE_SIZE):
            return f"its page size is not a number from 1 to {MAX_PAGE_SIZE}"
        if name == "affix" and value != direction:
            return "it goes in another direction than the query"
        if name == "page" and not (is_number(value) and int(value) >= int(begun.get("page", 1))):
            return "its page is before the query's first one"
        if name in begun and name in COMPARED_MEMBERS and not _is_in_list(value, begun[name], direction):
            return f"it is before the query's own {name}"
    return None


def _is_in_list(value: str, begun: str, direction: Affix | None) -> bool:
    """Return True if an id or a time is the query's own or further on, or if the query's is no number."""
    return value == begun or not is_number(begun) or is_ahead(value, begun, direction or "append")


def _json(value: tuple[Any, ...]) -> bytes:
    try:
        return _ENCODE(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate of an id, which only an escape can carry
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
