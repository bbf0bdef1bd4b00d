"""JSON as Python objects, however odd its bytes.

What a strict decoder refuses is read by the standard library.

A user may write a lone surrogate or NaN into the metadata of a message, and a service may send bytes that are
not UTF-8: none of these may keep a record from being read.
"""

import json
import re
from typing import Any, Final

import msgspec

REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of a strict decoder for a body that it does not take."""
_BOM: Final = "\ufeff"
_LONGEST_NUMBER: Final = 4300
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def _whole_number(digits: str) -> int | str:
    """Python refuses to read longer numbers, for it takes too long: they stay text."""
    return int(digits) if len(digits) < _LONGEST_NUMBER else digits


_LENIENT: Final = json.JSONDecoder(parse_int=_whole_number)


def text_of(body: bytes) -> str:
    """Return the body as text; what is not UTF-8 becomes surrogates, of which `bytes_of` makes it again."""
    return body.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def bytes_of(text: str) -> bytes:
    """Return the bytes that `text_of` made this text of; any other half of a surrogate pair is escaped."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def read_value(raw: bytes) -> Any:
    """Return a JSON value as Python objects; ValueError for what is none, RecursionError for what is nested
    too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _LENIENT.decode(text_of(raw))


def write_value(value: Any) -> bytes:
    """Return `value` as JSON that `read_value` reads again, also where it holds surrogates, NaN or infinity.

    TypeError for what JSON cannot hold.
    """
    try:
        raw = msgspec.json.encode(value)
        if b"null" not in raw or _same(raw, value):
            return raw
    except (UnicodeEncodeError, OverflowError):
        pass
    return json.dumps(_builtins(value), separators=(",", ":")).encode()


def _same(raw: bytes, value: Any) -> bool:
    """Return whether no number became null: msgspec writes null for NaN and infinity."""
    try:
        json.dumps(_builtins(value), allow_nan=False)
    except ValueError:
        return False
    return True


def _builtins(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True)
