"""The receiver of deliveries, and its handlers for aiohttp.web and for ASGI servers.

The service waits 2 s for the answer, signs nothing, and with `retryOnFailure` repeats what was not answered
with 2xx, after 10 s and again after 30 s (`chatrest guide service`, "Webhooks"). The rules are the words of
`aiohttp_handler`, which imports aiohttp when it is called.
"""

import asyncio
import binascii
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypedDict,
    Unpack,
    cast,
    get_type_hints,
)

from msgspec import Meta, ValidationError, convert

from .._secrets import description, shown
from ..errors import ReplyUnreadableError, RequestInvalidError
from .events import Event
from .parsing import parse

if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.Response]]"
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
_DISCARDED_BYTES: Final = 1 << 20
_HANG_UP_AFTER: Final = 0.5
"""Seconds."""
_LONGEST_HEADER: Final = 4096

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""The headers of a request: a mapping with names in any case, or pairs of texts or bytes."""


def authorized(headers: Headers, username: str, password: str) -> bool:
    """Return True if a delivery's `headers` have these Basic credentials; compared in constant time.

    False for no or several `Authorization` headers, and for one that cannot be read. Raises
    `RequestInvalidError` for a `username` or `password` that Basic credentials cannot express.
    """
    return _is_one_of(headers, _digests(username, password))


def _digests(username: str, password: str) -> list[bytes]:
    """Return the digests of credentials as UTF-8 and as Latin-1: a sender may use both (RFC 7617, 2.1)."""
    arguments: dict[str, object] = {"username": username, "password": password}
    for name, text in arguments.items():
        if not isinstance(text, str) or not text or not text.isprintable():
            raise RequestInvalidError(f"{name}: expected a non-empty text of printable characters")
    if ":" in username:
        raise RequestInvalidError("username: expected a text without a colon")
    joined = f"{username}:{password}"
    digests = [_digest(joined.encode())]
    with suppress(UnicodeEncodeError):
        digests.append(_digest(joined.encode("latin-1")))
    return digests


def _is_one_of(headers: Headers, digests: list[bytes]) -> bool:
    """Return True if the headers have such credentials; takes the same time wherever they differ."""
    served = _digest(_served(headers) or b"")
    # A list, as `any` over a generator would stop at the first match.
    return True in [compare_digest(served, digest) for digest in digests]


def _digest(credentials: bytes) -> bytes:
    """Return a digest, as texts of different lengths cannot be compared in constant time."""
    return sha256(credentials).digest()


def _served(headers: Headers) -> bytes | None:
    """Return the decoded credentials of a request; None if it has none that can be read."""
    values = [value for name, value in _fields(headers) if name == "authorization"]
    if len(values) != 1 or len(values[0]) > _LONGEST_HEADER:
        return None
    scheme, _, encoded = values[0].strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return binascii.a2b_base64(encoded.strip(), strict_mode=True)
    except ValueError:
        return None


def _fields(headers: Headers) -> Iterator[tuple[str, str]]:
    """Yield the headers of a request as texts, their names in lower case."""
    pairs = cast(
        "Iterable[tuple[str | bytes, str | bytes]]",
        headers.items() if isinstance(headers, Mapping) else headers,
    )
    for pair in pairs:
        name, value = [text if isinstance(text, str) else text.decode("latin-1") for text in pair]
        yield name.lower(), value


LOGGER: Final = logging.getLogger("chatrest")
OnEvent: TypeAlias = Callable[[Event], Awaitable[Any]]
Read: TypeAlias = Callable[[], Awaitable[bytes]]
"""Gives the next bytes of a body, b"" at its end; `ReplyUnreadableError` if it is cut off."""

_LONGEST_TRIGGER: Final = 100
_LARGE: Final = 1 << 16
"""Bytes of a body from which on a thread parses it; most deliveries have one or two thousand."""


class ReceiverOptions(TypedDict, total=False):
    """The keyword arguments of `aiohttp_handler` and `asgi_app`."""

    username: str | None
    password: str | None
    answer_within: Annotated[float, Meta(gt=0, le=60, description="a number of seconds above 0, at most 60")]
    max_body_bytes: Annotated[int, Meta(gt=0, description="a whole number above 0")]
    concurrency: Annotated[int, Meta(gt=0, description="a whole number above 0")]


class Answer(NamedTuple):
    status: int
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()


_HANDLED: Final = Answer(200)
_ONLY_POST: Final = Answer(405, "deliveries are POST requests", (("Allow", "POST"),))
_UNAUTHORIZED: Final = Answer(
    401, "wrong or no credentials", (("WWW-Authenticate", 'Basic realm="webhook", charset="UTF-8"'),)
)
_ENCODED: Final = Answer(415, "a compressed body is not accepted", (("Accept-Encoding", "identity"),))
_TOO_SLOW: Final = Answer(408, "the body could not be read in time")
_TOO_LARGE: Final = Answer(413, "the body is too large")
_FAILED: Final = Answer(500, "the event could not be handled")
_RUNNING: Final = Answer(503, "the event is still being handled")
_BUSY: Final = Answer(503, "too many events are being handled")


class Receiver:
    """Takes deliveries in, and runs a handler for each event."""

    def __init__(self, on_event: OnEvent, options: ReceiverOptions) -> None:
        _check(on_event, options)
        self._on_event = on_event
        self._digests: list[bytes] = []
        username, password = options.get("username"), options.get("password")
        if username is None and password is None:
            LOGGER.warning("the receiver of webhooks checks no credentials: anybody can send it events")
        elif username is None or password is None:
            missing = "username" if username is None else "password"
            raise RequestInvalidError(f"{missing} = None: expected a username and a password, or neither")
        else:
            self._digests = _digests(username, password)
        self._answer_within = options.get("answer_within", 1.5)
        self._max_body_bytes = options.get("max_body_bytes", 1 << 20)
        self._concurrency = options.get("concurrency", 100)
        self._running: dict[bytes, asyncio.Task[bool]] = {}

    async def answer(self, method: str, headers: Headers, read: Read) -> Answer:
        """Return the answer to a request, within `answer_within` seconds. `read` gives its body.

        A cancel leaves a handler that has begun running.
        """
        deadline = _now() + self._answer_within
        refusal = self._refusal(method, headers)
        if refusal is not None:
            return refusal
        try:
            async with asyncio.timeout_at(deadline):
                body = await self._body(read)
                if body is None:
                    return self._refused(_TOO_LARGE)
                # A MiB of hostile JSON takes half a second, in which other events must continue.
                is_large = len(body) > _LARGE
                event = await asyncio.to_thread(parse, body) if is_large else parse(body)
        except TimeoutError:
            return self._refused(_TOO_SLOW)
        except ReplyUnreadableError as error:
            return self._refused(Answer(400, str(error)))
        return await self._handled(event, deadline)

    async def close(self) -> None:
        """Wait for the handlers that still run, `answer_within` seconds at most, then cancel them."""
        tasks = set(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._answer_within)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _refusal(self, method: str, headers: Headers) -> Answer | None:
        """Return the answer to a request whose body need not be read; None if it must be."""
        if method != "POST":
            return _ONLY_POST
        if self._digests and not _is_one_of(headers, self._digests):
            return self._refused(_UNAUTHORIZED)
        fields = dict(_fields(headers))
        if fields.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            return self._refused(_ENCODED)
        size = fields.get("content-length", "")
        if size.isdecimal() and (len(size) > 18 or int(size) > self._max_body_bytes):
            return self._refused(_TOO_LARGE)
        return None

    def _refused(self, answer: Answer) -> Answer:
        LOGGER.warning("a delivery to a webhook was answered with %d: %a", answer.status, answer.text)
        return answer

    async def _body(self, read: Read) -> bytes | None:
        body = bytearray()
        while chunk := await read():
            body += chunk
            if len(body) > self._max_body_bytes:
                return None
        return bytes(body)

    async def _handled(self, event: Event, deadline: float) -> Answer:
        key = sha256(event.raw).digest()
        while key not in self._running and len(self._running) >= self._concurrency:
            if not await _ended(self._running.values(), deadline):
                return self._refused(_BUSY)
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, event))
        if not await _ended([task], deadline):
            return self._refused(_RUNNING)
        return _HANDLED if not task.cancelled() and task.result() else _FAILED

    async def _run(self, key: bytes, event: Event) -> bool:
        try:
            await self._on_event(event)
            return True
        except Exception:
            LOGGER.exception("the handler of webhook events failed on %a", event.trigger[:_LONGEST_TRIGGER])
            return False
        finally:
            del self._running[key]


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _ended(tasks: Any, deadline: float) -> bool:
    """Wait until one of the tasks has ended; return False if none has at the deadline. None is cancelled."""
    done, _ = await asyncio.wait(
        set(tasks), timeout=max(deadline - _now(), 0.0), return_when=asyncio.FIRST_COMPLETED
    )
    return bool(done)


def _check(on_event: object, options: ReceiverOptions) -> None:
    if not callable(on_event):
        raise RequestInvalidError(
            f"on_event = {description(on_event)}: expected a coroutine function of an event"
        )
    rules = get_type_hints(ReceiverOptions, include_extras=True)
    for name, value in options.items():
        if name not in rules:
            raise RequestInvalidError(f"{name}: expected {', '.join(rules)}")
        for meta in getattr(rules[name], "__metadata__", ()):
            try:
                convert(value, rules[name])
            except ValidationError:
                raise RequestInvalidError(
                    f"{name} = {description(value)}: expected {meta.description}"
                ) from None


def asgi_app(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> AsgiApp:
    """Return an ASGI application that awaits `on_event(event)` for each event, at any path.

    The arguments, answers and errors are those of `aiohttp_handler`. Run it by itself, or mount it in another
    application. When a server that supports the lifespan protocol stops, it waits `answer_within` seconds for
    the handlers that still run.
    """
    receiver = Receiver(on_event, options)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receiver, receive, send)
        elif scope["type"] == "http":
            await _http(receiver, scope, receive, send)
        else:
            raise RequestInvalidError(f"scope type = {shown(scope['type'])}: expected http or lifespan")

    return app


async def _lifespan(receiver: Receiver, receive: Receive, send: Send) -> None:
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    await receiver.close()
    await send({"type": "lifespan.shutdown.complete"})


async def _http(receiver: Receiver, scope: Scope, receive: Receive, send: Send) -> None:
    more = connected = True

    async def read() -> bytes:
        nonlocal more, connected
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                more = connected = False
                raise ReplyUnreadableError("the body is cut off")
            more = bool(message.get("more_body", False))
            if chunk := message.get("body", b""):
                return bytes(chunk)
        return b""

    answer = await receiver.answer(scope["method"], scope["headers"], read)
    if not connected:
        return
    body = answer.text.encode("ascii", "backslashreplace")
    fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
    pairs = [*fields.items(), *answer.headers]
    headers = [(name.lower().encode(), value.encode()) for name, value in pairs]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def aiohttp_handler(on_event: OnEvent, **options: Unpack[ReceiverOptions]) -> Handler:
    """Return a handler for `app.router.add_post("/webhook", …)` that awaits `on_event(event)` for each event.

    - `username`, `password`: the Basic credentials of the webhook, checked before the body is read: 401.
      Without them nothing is checked, and anybody can send events.
    - `answer_within`: seconds until the answer, 1.5. The service waits 2 s.
    - `max_body_bytes`: 1 MiB; a larger body is answered with 413.
    - `concurrency`: the number of `on_event` at the same time, 100; one that never returns keeps its place.

    200 is answered after `on_event` has returned, 500 after an exception, which is logged, and 503 while it
    still runs: it is not cancelled, and the repetition of the delivery waits for it. `on_event` should be
    idempotent: a webhook with `retry_on_failure` repeats what was not answered with 200. Events arrive in any
    order. When the server stops, a handler that still runs was not acknowledged. Raises
    `RequestInvalidError` for a wrong argument.
    """
    from aiohttp import ClientError, web
    from aiohttp.http_exceptions import HttpProcessingError

    receiver = Receiver(on_event, options)
    faults = (ClientError, HttpProcessingError, ConnectionError)

    async def handle(request: web.Request) -> web.Response:
        async def read() -> bytes:
            with suppress(*faults):
                return await request.content.readany()
            raise ReplyUnreadableError("the body is cut off")

        answer = await receiver.answer(request.method, request.headers, read)
        text = answer.text.encode("ascii", "backslashreplace").decode()
        response = web.Response(status=answer.status, text=text, headers=dict(answer.headers))
        if not request.content.is_eof():
            with suppress(*faults):
                await _hang_up(request, response)
        return response

    return handle


async def _hang_up(request: "web.Request", response: "web.Response") -> None:
    """Answer a request whose body has not ended, and close its connection.

    To close at once could destroy the answer on its way, and aiohttp would read on for ten seconds. So a
    little of the body is read first, in which a sender of any delivery ends.
    """
    response.force_close()
    await response.prepare(request)
    await response.write_eof()
    rest = _DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_HANG_UP_AFTER):
            while rest > 0 and (chunk := await request.content.readany()):
                rest -= len(chunk)
    if not request.content.is_eof():
        request.protocol.force_close()
