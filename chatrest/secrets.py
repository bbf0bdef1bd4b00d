"""Secrets, and how they are hidden: API keys, management secrets, tokens, the secret of a `wsChannel`.

Two tools. `masked` makes a value fit for a repr: what goes under the name of a credential is hidden.
`scrub` takes known secrets out of a text that somebody else wrote: a service's own error message may
repeat the key that it refuses, as it is or escaped for a URL, for HTML or for JSON.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Any, Final

HIDDEN: Final = "[hidden]"
DEEPEST: Final = 50
"""Levels of decoded JSON that are shown; an error's details may be nested as deep as a decoder goes."""
_TOO_DEEP: Final = "[nested too deeply]"
_LONGEST_ESCAPE: Final = 12  # &#x00041; and a few backslashes
_BACKSLASHES: Final = r"(?:\\|u005c|%5c|&#0*92;|&#x0*5c;)*+"

# Names are compared without case, dashes and underscores: apiKey, api_key and apikey are one.
_CREDENTIALS = frozenset({"accesskey", "apikey", "apikeys", "authtoken", "password", "secret", "token"})
_NAMES = "|".join("[-_]*".join(name) for name in sorted(_CREDENTIALS))
# What stands beside a name: a quoted text, a list or an object, or a word. A closing mark may be cut off.
_VALUE = r"""\\*"(?:[^"\\]|\\.)*+"?|\\*'(?:[^'\\]|\\.)*+'?|\[[^\]]*+\]?|\{[^}]*+\}?|[^\s,;&}\]<>]+"""
_ESCAPE = re.compile(r"[%&\\]")
_PAIR = re.compile(
    rf"""((?<![a-z0-9])(?:{_NAMES})[-_]*(?:\\*["'])?\s*[:=]\s*)(?:{_VALUE})""", re.IGNORECASE | re.DOTALL
)


def is_credential(name: str) -> bool:
    """True if a field of this name holds something that must not be shown."""
    return name.replace("_", "").replace("-", "").lower() in _CREDENTIALS


class _Hidden:
    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN


class _Bytes:
    """The size in place of raw bytes: raw JSON may hold anything, a wsChannel secret included."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"<{self.size} bytes>"


def masked(name: str, value: Any) -> Any:
    """`value` as it may be shown under the field name `name`: every credential in it hidden."""
    if value and is_credential(name):
        return _Hidden()
    if isinstance(value, dict):
        return {key: masked(str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked("", item) for item in value)
    return _Bytes(len(value)) if isinstance(value, bytes) else value


def scrub(text: str, secrets: Iterable[str]) -> str:
    """`text` without any of the `secrets`, and without what stands beside a credential's name."""
    known = _known(tuple(secrets), _ESCAPE.search(text) is not None)
    if known is not None:
        text = known.sub(HIDDEN, text)
    return _PAIR.sub(rf"\1{HIDDEN}", text) if ":" in text or "=" in text else text


def scrub_all(value: Any, secrets: Iterable[str], levels: int = DEEPEST) -> Any:
    """Decoded JSON with every text in it scrubbed, and every credential hidden by its name."""
    secrets = tuple(secrets)
    if isinstance(value, str):
        return scrub(value, secrets)
    if not isinstance(value, list | dict):
        return value
    if not levels:
        return _TOO_DEEP
    if isinstance(value, list):
        return [scrub_all(item, secrets, levels - 1) for item in value]
    return {
        scrub(str(k), secrets): HIDDEN if is_credential(str(k)) and v else scrub_all(v, secrets, levels - 1)
        for k, v in value.items()
    }


@lru_cache(64)
def _known(secrets: tuple[str, ...], escaped: bool) -> re.Pattern[str] | None:
    """A pattern that finds any of `secrets`; one that is the beginning of another comes after it."""
    patterns: list[str] = []
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        patterns += [re.escape(secret), _escaped(secret)] if escaped else [re.escape(secret)]
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _escaped(secret: str) -> str:
    """A pattern for `secret` where any of its characters may be escaped for a URL, for HTML or for JSON."""
    # Backslashes may stand before any character, so its own are left out: no text takes long to search.
    return _BACKSLASHES.join(_spellings(char) for char in secret if char != "\\") or re.escape(secret)


def _spellings(char: str) -> str:
    code = ord(char)
    name = escape(char) if escape(char) != char else f"%{code:02x}"
    return rf"(?:{re.escape(char)}|u{code:04x}|%{code:02x}|&#(?:0*{code}|x0*{code:x});|{name})"


def longest(secrets: Iterable[str]) -> int:
    """The most characters that a secret takes in a text, however it is escaped."""
    return max((_LONGEST_ESCAPE * len(secret) for secret in secrets), default=0)


def description(value: object) -> str:
    """A refused argument as its error names it: a number, None or a boolean as it is, else the type alone.

    Where arguments are swapped, the value that is refused is a key.
    """
    if value is None or isinstance(value, bool | int | float):
        return shown(value)
    return f"<{value.__name__}>" if isinstance(value, type) else f"[{type(value).__name__}]"


def shown(value: object) -> str:
    """The repr of a refused value; Python writes none of an integer of more than 4300 digits."""
    try:
        return repr(value)
    except ValueError:
        return f"[{type(value).__name__} too long to be written]"
