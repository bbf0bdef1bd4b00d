"""A reply becomes a result or an error; it also shows the rate limit, and another acting user.

A decode of msgspec keeps the interpreter's lock, so a thread does not help against a long one; its time is
bounded by `_core.replies.bounds`. What is read record by record is Python code, which gives way to the event
loop every few milliseconds when it runs in a thread. A deadline or a cancel does not wait for that thread.

The error of a call must not show the call's own credentials where the service repeats them in prose. They are
looked for only when a call has failed.
"""

import gc
import time
from asyncio import to_thread
from collections.abc import Callable, Iterator
from itertools import pairwise
from threading import Lock
from typing import Any, Final, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import structs

from .._core.replies.bounds import STRICT_BYTES, check_values
from .._core.replies.error_reply import error_member, error_of_reply
from .._core.replies.expectation import is_of_others
from .._core.replies.one_record import NoRecordError
from .._core.replies.rate_signal import HEADER_NAMES, Signal, http_date, signal
from .._core.requests.endpoint import Call, Endpoint, Reader
from .._secrets import credential_values, is_credential, scrub
from .._telemetry import LOGGER
from ..errors import ApiError, ChatRestError, NotFoundError, ReplyUnreadableError
from .session_options import MIN_SECRET, CallOptions, OnReply, RawReply
from .transport import Reply, header_name, plain_headers

R = TypeVar("R")

_LIMIT_NAMES: Final = tuple(map(header_name, HEADER_NAMES))
_NOT_JSON: Final = frozenset({"text/html", "text/plain", "application/xml", "text/xml"})
_GC_LOCK: Final = Lock()
_MIN_HOLD: Final = 0.05
"""Seconds: a shorter wait that a reply names is no wait."""
_COLLECTIONS: Final = ("apikeys", "auth_tokens", "tokens")  # segments that have a credential after them


def read_reply(reply: Reply, call: Call[R], options: CallOptions) -> R:
    """Return the result of a success of at most `INLINE_BYTES`; raise its error if it cannot be read."""
    try:
        return call.endpoint.reply(reply.body)
    except ReplyUnreadableError as error:
        without_content: Callable[[], R] | None = getattr(call.endpoint.reply, "without_content", None)
        if reply.status == 204 and without_content is not None:
            return without_content()
        failure = _unreadable_error(reply, error, call, options.secrets)
    del call  # its path may hold a key
    raise failure


async def read_large(reply: Reply, call: Call[R], options: CallOptions) -> R:
    """Return the result of a larger success, as `read_reply` does, while the event loop continues."""
    try:
        return await decode_large(call.endpoint.reply, reply.body)
    except ReplyUnreadableError as error:
        failure = _unreadable_error(reply, error, call, options.secrets)
    del call  # its path may hold a key
    raise failure


async def decode_large(reader: Reader[R], body: bytes) -> R:
    """Return the result of `reader` for a body of more than `INLINE_BYTES`.

    A page that has the documented types is decoded on the event loop, any other one in a thread.
    """
    read: Any = reader
    strictly = getattr(reader, "strictly", None)
    if strictly is not None and len(body) <= STRICT_BYTES:
        result: R | None = strictly(body)
        if result is not None:
            return result
        read = read.leniently
    return await to_thread(_decode_in_thread, read, body)


def _decode_in_thread(read: Reader[R], body: bytes) -> R:
    check_values(body)
    if len(body) <= STRICT_BYTES:
        return read(body)
    # The cyclic garbage collector finds nothing in JSON, and holds up all threads meanwhile: of the decode of
    # 450,000 small arrays in 4 MB it takes 70 %.
    with _GC_LOCK:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return read(body)
        finally:
            if was_enabled:
                gc.enable()


def report_reply(
    on_reply: OnReply, reply: Reply, call: Call[Any], attempt: int, options: CallOptions
) -> None:
    raw = RawReply(
        operation=call.endpoint.name,
        attempt=attempt,
        status=reply.status,
        headers=plain_headers(reply.headers, (*options.secrets, *_credentials_of(call))),
        body=reply.body,
    )
    try:
        on_reply(raw)
    except Exception:
        LOGGER.exception("the function on_reply failed")


def refusal(reply: Reply, call: Call[Any], options: CallOptions) -> ChatRestError | None:
    if reply.status == 206:  # no request asks for a part
        return ReplyUnreadableError(
            "206 Partial Content: the service sent only a part, though the complete reply was requested"
        )
    return None if 200 <= reply.status < 300 else _error_reply(reply, call, options.secrets)


def _error_reply(reply: Reply, call: Call[Any], secrets: tuple[str, ...]) -> ApiError:
    secrets = (*secrets, *_credentials_of(call))
    headers = plain_headers(reply.headers, secrets)
    date = http_date(reply.headers.get("Date", ""))  # the clock of the reply's other times
    now = time.time() if date is None else date
    return error_of_reply(reply.status, headers, reply.body, call.endpoint.name, secrets, now)


def _unreadable_error(
    reply: Reply, error: ReplyUnreadableError, call: Call[Any], secrets: tuple[str, ...]
) -> ChatRestError:
    record = error_member(reply.body)
    if record:
        return _error_reply(reply, call, secrets)
    name, secrets = call.endpoint.name, (*secrets, *_credentials_of(call))
    text = scrub(str(error), secrets)  # it may repeat names of members
    if isinstance(error, NoRecordError) and call.endpoint.replay != "never":
        text = f"{name}: {reply.status}: the service answered without a record: {text}"
        headers = plain_headers(reply.headers, secrets)
        return NotFoundError(text, status=reply.status, headers=headers, operation=name)
    failure = ReplyUnreadableError(text)
    failure.is_json = error.is_json
    failure.answered = error.is_json and record is None and bool(reply.body.strip())
    if call.endpoint.replay == "never" and failure.answered:
        failure.args = (f"{failure}; the service answered {reply.status}, so the call was applied",)
    content_type = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if content_type in _NOT_JSON:
        failure.args = (f"{failure}; its Content-Type is {content_type}: is that the service's address?",)
    return failure


def _credentials_of(call: Call[Any]) -> tuple[str, ...]:
    """Return the credentials in the path, query, body and headers of a call, by their members' names."""
    values = {*_credentials_in_path(call.endpoint.path, call.path)}
    for part in (call.query, call.body, call.headers):
        if part is not None:
            values.update(credential_values(msgspec.to_builtins(part, enc_hook=str)))
    return tuple(value for value in values if len(value) >= MIN_SECRET)


def _credentials_in_path(template: str, path: str) -> Iterator[str]:
    segments = path.split("/")
    for name, segment in zip(template.split("/"), segments, strict=False):
        if name.startswith("{") and is_credential(name.strip("{}")):
            yield unquote(segment)
    for collection, segment in pairwise(segments):  # a call by hand has no template
        if collection in _COLLECTIONS:
            yield unquote(segment)


def limit_signal(reply: Reply, error: ChatRestError | None, options: CallOptions) -> Signal:
    """Return the rate limit that a reply shows, without a wait that is refused or is nothing."""
    limit = signal(reply.headers, error, _LIMIT_NAMES)
    longest = options.retry.longest_server_wait
    if limit.retry_after is not None and not _MIN_HOLD <= limit.retry_after <= longest:
        return structs.replace(limit, retry_after=None)
    return limit


def is_of_user(limit: Signal, call: Call[Any]) -> bool:
    """Return True for a 429 that states the limit of the acting user: it must not hold the app back."""
    own = call.endpoint.user_limit
    return own is not None and limit.limit == own and call.acting_user is not None


def note_acting_user(ignored: set[str], endpoint: Endpoint[Any], acting_user: str, record: Any) -> None:
    """Log a record that shows another user than the acting one, once for each operation."""
    if endpoint.name in ignored or not (endpoint.is_by_other or is_of_others)(record, acting_user):
        return
    ignored.add(endpoint.name)
    LOGGER.warning(
        "%s: the service ignored the acting user (onBehalfOf): its reply shows another user", endpoint.name
    )
