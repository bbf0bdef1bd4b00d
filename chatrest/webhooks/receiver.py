"""The answer to a delivery, for any server.

Rules:
- The service waits 2 s for the answer (`chatrest guide service`, "Webhooks"). With `retryOnFailure` it
  repeats what was not answered with 2xx, after 10 s and again after 30 s; without the flag, or after that,
  the event is lost.
- A delivery is acknowledged only after its handler has returned. A handler that takes longer continues while
  the answer is 503.
- A handler must be idempotent: no delivery has an id, and nothing here remembers what was handled. Only while
  a handler runs, a delivery with the same body waits for it instead of running a second one.
- BasicCredentials are checked before anything of the body is read.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypedDict, get_type_hints

from msgspec import Meta, ValidationError, convert

from .._secrets import description
from ..errors import ReplyUnreadableError, RequestInvalidError
from .credentials import BasicCredentials, Headers, header_fields
from .event import Event
from .parsing import parse

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
    """With `password`, the Basic credentials that a delivery must have; None for no check."""
    password: str | None
    answer_within: Annotated[float, Meta(gt=0, le=60, description="a number of seconds above 0, at most 60")]
    """Seconds until the answer, 1.5: less than the 2 s after which the service hangs up."""
    max_body_bytes: Annotated[int, Meta(gt=0, description="a whole number above 0")]
    """The size of the largest body that is read, 1 MiB."""
    concurrency: Annotated[int, Meta(gt=0, description="a whole number above 0")]
    """The number of handlers that run at the same time, 100."""


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
        self._credentials = _credentials(options.get("username"), options.get("password"))
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
        if self._credentials is not None and not self._credentials.match(headers):
            return self._refused(_UNAUTHORIZED)
        fields = dict(header_fields(headers))
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


def _credentials(username: str | None, password: str | None) -> BasicCredentials | None:
    if username is None and password is None:
        LOGGER.warning(
            "the receiver of webhooks checks no credentials: anybody who can reach it can send events"
        )
        return None
    if username is None or password is None:
        missing = "username" if username is None else "password"
        raise RequestInvalidError(f"{missing} = None: expected a username and a password, or neither")
    return BasicCredentials(username, password)


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
