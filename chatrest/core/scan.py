"""The patient way's first half: any JSON that Python can read, with each record's exact bytes.

The fast decoder refuses a whole page for one lone surrogate, a NaN, a byte that is not UTF-8 or a byte
order mark. Here the page is read with the standard library's scanner, which takes all of these, and the
members of the top-level `data` array come with the very bytes that they were served as.
"""

import json
import re
from typing import Any, final

from ..errors import ReplyUnreadableError

_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_LONGEST_NUMBER = 4300


def _whole_number(digits: str) -> int | str:
    """Python refuses to read longer numbers, for it takes too long: they stay text."""
    return int(digits) if len(digits) < _LONGEST_NUMBER else digits


_JSON = json.JSONDecoder(parse_int=_whole_number)
_BOM = "\ufeff"


@final
class TooDeep(dict[str, Any]):
    """A record that is nested too deeply to be read: those of its members that are no arrays or objects."""


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
        return _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        fault = _unreadable(error)
    raise fault  # outside: the standard library's error holds the whole text


def envelope(body: bytes) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    """A reply's top-level members, and the records of its `data`, each with its bytes.

    An object in the place of the array is one record; what is neither is none. A record that is nested
    too deeply is a `TooDeep`. Raises `ReplyUnreadableError` where the body is not a JSON object.
    """
    try:
        return _envelope(text_of(body))
    except (ValueError, IndexError, RecursionError) as error:
        fault = _unreadable(error)
    raise fault


def _envelope(text: str) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    members: dict[str, Any] = {}
    records: list[tuple[Any, bytes]] = []
    at = _expect(text, 0, "{")
    while text[at] != "}":
        name, at = _name(text, at)
        if name == "data" and text[at] == "[":
            records, at = _elements(text, at)
            members[name] = [record for record, _ in records]
        else:
            start = at
            members[name], at = _record(text, at)
            if name == "data":
                records = [(members[name], bytes_of(text[start:at]))] if text[start] == "{" else []
        at = _comma(text, at, "}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("text after the end")
    return members, records


def _elements(text: str, at: int) -> tuple[list[tuple[Any, bytes]], int]:
    found: list[tuple[Any, bytes]] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        record, end = _record(text, at)
        found.append((record, bytes_of(text[at:end])))
        at = _comma(text, end, "]")
    return found, at + 1


def _record(text: str, at: int) -> tuple[Any, int]:
    try:
        return _JSON.raw_decode(text, at)
    except RecursionError:
        return _shallow(text, at)


def _shallow(text: str, at: int) -> tuple[TooDeep, int]:
    """One level of what is too deep for a recursive reader: anybody may write such metadata."""
    found = TooDeep()
    if text[at] != "{":
        return found, _closing(text, at)
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _name(text, at)
        if text[at] in "[{":
            at = _closing(text, at)
        else:
            found[name], at = _JSON.raw_decode(text, at)
        at = _comma(text, at, "}")
    return found, at + 1


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`, found without recursion."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end()
    raise IndexError


def _name(text: str, at: int) -> tuple[str, int]:
    """A member's name, and where its value begins."""
    if text[at] != '"':
        raise ValueError(f"expected a member's name at character {at}")
    name, at = _JSON.raw_decode(text, at)
    return name, _expect(text, at, ":")


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
