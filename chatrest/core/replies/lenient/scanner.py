"""Any JSON that Python can read, split into members and records with their exact bytes.

A strict decoder refuses a whole page for one lone surrogate, a NaN, a byte that is not UTF-8, a byte order
mark or metadata that is nested too deeply. Here the reply is split without being decoded: by msgspec where it
can, else by regular expressions that need no recursion and pass over each byte once.
"""

import re
from itertools import count as steps, islice
from typing import Any, Final, final

import msgspec
from msgspec import Raw

from ....errors import ReplyUnreadableError
from ....models.raw_json import REFUSED, read_value
from ..bounds import check_records

_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = re.compile(rb"[ \t\n\r]*+")
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_INNER: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR: Final = re.compile(rb'[^][{}",: \t\n\r]++')
# Everything up to the next bracket of the other direction, or a string that holds brackets: a nested value is
# a few matches, however deep it is.
_PLAIN: Final = rb'"[^]["{}\\]*+(?:\\.[^]["{}\\]*+)*+"'
_DOWN: Final = re.compile(rb'[^]}"]*+(?:%b[^]}"]*+)*+' % _PLAIN, re.DOTALL)
_UP: Final = re.compile(rb'[^[{"]*+(?:%b[^[{"]*+)*+' % _PLAIN, re.DOTALL)
# The same, past brackets with no others between them: for values that go up and down at every level.
_PAST_LEAVES: Final = re.compile(
    rb'(?:[^][{}"]++|%b|\[(?:[^][{}"]++|%b)*+\]|\{(?:[^][{}"]++|%b)*+\}|[{\[])*+' % (_PLAIN, _PLAIN, _PLAIN),
    re.DOTALL,
)
_BRACKET: Final = re.compile(rb"[]}]")
_OPENING: Final = (b"[", b"{")
_CLOSING: Final = (b"]", b"}")
_SLICE: Final = 1 << 18
_LARGEST_ODD: Final = 1 << 22
"""Bytes of a value that is read although it is not JSON by the book."""
_NEAR: Final = 8
_MANY: Final = 50
_SHALLOW: Final = 100
"""Opening brackets that any call stack leaves room for; to look closer costs a few microseconds."""

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_VALUE: Final = msgspec.json.Decoder(Raw)
_TYPES: Final = {b"[": "array", b'"': "text", b"t": "boolean", b"f": "boolean", b"n": "null"}
_ELEMENTS: Final = msgspec.json.Decoder(list[Raw])


@final
class TooDeep(dict[str, Any]):
    """A record that is nested too deeply, or too large and odd, to be read: its members that are scalars."""


def whole(body: bytes) -> Any:
    """Return the body's JSON as Python objects, None for an empty body.

    Raises `ReplyUnreadableError` where the body is not JSON.
    """
    if not body.removeprefix(_BOM).strip():
        return None
    try:
        return read_value(body) if len(body) <= _LARGEST_ODD else msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        fault = _unreadable(error)
    raise fault  # outside: the standard library's error holds the whole text


def read_record(raw: bytes) -> Any:
    """Return one record as Python objects; a `TooDeep` where it is nested too deeply.

    Raises `ReplyUnreadableError` where it is not JSON.
    """
    fault = None
    try:
        if len(raw) > _LARGEST_ODD:
            return _strict_or_shallow(raw)
        if not is_too_deep(raw):
            return read_value(raw)
    except RecursionError:
        pass
    except ValueError as error:
        fault = _unreadable(error)
    if fault is not None:
        raise fault
    return _shallow(raw)


def _strict_or_shallow(raw: bytes) -> Any:
    """Return a large record; of one that the strict decoder refuses, one level.

    Python's own decoder reads what is odd, and holds up all threads meanwhile.
    """
    try:
        return msgspec.json.decode(raw)
    except REFUSED:
        return _shallow(raw)


def is_too_deep(raw: bytes) -> bool:
    """Return whether a record is nested deeper than Python's limit of recursion lets it be read."""
    if sum(map(raw.count, _OPENING)) < _SHALLOW:
        return False
    try:
        _MEMBERS.decode(raw)
    except RecursionError:
        return True
    except REFUSED:
        return False
    return False


def _shallow(raw: bytes) -> TooDeep:
    """One level of what is too deep for a recursive reader: anybody may write such metadata."""
    record = TooDeep()
    if raw.lstrip()[:1] == b"{":
        for name, value in members(raw).items():
            if value[:1] not in _OPENING and len(value) <= _LARGEST_ODD:
                record[name] = read_record(value)
    return record


def members(body: bytes | Raw) -> dict[str, bytes]:
    """Return the members of an object, each as its exact bytes; of two of one name the last stands.

    Raises `ReplyUnreadableError` where the body is not a JSON object.
    """
    try:
        return {name: bytes(raw) for name, raw in _MEMBERS.decode(body).items()}
    except REFUSED:
        return _scanned(bytes(body).removeprefix(_BOM), None)


def reply_parts(body: bytes) -> tuple[dict[str, bytes], list[bytes] | None]:
    """Return the members of a reply, and the elements of its `data`; None where that is no array.

    Raises `ReplyUnreadableError` where the body is not a JSON object.
    """
    try:
        parts = {name: bytes(raw) for name, raw in _MEMBERS.decode(body).items()}
    except REFUSED:
        records: list[bytes] = []
        parts = _scanned(body.removeprefix(_BOM), records)
        return parts, records if parts.get("data", b"").startswith(b"[") else None
    return parts, elements(parts["data"]) if parts.get("data", b"").startswith(b"[") else None


def elements(array: bytes) -> list[bytes]:
    """Return the elements of an array, each as its exact bytes.

    Raises `ReplyUnreadableError` where it is no array, or has more elements than a list may have.
    """
    try:
        raws = _ELEMENTS.decode(array)
    except REFUSED:
        pass
    else:
        check_records(len(raws))
        return list(map(bytes, raws))
    try:
        parts, end = _split_array(array, _skip(array, 0))
        _refuse_rest(array, end)
        return parts
    except (ValueError, IndexError) as error:
        fault = _unreadable(error)
    raise fault


def _scanned(body: bytes, records: list[bytes] | None) -> dict[str, bytes]:
    if (name := _other_type(body)) is not None:
        raise ReplyUnreadableError(f"expected an object, got {name}")
    try:
        return _split_object(body, records)
    except (ValueError, IndexError, RecursionError) as error:
        fault = _unreadable(error)
    raise fault


def _other_type(body: bytes) -> str | None:
    """Return what a JSON value is that is no object; None for an object and for what is not JSON."""
    first = body.lstrip(b" \t\r\n")[:1]
    if not first or first == b"{":
        return None
    try:
        _VALUE.decode(body)
    except REFUSED:
        return None
    return _TYPES.get(first, "number")


def _split_object(body: bytes, records: list[bytes] | None) -> dict[str, bytes]:
    """Return the members of an object; where `records` is a list, the elements of `data` are put into it."""
    parts: dict[str, bytes] = {}
    at = _expect(body, 0, b"{")
    while body[at : at + 1] != b"}":
        end = _matched(_STRING, body, at)
        name = str(read_value(body[at:end]))
        begin = _expect(body, end, b":")
        if records is not None and name == "data" and body[begin : begin + 1] == b"[":
            records[:], end = _split_array(body, begin)
        else:
            end = _end_of(body, begin)
        parts[name] = body[begin:end]
        at = _comma(body, end, b"}")
    _refuse_rest(body, at + 1)
    return parts


def _split_array(body: bytes, at: int) -> tuple[list[bytes], int]:
    """Return the elements of the array that begins at `at`, and the place behind it."""
    parts: list[bytes] = []
    at = _expect(body, at, b"[")
    while body[at : at + 1] != b"]":
        end = _end_of(body, at)
        parts.append(body[at:end])
        check_records(len(parts))
        at = _comma(body, end, b"]")
    return parts, at + 1


def _end_of(body: bytes, at: int) -> int:
    """Return the place behind the value that begins at `at`."""
    first = body[at : at + 1]
    if first in _OPENING:
        return _closing(body, at)
    return _matched(_STRING if first == b'"' else _SCALAR, body, at)


def _closing(body: bytes, at: int) -> int:
    """Return the place behind the bracket that closes the one at `at`, found without recursion."""
    depth, count, down = 0, body.count, _DOWN
    for step in steps(1):
        if at >= len(body):
            break
        if step == _MANY:
            down = _PAST_LEAVES
        # In slices, as other threads wait while a pattern is matched.
        slice_end = at + _SLICE
        top = down.match(body, at, slice_end).end()  # type: ignore[union-attr]  # it matches nothing at least
        depth += count(b"[", at, top) + count(b"{", at, top)
        if down is _PAST_LEAVES:
            depth -= count(b"]", at, top) + count(b"}", at, top)
        at = _UP.match(body, top, slice_end).end()  # type: ignore[union-attr]
        closed = count(b"]", top, at) + count(b"}", top, at)
        if closed >= depth:
            return _nth_closing(body, top, at, depth, closed)
        depth -= closed
        if body[at : at + 1] == b'"':  # a string that holds brackets
            at = _matched(_STRING, body, at)
    raise IndexError


def _nth_closing(body: bytes, begin: int, end: int, wanted: int, count: int) -> int:
    """Return the place behind the `wanted`th of the `count` closing brackets between `begin` and `end`."""
    if count - wanted > _NEAR:
        return next(islice(_BRACKET.finditer(body, begin, end), wanted - 1, None)).end()
    for _ in range(count - wanted + 1):
        end = max(body.rfind(bracket, begin, end) for bracket in _CLOSING)
    return end + 1


def _matched(pattern: re.Pattern[bytes], body: bytes, at: int) -> int:
    match = pattern.match(body, at, at + _SLICE)
    if match is None or match.end() == at + _SLICE:
        if body[at : at + 1] == b'"' and len(body) > at + _SLICE:
            return _string_end(body, at)
        match = pattern.match(body, at)
    if match is None:
        if at >= len(body) or body[at : at + 1] == b'"':
            raise IndexError
        raise ValueError(f"expected a value or a name at byte {at}")
    return match.end()


def _string_end(body: bytes, at: int) -> int:
    """Return the place after a long string that begins at `at`, found in slices."""
    begin, at = at, at + 1
    while begin < at:
        begin, at = at, _INNER.match(body, at, at + _SLICE).end()  # type: ignore[union-attr]
    if body[at : at + 1] != b'"':
        raise IndexError
    return at + 1


def _skip(body: bytes, at: int) -> int:
    space = _SPACE.match(body, at)
    return space.end() if space else at


def _expect(body: bytes, at: int, char: bytes) -> int:
    """Return the place of what follows `char`, which must come next; spaces are passed over."""
    at = _skip(body, at)
    if at >= len(body):
        raise IndexError
    if body[at : at + 1] != char:
        raise ValueError(f"expected {char.decode()!r} at byte {at}")
    return _skip(body, at + 1)


def _comma(body: bytes, at: int, closing: bytes) -> int:
    """Return the place of the next member, or of the `closing` bracket."""
    at = _skip(body, at)
    if body[at : at + 1] == closing:
        return at
    at = _expect(body, at, b",")
    if body[at : at + 1] == closing:
        raise ValueError(f"expected a value at byte {at}")
    return at


def _refuse_rest(body: bytes, at: int) -> None:
    if _skip(body, at) != len(body):
        raise ValueError("text after the end")


def _unreadable(error: Exception) -> ReplyUnreadableError:
    text = f"the reply is not JSON: {error}"
    if isinstance(error, RecursionError):
        text = "the reply's JSON is nested too deeply to be read"
    elif isinstance(error, IndexError):
        text = "the reply's JSON is cut off"
    fault = ReplyUnreadableError(text)
    fault.is_json = False
    return fault
