"""From a call and an app to a request: address, headers, body. What a transport needs and no more."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from ..._secrets import HIDDEN
from ...errors import RequestInvalidError
from .encode import Arrays, encoded, query_pairs
from .endpoint import Call, Method
from .form import Form, form

LOGIN_HEADER: Final = "authToken"
"""The header of a user's login token, in place of the app's key."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_OURS = frozenset({
    "accept-encoding", "apikey", "connection", "content-length", "content-type", "host", "key", "onbehalfof",
    "secret", "transfer-encoding",
})  # fmt: skip


class Headers(dict[str, str]):
    """Request headers: the credentials are among them, and no repr shows them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__


class Request(Struct, frozen=True):
    """A request as it goes over the wire. Only its method and host are shown: a path may hold a key."""

    method: Method
    url: str
    headers: Mapping[str, str]
    body: bytes | Form | None
    """Bytes, or a form whose files are opened when it is sent."""

    @property
    def host(self) -> str:
        """Host and port, as they are in the address."""
        return self.url.split("/", 3)[2]

    @property
    def is_spent(self) -> bool:
        """True for a body with a file that has been read and cannot be rewound: it cannot be sent again."""
        return isinstance(self.body, Form) and self.body.is_spent

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.host}>"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        """Fields for rich, which would else show every one of a struct."""
        return [("method", self.method), ("host", self.host)]


def request(call: Call[Any], base: str, headers: Headers, arrays: Arrays) -> Request:
    """The request of `call` below the address `base`; `headers` hold the credentials already."""
    query = ""
    if call.query is not None or call.position:
        query = encoded(call.query, call.position, arrays)
    added: dict[str, str] = {}
    if call.headers is not None:
        added.update(check_headers(dict(query_pairs(call.headers, "comma"))))
    if call.acting_user is not None and LOGIN_HEADER not in headers:
        added["onBehalfOf"] = call.acting_user
    body: bytes | Form | None = None
    if call.body is not None and call.endpoint.media == "multipart":
        body = form(call.body)
    elif call.body is not None:
        added["Content-Type"] = "application/json"
        body = json_body(call.body)
    sent = Headers(headers, **added) if added else headers
    url = f"{base}{call.path}?{query}" if query else f"{base}{call.path}"
    return Request(call.endpoint.method, url, sent, body)


def with_headers(request: Request, added: Headers) -> Request:
    """Return `request` with those of `added` that it does not have yet, in upper or lower case."""
    headers = Headers(request.headers)
    names = {name.lower() for name in headers}
    for name, value in added.items():
        if name.lower() not in names:
            names.add(name.lower())
            headers[name] = value
    return structs.replace(request, headers=headers)


def json_body(value: Any) -> bytes:
    """Encode `value` as JSON; `RequestInvalidError` where JSON cannot hold it."""
    try:
        body = msgspec.json.encode(value)
        if b"null" in body and not _is_finite(value):
            raise ValueError("NaN and Infinity would arrive as null")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise RequestInvalidError(f"the body cannot be sent as JSON: {error}") from None
    return body


def _is_finite(value: Any) -> bool:
    """True if every number in `value` is one that JSON has: msgspec writes the others as null."""
    values = [msgspec.to_builtins(value, enc_hook=lambda _: None)]  # such as Raw: it is JSON already
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            values += value
        elif isinstance(value, float) and not isfinite(value):
            return False
    return True


def check_headers(headers: object) -> Headers:
    """Return extra headers of the caller's: well-formed, and none of those that chatrest writes itself.

    The error repeats neither a name nor a value: where the two are swapped, the name is the secret.
    """
    if headers is None:
        return Headers()
    if not isinstance(headers, Mapping):
        raise RequestInvalidError(f"headers: expected a mapping, not {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise RequestInvalidError("headers: a header's name may hold letters, digits and - alone")
        if name.lower() in _OURS:
            raise RequestInvalidError(f"headers: chatrest writes the header {name!r} itself")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise RequestInvalidError("headers: a header's value is a text without control characters")
    return Headers(headers)
