"""The data that a site hides: personal data of some kinds, own patterns, names of people, and secrets.

| kind        | hidden is                                                                        |
|-------------|----------------------------------------------------------------------------------|
| e-mail      | an address, also with `%40`, `&#64;`, `(at)` or `[at]` for the @                 |
| phone       | seven to nineteen digits, also between letters of scripts without spaces; on two |
|             | lines where the first begins with 0 or + and is no number in itself              |
| card        | thirteen to nineteen digits with the right checksum, on one line or two          |
| IBAN        | with the right checksum, and what has its form and digits alone, likewise        |
| own pattern | what one of the choice's regular expressions matches                             |
| name        | a name or uid of somebody, with pseudonyms                                       |

Each text of a record is looked through, and each whole number that is no id, time or count of the service.
A text that is percent-encoded, or escaped as JSON is, is looked through as what it stands for, too.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from html import unescape
from itertools import count
from string import ascii_uppercase
from typing import Any, Final, TextIO
from urllib.parse import unquote

from .._models.raw_json import read_value, write_value
from .contents import visible
from .pseudonyms import Pseudonyms

_PLAIN: Final = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code not in (0xFF08, 0xFF09)}  # full-width
    | dict.fromkeys([0x9, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
    | dict.fromkeys([*range(0x2010, 0x2016), 0x2043, 0x2212, 0x301C, 0x30FC, 0xFE58, 0xFE63, 0xFF0D], "-")
    | dict.fromkeys([0xB7, 0x3002, 0xFF61], ".")
    | dict.fromkeys([0x61C, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)], "\u00ad")
    | dict.fromkeys([0x34F, 0x180E, *range(0xFE00, 0xFE10), 0xFEFF], "\u00ad")
)
"""One letter for all that look the same; a soft hyphen for those that nobody sees."""
_AT: Final = re.compile(r"@|[(\[{]\s?(?:at|ät)\s?[)\]}]", re.IGNORECASE)
_MAIL: Final = re.compile(
    r"(?:\"[^\"\n]{1,64}\"|[\w.!#$&'*+=?^`|~%\u00ad-]{1,64})"
    r"(?:@(?:\r?\n)?|\s@\s(?!\d)|\s?[(\[{]\s?(?:at|ät)\s?[)\]}]\s?)"
    r"[\w\u00ad-]{1,63}(?:\.\r?\n(?=[a-z]))?(?:(?:\.|(?<=\n)|\s?[(\[{]\s?(?:dot|punkt)\s?[)\]}]\s?)[\w\u00ad-]{1,63}){1,8}",
    re.IGNORECASE,
)
# Letters of scripts without spaces may be beside a number, those of Latin may not: it would be a hash. A
# word may be before it, and one or two letters of which the last is in no hash.
_WORD_BEFORE: Final = r"(?<![\dA-Za-z])|(?<=[A-Za-z]{3})(?<![A-Fa-f]{3})"
_LETTERS_BEFORE: Final = r"(?<=\b[G-Zg-z])|(?<=\b[A-Za-z][G-Zg-z])"
_BEFORE: Final = f"(?:{_WORD_BEFORE}|{_LETTERS_BEFORE})"
_BEFORE_PHONE: Final = f"(?:{_WORD_BEFORE}|(?:{_LETTERS_BEFORE})(?=[0+]))"
"""A number after one or two letters may be that of a bill."""
_AFTER: Final = r"(?![\dA-Za-z])"
_IN_LINE: Final = r"[ .\-_\u00ad]|,(?=\d)"
# A line may end in a number, where three digits or letters are on both sides: less is a list of numbers.
_BETWEEN: Final = rf"(?:{_IN_LINE}|(?:(?<=[^\W_]{{3}})|(?<=[^\W_]{{3}}[ \-/.]))\r?\n(?=\+?[^\W_]{{3}}))"
_SECRET: Final = re.compile(rb'("secret"\s*:\s*)"(?:[^"\\]|\\.)*"', re.DOTALL)
"""A member of a record that is a text. To replace it takes a tenth of decoding the record."""
_ESCAPED_LETTER: Final = re.compile(rb"\\u00[4-7]")
"""With which the name of a member can be written otherwise."""
_MANY_DIGITS: Final = re.compile(r"\d(?:\D{0,3}\d){6}")
_DATE: Final = (
    r"(?:\d{4}-\d\d-\d\d|\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)\d{4}|(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d)(?!\d)"
    r"(?:[ T]\d{1,2}(?!\d))?"
)
_PHONE: Final = re.compile(  # a number may come after a date
    rf"{_BEFORE}(?P<date>{_DATE})"
    rf"|{_BEFORE_PHONE}(?<!\d\+)(?:\+|00)?\(?\d(?:(?:[()（）/]|{_IN_LINE}){{0,3}}\d){{6,18}}{_AFTER}"
)
# Less than ten digits on the first line, and no line of digits before or after: that would be a column.
_PHONE_OF_TWO_LINES: Final = re.compile(
    rf"{_BEFORE_PHONE}(?<!\d\n)(?=\(?[0+])\+?\(?\d(?:(?:[()（）/]|{_IN_LINE}){{0,3}}\d){{2,8}}"
    rf"[ \-/.)]?\r?\n\d(?:(?:[()（）/]|{_IN_LINE}){{0,3}}\d){{2,10}}{_AFTER}(?!\r?\n\d)"
)
_CARD: Final = re.compile(rf"{_BEFORE}\d(?:{_BETWEEN}{{0,2}}\d){{12,18}}{_AFTER}")
_IBAN: Final = re.compile(
    rf"{_BEFORE}[A-Z]{{2}}[0-9]{{2}}(?:{_BETWEEN}{{0,2}}[A-Z0-9]){{11,30}}{_AFTER}", re.IGNORECASE | re.ASCII
)
_BASE_36: Final = {ord(letter): str(int(letter, 36)) for letter in ascii_uppercase}
_DIGITS_ALONE: Final = re.compile(
    rf"[A-Z]{{2}}(?:{_BETWEEN}{{0,2}}[0-9]){{13,32}}{_AFTER}", re.IGNORECASE | re.ASCII
)
_CODED: Final = re.compile(r"%[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|&#?\w+;")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_IDS: Final = frozenset({"id", "parentId", "messageId", "muid", "sessionid", "quotedMessageId"})
_NUMBERS: Final = frozenset({"size", "count", "duration", "timestamp", "time"})
_FREE: Final = frozenset({"metadata", "customData", "interactiveData", "tags"})
"""Members that an app fills: nothing in them is an id of the service."""
_OF_A_PERSON: Final = frozenset({"avatar", "link", "statusMessage", "metadata", "tags"})
"""Members beside a uid that say who it is."""
_FACES: Final = frozenset({"avatar", "icon"})
"""Members beside a uid or guid that lead to a picture, which nobody sees where anything is hidden."""
_SHORT: Final = 100
_TEXTS: Final = 20_000
"""Letters and number of texts that are kept: most of a record are names and words that others have, too."""
_UNREADABLE: Final = b'{"redacted":"the record could not be read"}'


class Redaction:
    """Hides what is chosen; `counts` says how often, by kind, since it was last cleared."""

    def __init__(self, *, redact: bool = False, patterns: Iterable[str] = ()) -> None:
        self._redact = redact
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._names: Pseudonyms | None = None
        self._app = ""
        self._cached = lru_cache(_TEXTS)(self._hide_and_count)
        self.counts = Counter[str]()

    def set_names(self, names: Pseudonyms) -> None:
        self._names = names
        self._cached.cache_clear()

    def hide(self, text: str, app: str = "") -> str:
        """Return a text of an app without what is hidden: two apps may have the same names."""
        self._app = app
        return self._hide_any(text)

    def visible_text(self, text: str, app: str) -> str:
        return visible(self.hide(text, app))

    def visible_key(self, app: str, key: str) -> str:
        """Return an id without what is hidden; of many apps with that of the app, as in `shop/ann`."""
        return f"{app}/{self.visible_text(key[len(app) + 1 :], app)}" if app else self.visible_text(key, app)

    def record(self, raw: bytes, app: str = "") -> bytes:
        self._app = app
        try:
            return write_value(self._hide_in_value(read_value(raw)))
        except (ValueError, RecursionError):
            return _UNREADABLE

    # ── texts ──

    def _hide_any(self, text: str) -> str:
        if len(text) > _SHORT:
            return self._hide(text)
        hidden, counts = self._cached(self._app, text)
        if counts:
            self.counts.update(counts)
        return hidden

    def _hide_and_count(self, _: str, text: str) -> tuple[str, Counter[str]]:
        """Return a text without what is hidden, and what that was, which is not added to `counts`."""
        counts, self.counts = self.counts, Counter()
        try:
            return self._hide(text), self.counts
        finally:
            self.counts = counts

    def _hide(self, text: str) -> str:
        if ("%" in text or "\\u" in text or "&" in text) and _CODED.search(text):
            plain = _decoded(_decoded(text))
            if (hidden := self._hide_plain(plain)) != plain:
                return hidden
        return self._hide_plain(text)

    def _hide_plain(self, text: str) -> str:
        if (names := self._names) is None:
            return self._without_data(text)
        names.app = self._app
        if (alias := names.alias_of(text)) is not None:
            self.counts["name"] += 1 + ("_user_" in alias)
            return alias
        parts = names.mentions(text)  # a pseudonym is not looked through again
        hidden = len(parts) // 2
        for position, part in enumerate(parts[::2]):
            parts[2 * position], count = names.hide_names(self._without_data(part))
            hidden += count
        if hidden:
            self.counts["name"] += hidden
        return "".join(parts)

    def _without_data(self, text: str) -> str:
        for pattern in self._patterns:
            text = self._replace_matches(pattern, text, "own pattern", "[hidden]", len)
        return self._without_numbers(text) if self._redact else text

    def _without_numbers(self, text: str) -> str:
        plain = _plain(text)
        if _AT.search(plain):
            text = self._replace_matches(_MAIL, text, "e-mail", "[e-mail]", len)
        if _MANY_DIGITS.search(plain):
            text = self._replace_matches(_IBAN, text, "IBAN", "[IBAN]", _iban_length)
            text = self._replace_matches(_CARD, text, "card", "[card]", _card_length)
            text = self._replace_matches(_PHONE_OF_TWO_LINES, text, "phone", "[phone]", _two_lines_length)
            text = self._replace_matches(_PHONE, text, "phone", "[phone]", _phone_length)
        return text

    def _replace_matches(
        self, pattern: re.Pattern[str], text: str, kind: str, mark: str, length_of: Callable[[str], int]
    ) -> str:
        """Put `mark` in the place of as many letters of each match as `length_of` says."""
        parts, end = list[str](), 0
        for match in pattern.finditer(text if kind == "own pattern" else _plain(text)):
            if length := length_of(match[0]):
                self.counts[kind] += 1
                parts += text[end : match.start()], mark
                end = match.start() + length
        return "".join([*parts, text[end:]])

    # ── records ──

    def _hide_in_value(self, value: Any, name: str = "", is_free: bool = False) -> Any:
        kind = type(value)
        if kind is str:
            is_id = not is_free and name in _IDS and value.isdigit()
            return value if is_id else self._hide_any(value)
        if kind is dict:
            return self._hide_in_members(value, is_free)
        if kind is list:
            return [self._hide_in_value(each, name, is_free) for each in value]
        is_whole = kind is int or (kind is float and value.is_integer())  # others are amounts and positions
        is_known = not is_free and (name in _NUMBERS or name in _IDS or name.endswith("At"))
        if not is_whole or is_known:
            return value
        text = str(int(value))
        hidden = self._hide_any(text)
        return value if hidden == text else hidden

    def _hide_in_members(self, value: dict[str, Any], is_free: bool) -> dict[str, Any]:
        left_out = _FACES if "uid" in value or "guid" in value else frozenset[str]()
        if self._names is not None and "uid" in value:
            left_out = _OF_A_PERSON
        members = dict[str, Any]()
        for name, each in value.items():
            if name not in left_out:
                is_secret = name == "secret"
                inside = (
                    "[secret]" if is_secret else self._hide_in_value(each, name, is_free or name in _FREE)
                )
                members[_unique_name(self._hide_any(name), members)] = inside
        return members


class HiddenLog:
    """A table of what was hidden, for who made the pages: the message, the kind and how often, and no text.

    `totals` are the numbers by kind.
    """

    def __init__(self, file: TextIO) -> None:
        self._table = csv.writer(file)
        self._table.writerow(("page", "message", "kind", "count"))
        self.totals = Counter[str]()

    def add(self, page: str, id: str, counts: Mapping[str, int]) -> None:
        self.totals.update(counts)
        self._table.writerows((page, id, kind, counts[kind]) for kind in sorted(counts))


def without_secrets(raw: bytes) -> bytes:
    """Return a record without the secret of a call's channel: who has it can join the call."""
    is_escaped = b"\\" in raw and _ESCAPED_LETTER.search(raw) is not None
    if not is_escaped and b"wsChannel" not in raw:
        return raw
    hidden, count = _SECRET.subn(rb'\1"[secret]"', raw)
    if count == raw.count(b"secret") and not is_escaped:
        return hidden
    try:
        value = read_value(raw)
        without = _without_secrets(value)
        return raw if without == value else write_value(without)
    except (ValueError, RecursionError):
        return _UNREADABLE


def _without_secrets(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: "[secret]"
                if key == "secret" or (key == "wsChannel" and isinstance(each, str))  # JSON in a text
                else _without_secrets(each)
                for key, each in value.items()
            }
        case list():
            return list(map(_without_secrets, value))
    return value


def _unique_name(name: str, members: Mapping[str, Any]) -> str:
    """Return a member's name, with a number where what is hidden made it that of another one."""
    if name not in members:
        return name
    numbered = (f"{name} {number}" for number in count(2))
    return next(each for each in numbered if each not in members)


def _decoded(text: str) -> str:
    decoded = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), unescape(unquote(text)))
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(text: str) -> str:
    return text.replace("\t", " ") if text.isascii() else text.translate(_PLAIN)


def _phone_length(text: str) -> int:
    match = _PHONE.match(text)
    return len(text) if match is None or match["date"] is None else 0


def _two_lines_length(text: str) -> int:
    return len(text) if len(re.findall(r"\d", text)) >= 7 else 0


def _prefixes(text: str) -> Iterable[tuple[int, str]]:
    """Yield the lengths of beginnings of at most two lines, the longest first, with their letters.

    Each ends where a group does.
    """
    ends = [match.start() for match in re.finditer(_BETWEEN, text)]
    for end in (len(text), *reversed(ends)):
        if text.count("\n", 0, end) < 2:
            yield end, re.sub(_BETWEEN, "", text[:end])


def _card_length(text: str) -> int:
    for length, digits in _prefixes(text):
        doubled = [int(each) * (1 + position % 2) for position, each in enumerate(reversed(digits))]
        is_right = len(digits) >= 13 and sum(each - 9 * (each > 9) for each in doubled) % 10 == 0
        is_likely = "\n" not in text[:length] or digits[0] in "3456"  # one of ten columns is right by chance
        if is_right and is_likely:
            return length
    return 0


def _iban_length(text: str) -> int:
    for length, letters in _prefixes(text):
        digits = (letters[4:] + letters[:4]).upper().translate(_BASE_36)
        if len(letters) >= 15 and int(digits) % 97 == 1:
            return length
    alone = _DIGITS_ALONE.match(text)
    return alone.end() if alone else 0
