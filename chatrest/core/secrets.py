"""What is never shown: API keys, management secrets, tokens, the secret of a call's `wsChannel`.

Two tools. `masked` makes a value fit for a repr: what goes under the name of a credential is hidden.
`scrub` takes known secrets out of a text that somebody else wrote: a service's own error message may
repeat the key that it refuses.
"""

import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "[hidden]"

# Names are compared without case, dashes and underscores: apiKey, api_key and apikey are one.
_CREDENTIALS = frozenset({"accesskey", "apikey", "apikeys", "authtoken", "password", "secret", "token"})
_PAIR = re.compile(
    r"""(["']?\b(?:api_?-?keys?|auth_?-?token|password|secret)["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;&}\]<>]+)""",
    re.IGNORECASE,
)


def is_credential(name: str) -> bool:
    """Whether a field of this name holds something that must not be shown."""
    return name.replace("_", "").replace("-", "").lower() in _CREDENTIALS


class _Hidden:
    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN


class _Bytes:
    """Stands for raw bytes: raw JSON may hold anything, a wsChannel secret included."""

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
    for secret in secrets:
        if secret:
            text = re.sub(re.escape(secret), HIDDEN, text, flags=re.IGNORECASE)
    return _PAIR.sub(lambda found: found.group(1) + HIDDEN, text)


def scrub_all(value: Any, secrets: Iterable[str]) -> Any:
    """Decoded JSON with every text in it scrubbed, and every credential hidden by its name."""
    secrets = tuple(secrets)
    if isinstance(value, str):
        return scrub(value, secrets)
    if isinstance(value, list):
        return [scrub_all(item, secrets) for item in value]
    if isinstance(value, dict):
        return {
            scrub(str(k), secrets): HIDDEN if is_credential(str(k)) and v else scrub_all(v, secrets)
            for k, v in value.items()
        }
    return value
