"""The credentials in one call: its error must not show them where the service repeats them in prose.

They are looked for only when a call has failed.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from ..core.requests.endpoint import Call
from ..core.requests.form import Form
from ..secrets import credential_values, is_credential

_LEAST_SECRET: Final = 4
_COLLECTIONS: Final = frozenset({"apikeys", "auth_tokens", "tokens"})
"""Segments of a path that have a credential after them."""


def credentials_of(call: Call[Any]) -> tuple[str, ...]:
    """Return the credentials in the path, query, body and headers of a call, by their members' names."""
    values = {*_in_path(call.endpoint.path, call.path)}
    for part in (call.query, call.body, call.headers):
        if part is not None and not isinstance(part, Form):
            values.update(credential_values(msgspec.to_builtins(part, enc_hook=str)))
    return tuple(value for value in values if len(value) >= _LEAST_SECRET)


def _in_path(template: str, path: str) -> Iterator[str]:
    segments = path.split("/")
    for name, segment in zip(template.split("/"), segments, strict=False):
        if name.startswith("{") and is_credential(name.strip("{}")):
            yield unquote(segment)
    for collection, segment in pairwise(segments):  # a call by hand has no template
        if collection in _COLLECTIONS:
            yield unquote(segment)
