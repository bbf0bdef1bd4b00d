"""JSON as services really send it: read as Python objects, or split into members with their exact bytes.

A strict decoder refuses a complete page for one lone surrogate, a NaN, a byte that is not UTF-8, a byte order
mark or metadata that is nested too deeply. Here the reply is split without being decoded: by msgspec if it
can, else by regular expressions, which need no recursion and pass over each byte once. `json`'s `raw_decode`
does neither: it raises RecursionError at some 1000 levels, and makes objects of all that it passes over.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Raw

from ..._models.raw_json import REFUSED, read_value
from ...errors import ReplyUnreadableError
from .bounds import MAX_RECORDS, check_records

BOM: Final = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""
_SPACE: Final = re.compile(rb"[ \t\n\r]*+")
_INSIDE: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR: Final = re.compile(rb'[^][{}",: \t\n\r]++')
_LEAF: Final = rb'"(?:[^"\\]++|\\.)*+"|\[[^][{}"]*+\]|\{[^][{}"]*+\}'
_TO_BRACKETS: Final = re.compile(rb'[^][{}"]*+(?:(?:%b)[^][{}"]*+)*+([\[{]++|[]}]++)?' % _LEAF, re.DOTALL)
"""Matches texts and leaves up to the next brackets, and all brackets of one direction there."""
_SLICE: Final = 1 << 18
"""Bytes that are matched at once: other threads wait meanwhile."""
_MAX_ODD: Final = 1 << 22
"""Bytes of a value that is read by Python's own decoder, if it is not plain JSON."""
_QUOTE: Final = ord('"')

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_VALUE: Final = msgspec.json.Decoder(Raw)
_TYPES: Final = {b"[": "array", b'"': "text", b"t": "boolean", b"f": "boolean", b"n": "null"}
_ELEMENTS: Final = msgspec.json.Decoder(list[Raw])


class TooDeep(dict[str, Any]):
    """The scalar members of a record that is nested too deeply, or too large and not plain JSON."""


def read_json(body: bytes, /) -> Any:
    """Return a reply's JSON as Python objects; None for an empty body.

    Raises `ReplyUnreadableError` for a body that is not JSON, and for one with an error in the place of data,
    whatever its status.
    """
    try:
        reply = msgspec.json.decode(body)
    except REFUSED:  # empty, or not JSON by the book
        reply = read_body(body)
    if type(reply) is dict and type(reply.get("error")) is dict:
        refuse_error(reply)
    return reply


def refuse_error(parts: dict[str, Any]) -> None:
    """Raise `ReplyUnreadableError` for the members of a reply with an `error` object and without `data`."""
    error = parts.get("error")
    if error and "data" not in parts and (isinstance(error, dict) or error[:1] == b"{"):
        raise ReplyUnreadableError("the reply holds an error, and no data")


def read_body(body: bytes) -> Any:
    """Return any body's JSON as Python objects, an error included; None for an empty body.

    Raises `ReplyUnreadableError` for a body that is not JSON.
    """
    try:
        return read_value(body) if len(body) <= _MAX_ODD else msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        fault = _unreadable(error)
    if not body.removeprefix(BOM).strip():
        return None
    raise fault  # outside: the standard library's error holds the whole text


def read_record(raw: bytes) -> Any:
    """Return one record as Python objects; a `TooDeep` if it is nested too deeply.

    Raises `ReplyUnreadableError` for text that is not JSON.
    """
    try:
        if len(raw) <= _MAX_ODD:
            return read_value(raw)
        return msgspec.json.decode(raw)
    except RecursionError:
        return _shallow(raw)
    except ValueError as error:
        fault = _unreadable(error)
    if len(raw) > _MAX_ODD:  # Python's own decoder reads what is odd, and holds up all threads meanwhile
        return _shallow(raw)
    raise fault


def _shallow(raw: bytes) -> TooDeep:
    """Return one level of a record that is too deep for a recursive reader, as a user's metadata may be."""
    record = TooDeep()
    if raw.lstrip()[:1] == b"{":
        for name, value in members(raw).items():
            if value[:1] not in (b"[", b"{") and len(value) <= _MAX_ODD:
                record[name] = read_record(value)
    return record


def members(body: bytes | Raw) -> dict[str, bytes]:
    """Return the members of an object, each as its exact bytes; of two members of one name the last.

    Raises `ReplyUnreadableError` for a body that is not a JSON object.
    """
    try:
        return {name: bytes(raw) for name, raw in _MEMBERS.decode(body).items()}
    except REFUSED:
        pass
    body = bytes(body).removeprefix(BOM)
    if (first := body.lstrip(b" \t\r\n")[:1]) not in (b"", b"{"):
        with suppress(*REFUSED):
            _VALUE.decode(body)
            raise ReplyUnreadableError(f"expected an object, got {_TYPES.get(first, 'number')}")
    return dict(_scanned(body, b"{", b"}"))


def elements(array: bytes) -> list[bytes]:
    """Return the elements of an array, each as its exact bytes.

    Raises `ReplyUnreadableError` if it is no array, or has more elements than a list may have.
    """
    try:
        raws: Sequence[bytes | Raw] = _ELEMENTS.decode(array)
    except REFUSED:
        raws = [raw for _, raw in _scanned(array, b"[", b"]", MAX_RECORDS + 1)]
    check_records(len(raws))
    return list(map(bytes, raws))


def _scanned(body: bytes, opening: bytes, closing: bytes, most: int | None = None) -> list[tuple[str, bytes]]:
    try:
        return list(islice(_parts(body, opening, closing), most))
    except (ValueError, IndexError, RecursionError) as error:
        fault = _unreadable(error)
    raise fault


def _parts(body: bytes, opening: bytes, closing: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an object, or the elements of an array, under the name ""."""
    at, name = _after(body, 0, opening), ""
    while body[at : at + 1] != closing:
        if opening == b"{":
            if body[at] != _QUOTE:
                raise ValueError(f"expected a name at byte {at}")
            end = _string_end(body, at)
            name, at = str(read_value(body[at:end])), _after(body, end, b":")
        end = _end_of(body, at)
        yield name, body[at:end]
        at = _skip(body, end)
        if body[at : at + 1] != closing:
            at = _after(body, at, b",")
            if body[at : at + 1] == closing:
                raise ValueError(f"expected a value at byte {at}")
    if _skip(body, at + 1) != len(body):
        raise ValueError("text after the end")


def _end_of(body: bytes, at: int) -> int:
    if body[at] == _QUOTE:
        return _string_end(body, at)
    if body[at] not in b"[{":
        if (scalar := _SCALAR.match(body, at)) is None:
            raise ValueError(f"expected a value at byte {at}")
        return scalar.end()
    depth, at = 1, at + 1
    while True:
        match = _TO_BRACKETS.match(body, at, at + _SLICE)
        first, at = match.span(1) if match[1] else (match.end(), match.end())  # type: ignore[union-attr, index]
        if body[first] == _QUOTE:  # a text that is longer than a slice
            at = _string_end(body, first)
        elif body[first] in b"[{":
            depth += at - first
        elif at - first < depth:
            depth -= at - first
        else:
            return first + depth


def _string_end(body: bytes, at: int) -> int:
    begin, at = at, at + 1
    while begin < at:
        begin, at = at, _INSIDE.match(body, at, at + _SLICE).end()  # type: ignore[union-attr]
    if body[at] != _QUOTE:
        raise IndexError
    return at + 1


def _skip(body: bytes, at: int) -> int:
    return _SPACE.match(body, at).end()  # type: ignore[union-attr]


def _after(body: bytes, at: int, char: bytes) -> int:
    """Return the index after `char`, which must come next, and after the spaces around it."""
    at = _skip(body, at)
    if body[at] != char[0]:
        raise ValueError(f"expected {char.decode()!r} at byte {at}")
    return _skip(body, at + 1)


def _unreadable(error: Exception) -> ReplyUnreadableError:
    text = f"the body is not JSON: {error}"
    if isinstance(error, RecursionError):
        text = "the body's JSON is nested too deeply to be read"
    elif isinstance(error, IndexError):
        text = "the body's JSON is cut off"
    return ReplyUnreadableError(text, is_json=False)
