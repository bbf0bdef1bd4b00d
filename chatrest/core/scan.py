"""The patient way's first half: any JSON that Python can read, with each record's exact bytes.

The fast decoder refuses a whole page for one lone surrogate, a NaN, a byte that is not UTF-8 or a byte
order mark. Here the page is read with the standard library's scanner, which takes all of these, and the
members of the top-level `data` array come with the very bytes that they were served as.
"""

import json
import re
from typing import Any

from ..errors import ReplyUnreadableError

_SPACE = re.compile(r"[ \t\n\r]*")
_JSON = json.JSONDecoder()
_BOM = "\ufeff"


def text_of(body: bytes) -> str:
    """The body as text; what is not UTF-8 becomes surrogates, from which `bytes_of` gives it back."""
    return body.decode("utf-8", "surrogateescape").removeprefix(_BOM)


def bytes_of(text: str) -> bytes:
    """The bytes that `text_of` read this text from."""
    return text.encode("utf-8", "surrogateescape")


def whole(body: bytes) -> Any:
    """The body's JSON as Python objects, None for an empty body."""
    text = text_of(body).strip()
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None


def envelope(body: bytes) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    """A reply's top-level members, and the records of its `data`, each with its bytes.

    An object in the place of the array is one record; what is neither is none. Raises
    `ReplyUnreadableError` where the body is not a JSON object.
    """
    try:
        return _envelope(text_of(body))
    except (ValueError, IndexError, RecursionError) as error:
        raise _unreadable(error) from None


def _envelope(text: str) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    members: dict[str, Any] = {}
    records: list[tuple[Any, bytes]] = []
    at = _expect(text, 0, "{")
    while text[at] != "}":
        name, at = _JSON.raw_decode(text, at)
        start = _expect(text, at, ":")
        members[name], at = _JSON.raw_decode(text, start)
        if name == "data":
            records = _records(text, start, at)
        at = _comma(text, at, "}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("text after the end")
    return members, records


def _records(text: str, start: int, end: int) -> list[tuple[Any, bytes]]:
    if text[start] == "[":
        return _elements(text, start)
    return [(_JSON.raw_decode(text, start)[0], bytes_of(text[start:end]))] if text[start] == "{" else []


def _elements(text: str, at: int) -> list[tuple[Any, bytes]]:
    found: list[tuple[Any, bytes]] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _JSON.raw_decode(text, at)
        found.append((value, bytes_of(text[at:end])))
        at = _comma(text, end, "]")
    return found


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _expect(text: str, at: int, char: str) -> int:
    at = _skip(text, at)
    if text[at] != char:
        raise ValueError(f"expected {char!r} at character {at}")
    return _skip(text, at + 1)


def _comma(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    if text[at] == closing:
        return at
    at = _expect(text, at, ",")
    if text[at] == closing:
        raise ValueError(f"expected a value at character {at}")
    return at


def _unreadable(error: Exception) -> ReplyUnreadableError:
    if isinstance(error, RecursionError):
        return ReplyUnreadableError("the reply's JSON is nested too deeply to be read")
    if isinstance(error, IndexError):
        return ReplyUnreadableError("the reply's JSON is cut off")
    return ReplyUnreadableError(f"the reply is not JSON: {error}")
