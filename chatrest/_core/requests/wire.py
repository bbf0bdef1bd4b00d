"""From a call, a base address and headers to a request: all that a transport needs."""

import re
from collections.abc import Iterator, Mapping
from itertools import count
from math import isfinite
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from ..._parameters.files import File
from ..._secrets import HIDDEN, description
from ...errors import RequestInvalidError
from .encode import encoded, filter_values, query_pairs
from .endpoint import Call, Method

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_OURS = frozenset({
    "accept-encoding", "apikey", "connection", "content-length", "content-type", "host", "key", "onbehalfof",
    "secret", "transfer-encoding",
})  # fmt: skip


class Headers(dict[str, str]):
    """Request headers, credentials among them: no repr shows any."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __rich_repr__(self) -> tuple[str, ...]:
        return (HIDDEN,)


class Request(Struct, frozen=True):
    """A request as it is sent. Its repr shows only method and host: a path may hold a key."""

    method: Method
    url: str
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def host(self) -> str:
        return self.url.split("/", 3)[2]

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.host}>"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("method", self.method), ("host", self.host)]


def request(call: Call[Any], base: str, headers: Headers) -> Request:
    """Return the request of a call; raises `RequestInvalidError` for values that cannot be sent."""
    query = ""
    if call.query is not None or call.position:
        query = encoded(call.query, call.position)
    added: dict[str, str] = {}
    if call.headers is not None:
        added.update(check_headers(dict(query_pairs(call.headers))))
    if call.acting_user is not None:
        added["onBehalfOf"] = call.acting_user
    body: bytes | None = None
    if call.body is not None and call.endpoint.media == "multipart":
        added["Content-Type"], body = form(call.body)
    elif call.body is not None:
        added["Content-Type"] = "application/json"
        body = json_body(call.body)
    sent = Headers(headers, **added) if added else headers
    url = f"{base}{call.path}?{query}" if query else f"{base}{call.path}"
    return Request(call.endpoint.method, url, sent, body)


def with_headers(request: Request, added: Headers) -> Request:
    """Return `request` with those `added` headers that it does not have yet, in upper or lower case."""
    headers = Headers(request.headers)
    names = {name.lower() for name in headers}
    for name, value in added.items():
        if name.lower() not in names:
            names.add(name.lower())
            headers[name] = value
    return structs.replace(request, headers=headers)


def json_body(value: Any) -> bytes:
    """Return `value` as JSON; `RequestInvalidError` for a value that JSON cannot hold."""
    try:
        body = msgspec.json.encode(value)
        if b"null" in body and not _is_finite(value):
            raise ValueError("NaN and Infinity would arrive as null")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise RequestInvalidError(f"the body cannot be sent as JSON: {error}") from None
    return body


def _is_finite(value: Any) -> bool:
    """Return False if a number in `value` is NaN or infinite: msgspec writes null for it."""
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


def form(body: Struct | Mapping[str, Any]) -> tuple[str, bytes]:
    """Return type and bytes of a form (RFC 7578) of a body's members that are neither None nor UNSET.

    A text or number is a part, true and false are written out, a list is a part of the same name for each of
    its items, and an object is JSON. Names are written in UTF-8, as browsers do.
    Raises `RequestInvalidError` for a value that a form cannot hold.
    """
    values = body if isinstance(body, Mapping) else filter_values(body) or {}
    try:
        parts = [part for name, value in values.items() for part in _parts(name, value)]
    except UnicodeEncodeError:
        raise RequestInvalidError("the body cannot be sent as a form: it has a lone surrogate") from None
    content = b"".join(part for head_and_content in parts for part in head_and_content)
    boundary = next(text for number in count() if (text := f"chatrest-{number}").encode() not in content)
    line = f"--{boundary}\r\n".encode()
    pieces = [piece for head, data in parts for piece in (line, head, data, b"\r\n")]
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(pieces)


_IN_QUOTES: Final = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


def _parts(name: str, value: Any) -> Iterator[tuple[bytes, bytes]]:
    head = f'Content-Disposition: form-data; name="{name.translate(_IN_QUOTES)}"'
    if isinstance(value, File):
        head += f'; filename="{value.name.translate(_IN_QUOTES)}"\r\nContent-Type: {value.content_type}'
        yield f"{head}\r\n\r\n".encode(), value.content
        return
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _parts(name, item)
        return
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, Mapping | Struct):
        value = json_body(value).decode()
    elif not isinstance(value, str | int | float):
        raise RequestInvalidError(
            f"{name} = {description(value)}: expected a text, a number, a boolean, a file, "
            "a JSON object, or a list of these",
            name=name,
        )
    yield f"{head}\r\n\r\n".encode(), str(value).encode()


def check_headers(headers: Any) -> Headers:
    """Return the caller's headers; `RequestInvalidError` for a wrong one, which shows its number alone.

    A name may be a key, too, where a caller has confused the two.
    """
    if headers is None:
        return Headers()
    if not isinstance(headers, Mapping):
        kind = type(headers).__name__
        raise RequestInvalidError(f"headers: expected a mapping, not {kind}", name="headers")
    for number, (name, value) in enumerate(headers.items(), 1):
        if fault := _header_fault(number, name, value):
            raise RequestInvalidError(f"headers: {fault}", name="headers")
    return Headers(headers)


def _header_fault(number: int, name: object, value: object) -> str:
    """Return what is wrong with a header, without its name and value; "" for nothing."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"the name of header {number}: expected letters, digits and any of !#$%&'*+-.^_`|~"
    if name.lower() in _OURS:
        return f"chatrest writes the header {name!r} itself"
    is_sendable = isinstance(value, str) and _VALUE.fullmatch(value)
    return "" if is_sendable else f"the value of header {number}: expected a text without control characters"
