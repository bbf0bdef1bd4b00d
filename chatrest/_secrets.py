"""Hiding of secrets: API keys, management secrets, tokens, the secret of a `wsChannel`.

`for_repr` prepares a value for a repr: it hides values with the name of a credential. `scrub` removes known
secrets from a text of the service, whose error message may contain the rejected key, plain or escaped for a
URL, for HTML or for JSON.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from typing import Any, Final

HIDDEN: Final = "[hidden]"
DEEPEST: Final = 50
"""The number of levels of decoded JSON that are shown, as error details may be nested very deeply."""
TOO_DEEP: Final = "[nested too deeply]"
_MAX_ESCAPE: Final = 12  # `&#x00041;` and a few backslashes
_BACKSLASHES: Final = r"(?:\\|u005c|%5c|&#0*92;|&#x0*5c;)*+"

# Names are compared without case, dashes and underscores: apiKey, api_key and apikey are equal.
_CREDENTIALS = frozenset({
    "accesskey", "apikey", "apikeys", "authmeta", "authtoken", "basicauthpassword", "devicetoken", "fcmtoken",
    "p8key", "password", "presignedurl", "privatekey", "pushtoken", "secret", "sendgridapikey", "token",
    "twilioauthtoken", "voiptoken",
})  # fmt: skip
_NAMES = "|".join("[-_]*".join(name) for name in sorted(_CREDENTIALS))
# The value of a name: a quoted text, a list, an object, or a word; its closing character may be cut off.
_VALUE = r"""\\*"(?:[^"\\]|\\.)*+"?|\\*'(?:[^'\\]|\\.)*+'?|\[[^\]]*+\]?|\{[^}]*+\}?|[^\s,;&}\]<>]+"""
_JSON_STARTS: Final = frozenset('{["')
"""The first characters of texts that may hold a credential's name; `"` is that of JSON written twice."""
_SIGNS: Final = (b"key", b"token", b"secret", b"password", b"auth", b"presigned", b"\\u")
"""One of them is in the JSON of every object with a credential."""
_ESCAPE = re.compile(r"[%&\\]")
_PAIR = re.compile(
    rf"""((?<![a-z0-9])(?:{_NAMES})[-_]*(?:\\*["'])?\s*[:=]\s*)(?:{_VALUE})""", re.IGNORECASE | re.DOTALL
)


def is_credential(name: str) -> bool:
    return name.replace("_", "").replace("-", "").lower() in _CREDENTIALS


def credential_values(value: Any, levels: int = DEEPEST, *, is_secret: bool = False) -> Iterator[str]:
    """Yield the texts under the names of credentials in decoded JSON."""
    if isinstance(value, str) and is_secret:
        yield value
    elif isinstance(value, dict | list | tuple) and levels:
        for name, item in value.items() if isinstance(value, dict) else (("", item) for item in value):
            hidden = is_secret or is_credential(str(name))
            yield from credential_values(item, levels - 1, is_secret=hidden)


class _Placeholder:
    """The text that a repr shows instead of a value."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def for_repr(name: str, value: Any, levels: int = DEEPEST) -> Any:
    """Return `value` of the field `name` for a repr, with every credential in it hidden."""
    if value and is_credential(name):
        return _Placeholder(HIDDEN)
    if isinstance(value, dict | list | tuple) and not levels:
        return _Placeholder(TOO_DEEP)
    if isinstance(value, dict):
        return {key: for_repr(str(key), item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(for_repr("", item, levels - 1) for item in value)
    if isinstance(value, str) and value.lstrip()[:1] in _JSON_STARTS:
        return value if (text := scrub(value, ())) == value else text
    # Of raw bytes the size, as raw JSON may contain a secret.
    return _Placeholder(f"<{len(value)} bytes>") if isinstance(value, bytes) else value


class GuardedDict(dict[str, Any]):
    """A JSON object with credentials: a dict whose repr hides them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr({key: for_repr(key, item) for key, item in self.items()})

    __str__ = __repr__


def hide_in_repr(value: Any, raw: bytes) -> Any:
    """Return decoded JSON, with a `GuardedDict` for each object if `raw` may have a credential."""
    lower = raw.lower()  # no pattern, which holds up all threads for seconds in a large record
    return _guard_objects(value, DEEPEST) if any(sign in lower for sign in _SIGNS) else value


def _guard_objects(value: Any, levels: int) -> Any:
    if levels and isinstance(value, list):
        return [_guard_objects(item, levels - 1) for item in value]
    if levels and isinstance(value, dict):
        return GuardedDict({name: _guard_objects(item, levels - 1) for name, item in value.items()})
    return value


def repr_fields(owner: Any, pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the fields of a struct for a repr, with credentials and all of its `hidden_fields` hidden."""
    hidden: frozenset[str] = owner.hidden_fields
    return [
        (name, _Placeholder(HIDDEN) if value and name in hidden else for_repr(name, value))
        for name, value in pairs
    ]


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with `secrets` and the values of credential names hidden."""
    pattern = _pattern_of(tuple(secrets), _ESCAPE.search(text) is not None)
    if pattern is not None:
        text = pattern.sub(HIDDEN, text)
    return _PAIR.sub(rf"\1{HIDDEN}", text) if ":" in text or "=" in text else text


def scrub_all(value: Any, secrets: Iterable[str], levels: int = DEEPEST) -> Any:
    """Return decoded JSON with all texts scrubbed and all credentials hidden, down to `levels` levels."""
    secrets = tuple(secrets)
    if isinstance(value, str):
        return scrub(value, secrets)
    if not isinstance(value, list | dict):
        return value
    if not levels:
        return TOO_DEEP
    if isinstance(value, list):
        return [scrub_all(item, secrets, levels - 1) for item in value]
    return {
        scrub(str(k), secrets): HIDDEN if is_credential(str(k)) and v else scrub_all(v, secrets, levels - 1)
        for k, v in value.items()
    }


@lru_cache(64)
def _pattern_of(secrets: tuple[str, ...], escaped: bool) -> re.Pattern[str] | None:
    patterns: list[str] = []
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        patterns.append(re.escape(secret))
        # Any character may follow backslashes, so those of the secret are left out: the search stays fast.
        if escaped and (spellings := [_spellings(char) for char in secret if char != "\\"]):
            patterns.append(_BACKSLASHES.join(spellings))
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _spellings(char: str) -> str:
    code = ord(char)
    name = escape(char) if escape(char) != char else f"%{code:02x}"
    return rf"(?:{re.escape(char)}|u{code:04x}|%{code:02x}|&#(?:0*{code}|x0*{code:x});|{name})"


def longest_spelling(secrets: Iterable[str]) -> int:
    """Return the largest number of characters that an escaped secret can have in a text."""
    return max((_MAX_ESCAPE * len(secret) for secret in secrets), default=0)


def description(value: object) -> str:
    """Return a number, None or a boolean as it is, else only the type of an argument: it may be a key."""
    if value is None or isinstance(value, bool | int | float):
        return repr_of(value)
    return f"<{value.__name__}>" if isinstance(value, type) else f"[{type(value).__name__}]"


def repr_of(value: object) -> str:
    """Return the repr of a wrong value; of an integer with more than 4300 digits, only its type."""
    try:
        return repr(value)
    except ValueError:
        return f"[{type(value).__name__} too long to be written]"
