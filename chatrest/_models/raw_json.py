"""JSON as Python objects, also for invalid JSON that the strict decoder rejects.

Users may write a lone surrogate or NaN into the metadata of a message, and a service may send bytes that are
not UTF-8. Such records are read by the standard library's decoder.
"""

import json
import re
from typing import Any, Final

import msgspec

REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that the strict decoder raises."""
_BOM: Final = "\ufeff"
_MAX_NUMBER: Final = 4300
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def _whole_number(digits: str) -> int | str:
    """Return the number, or the digits as text if Python refuses to convert so many."""
    return int(digits) if len(digits) < _MAX_NUMBER else digits


_LENIENT: Final = json.JSONDecoder(parse_int=_whole_number)


def text_of_bytes(body: bytes) -> str:
    """Return the body as text; bytes that are not UTF-8 become surrogates, which `bytes_of` converts back."""
    return body.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def bytes_of(text: str) -> bytes:
    """Return the bytes from which `text_of_bytes` made `text`; any other lone surrogate is escaped."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def read_value(raw: bytes) -> Any:
    """Return a JSON value as Python objects.

    Raises ValueError if it is not JSON, RecursionError if it is nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _LENIENT.decode(text_of_bytes(raw))


def write_value(value: Any) -> bytes:
    """Return `value` as JSON that `read_value` can read, also with surrogates, NaN or infinity.

    Raises TypeError for an object that JSON cannot express.
    """
    try:
        raw = msgspec.json.encode(value)
        if b"null" not in raw or _same(raw, value):
            return raw
    except (UnicodeEncodeError, OverflowError):
        pass
    return json.dumps(_builtins(value), separators=(",", ":")).encode()


def _same(raw: bytes, value: Any) -> bool:
    """Return True if no number became null: msgspec writes null for NaN and infinity."""
    try:
        json.dumps(_builtins(value), allow_nan=False)
    except ValueError:
        return False
    return True


def _builtins(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True)
