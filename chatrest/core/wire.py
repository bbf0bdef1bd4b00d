"""From a call and an app to a request: address, headers, body. What a transport needs and no more."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import RequestInvalidError
from .encode import Arrays, query_pairs, query_string
from .endpoint import Call, Method

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_OURS = frozenset({
    "accept-encoding", "apikey", "connection", "content-length", "content-type", "host", "key", "onbehalfof",
    "secret", "transfer-encoding",
})  # fmt: skip


class Request(Struct, frozen=True):
    """What goes over the wire. The headers hold the key, so method and address alone are shown."""

    method: Method
    url: str
    headers: dict[str, str]
    body: bytes | None

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url}>"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        """For rich, which would else ask every field of a struct."""
        return [("method", self.method), ("url", self.url)]


def request(call: Call[Any], base: str, headers: Mapping[str, str], arrays: Arrays) -> Request:
    """The request of `call` below `base`; `headers` hold the credentials already."""
    query = ""
    if call.query is not None or call.position:
        query = query_string(query_pairs(call.query, arrays), call.position)
    sent = {**headers, **dict(call.endpoint.headers)} if call.endpoint.headers else dict(headers)
    if call.acting_user is not None:
        sent["onBehalfOf"] = call.acting_user
    body = None
    if call.body is not None:
        sent["Content-Type"] = "application/json"
        body = json_body(call.body)
    url = f"{base}{call.path}?{query}" if query else f"{base}{call.path}"
    return Request(call.endpoint.method, url, sent, body)


def json_body(value: Any) -> bytes:
    """`value` as JSON; `RequestInvalidError` where JSON cannot hold it."""
    try:
        body = msgspec.json.encode(value)
        if b"null" in body and not _is_finite(value):
            raise ValueError("NaN and Infinity would arrive as null")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise RequestInvalidError(f"the body cannot be sent as JSON: {error}") from None
    return body


def _is_finite(value: Any) -> bool:
    """Whether every number in `value` is one that JSON has: msgspec writes the others as null."""
    waiting = [msgspec.to_builtins(value, enc_hook=lambda _: None)]  # such as Raw: it is JSON already
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += each
        elif isinstance(each, float) and not isfinite(each):
            return False
    return True


def check_headers(headers: object) -> dict[str, str]:
    """Extra headers of the caller's: well-formed, and none of those that chatrest writes itself."""
    if headers is None:
        return {}
    if not isinstance(headers, Mapping):
        raise RequestInvalidError(f"headers: allowed is a mapping, not {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise RequestInvalidError(f"header {name!r}: allowed are letters, digits and -")
        if name.lower() in _OURS:
            raise RequestInvalidError(f"header {name!r}: chatrest writes it itself, it cannot be given")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise RequestInvalidError(f"header {name!r}: allowed is a text without control characters")
    return dict(headers)
