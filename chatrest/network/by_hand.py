"""Calls of operations without an endpoint: any method and path, as a `Call`."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ..core.replies.decode import read_json
from ..core.requests.arguments import check_unquoted
from ..core.requests.endpoint import Call, Endpoint, Interface, Method, Replay, any_path, is_mapping

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_REPLAY: Final[Mapping[Method, Replay]] = {"GET": "safe", "PUT": "idempotent", "DELETE": "idempotent"}
_WORD: Final = re.compile(r"[A-Za-z0-9_-]+")


def call_by_hand(
    method: Method, path: str, query: Mapping[str, Any] | None, json: Any, interface: Interface
) -> Call[Any]:
    """Return the call of an operation that has no endpoint; `RequestInvalidError` if an argument is wrong.

    GET, PUT and DELETE are repeated, POST and PATCH only if they were certainly not processed.
    """
    if method not in _METHODS:
        check_unquoted(False, "method", method, ", ".join(_METHODS))
    if query is not None:
        check_unquoted(is_mapping(query), "query", query, "a mapping with text keys, or None")
    quoted = any_path(path)
    return Call(_endpoint(method, _template(quoted), interface), quoted, query, json)


@lru_cache(256)
def _endpoint(method: Method, template: str, interface: Interface) -> Endpoint[Any]:
    return Endpoint(
        f"{method} {template}",
        method,
        template,
        read_json,
        _REPLAY.get(method, "never"),
        acting="never" if interface == "management" else "optional",
        interface=interface,
    )


def _template(path: str) -> str:
    """Return the path as errors and records show it: the first segment only, as others may hold uids."""
    first, slash, _ = path[1:].partition("/")
    if not _WORD.fullmatch(first):
        return "/…"
    return f"/{first}/…" if slash else path
