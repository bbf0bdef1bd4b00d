"""The receiver of deliveries: a request becomes an event, the event is handled, and the answer says how.

An answer of 503 does not end the handler: it continues. Only while a handler runs, another delivery with the
same body waits for it, and does not run it again. The service waits 2 s for the answer, signs nothing, and
with `retryOnFailure` repeats what was not answered with 2xx, after 10 s and again after 30 s
(`chatrest guide service`, "Webhooks").

A request is authorized by one `Authorization` header with Basic credentials. The digests of credentials are
compared, and not the credentials: texts of different lengths cannot be compared in constant time. Both
charsets that a sender may use are accepted.
"""

import asyncio
import binascii
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypedDict, cast, get_type_hints

from msgspec import Meta, ValidationError, convert

from .._parameters.fields import words_of
from .._secrets import description
from ..errors import ReplyUnreadableError, RequestInvalidError
from .events import Event
from .parsing import parse

Headers: TypeAlias = Mapping[str, str] | Iterable[tuple[str | bytes, str | bytes]]
"""The headers of a request: a mapping with names in any case, or pairs of texts or bytes."""

_MAX_HEADER: Final = 4096
"""Characters of an `Authorization` header that is decoded."""
OnEvent: TypeAlias = Callable[[Event], Awaitable[Any]]
ReadChunk: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the next bytes of a body, b"" at its end; raises `ReplyUnreadableError` if it is cut off."""

LOGGER: Final = logging.getLogger("chatrest")
_MAX_TRIGGER: Final = 100
"""Characters of a trigger that are logged."""
_LARGE_BYTES: Final = 1 << 16
"""A body of more bytes is parsed in a thread; most deliveries have one or two thousand."""
_MAX_LENGTH: Final = 18
"""Digits of a `Content-Length`; one with more digits is too large, and is not converted."""


class ReceiverOptions(TypedDict, total=False):
    """The keyword arguments of `aiohttp_handler` and `asgi_app`, which are described there."""

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
_COMPRESSED: Final = Answer(415, "a compressed body is not accepted", (("Accept-Encoding", "identity"),))
_TOO_SLOW: Final = Answer(408, "the body could not be read in time")
_TOO_LARGE: Final = Answer(413, "the body is too large")
_FAILED: Final = Answer(500, "the event could not be handled")
_RUNNING: Final = Answer(503, "the event is still being handled")
_BUSY: Final = Answer(503, "too many events are being handled")


class Receiver:
    """Answers deliveries, and runs `on_event` for each event: at most `concurrency` at the same time."""

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
            self._digests = credential_digests(username, password)
        self._answer_within = options.get("answer_within", 1.5)
        self._max_body_bytes = options.get("max_body_bytes", 1 << 20)
        self._concurrency = options.get("concurrency", 100)
        self._running: dict[bytes, asyncio.Task[bool]] = {}
        """The running handlers, by the digest of their delivery's body."""

    async def answer(self, method: str, headers: Headers, read: ReadChunk) -> Answer:
        """Return the answer to a request, within `answer_within` seconds. `read` gives its body.

        A cancel leaves a handler that has begun running.
        """
        deadline = asyncio.get_running_loop().time() + self._answer_within
        refusal = self._refusal(method, headers)
        if refusal is not None:
            return refusal
        try:
            async with asyncio.timeout_at(deadline):
                body = await self._read_body(read)
                if body is None:
                    return _log_refusal(_TOO_LARGE)
                # A MiB of hostile JSON takes half a second, in which other events must continue.
                is_large = len(body) > _LARGE_BYTES
                event = await asyncio.to_thread(parse, body) if is_large else parse(body)
        except TimeoutError:
            return _log_refusal(_TOO_SLOW)
        except ReplyUnreadableError as error:
            return _log_refusal(Answer(400, str(error)))
        return await self._handle(event, deadline)

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
        if self._digests and not has_credentials(headers, self._digests):
            return _log_refusal(_UNAUTHORIZED)
        values = dict(header_pairs(headers))
        if values.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            return _log_refusal(_COMPRESSED)
        size = values.get("content-length", "")
        if size.isdecimal() and (len(size) > _MAX_LENGTH or int(size) > self._max_body_bytes):
            return _log_refusal(_TOO_LARGE)
        return None

    async def _read_body(self, read: ReadChunk) -> bytes | None:
        body = bytearray()
        while chunk := await read():
            body += chunk
            if len(body) > self._max_body_bytes:
                return None
        return bytes(body)

    async def _handle(self, event: Event, deadline: float) -> Answer:
        """Run the handler of an event, or await the one that runs for the same body; return the answer."""
        digest = sha256(event.raw).digest()
        while digest not in self._running and len(self._running) >= self._concurrency:
            if not await _wait_for_first(self._running.values(), deadline):
                return _log_refusal(_BUSY)
        task = self._running.get(digest)
        if task is None:
            task = self._running[digest] = asyncio.create_task(self._run_handler(digest, event))
        if not await _wait_for_first([task], deadline):
            return _log_refusal(_RUNNING)
        return _HANDLED if not task.cancelled() and task.result() else _FAILED

    async def _run_handler(self, digest: bytes, event: Event) -> bool:
        """Return True if the handler has returned, and False if it raised, which is logged."""
        try:
            await self._on_event(event)
            return True
        except Exception:
            LOGGER.exception("the handler of webhook events failed on %a", event.trigger[:_MAX_TRIGGER])
            return False
        finally:
            del self._running[digest]


def _log_refusal(answer: Answer) -> Answer:
    LOGGER.warning("a delivery to a webhook was answered with %d: %a", answer.status, answer.text)
    return answer


async def _wait_for_first(tasks: Collection[asyncio.Task[bool]], deadline: float) -> bool:
    """Wait until one of the tasks has ended; return False if none has at the deadline. None is cancelled."""
    seconds = max(deadline - asyncio.get_running_loop().time(), 0.0)
    done, _ = await asyncio.wait(set(tasks), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


def _check(on_event: object, options: ReceiverOptions) -> None:
    if not callable(on_event):
        raise RequestInvalidError(
            f"on_event = {description(on_event)}: expected a coroutine function of an event"
        )
    types = get_type_hints(ReceiverOptions, include_extras=True)
    for name, value in options.items():
        if name not in types:
            raise RequestInvalidError(f"no option is called {name!r}: expected {words_of(types)}")
        for meta in getattr(types[name], "__metadata__", ()):
            try:
                convert(value, types[name])
            except ValidationError:
                raise RequestInvalidError(
                    f"{name} = {description(value)}: expected {meta.description}"
                ) from None


# ── credentials ──


def authorized(headers: Headers, username: str, password: str) -> bool:
    """Return True if a delivery's `headers` have these Basic credentials; compared in constant time.

    False for no or several `Authorization` headers, and for one that cannot be read. Raises
    `RequestInvalidError` for a `username` or `password` that Basic credentials cannot express.
    """
    return has_credentials(headers, credential_digests(username, password))


def credential_digests(username: str, password: str) -> list[bytes]:
    """Return the digests of credentials as UTF-8 and as Latin-1 (RFC 7617, section 2.1).

    Raises `RequestInvalidError` for credentials that Basic authentication cannot express.
    """
    arguments: dict[str, object] = {"username": username, "password": password}
    for name, text in arguments.items():
        if not isinstance(text, str) or not text or not text.isprintable():
            raise RequestInvalidError(f"{name}: expected a non-empty text of printable characters")
    if ":" in username:
        raise RequestInvalidError("username: expected a text without a colon")
    credentials = f"{username}:{password}"
    encoded = {credentials.encode()}
    with suppress(UnicodeEncodeError):
        encoded.add(credentials.encode("latin-1"))
    return [sha256(each).digest() for each in encoded]


def has_credentials(headers: Headers, digests: list[bytes]) -> bool:
    """Return True if the headers have credentials with one of these digests, always in the same time."""
    digest = sha256(_decoded_credentials(headers) or b"").digest()
    # A list, as `any` over a generator would stop at the first match.
    return True in [compare_digest(digest, expected) for expected in digests]


def header_pairs(headers: Headers) -> Iterator[tuple[str, str]]:
    pairs = cast(
        "Iterable[tuple[str | bytes, str | bytes]]",
        headers.items() if isinstance(headers, Mapping) else headers,
    )
    for pair in pairs:
        name, value = [text if isinstance(text, str) else text.decode("latin-1") for text in pair]
        yield name.lower(), value


def _decoded_credentials(headers: Headers) -> bytes | None:
    """Return the credentials of a request, `username:password`; None if it has none that can be read."""
    values = [value for name, value in header_pairs(headers) if name == "authorization"]
    if len(values) != 1 or len(values[0]) > _MAX_HEADER:
        return None
    scheme, _, encoded = values[0].strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return binascii.a2b_base64(encoded.strip(), strict_mode=True)
    except ValueError:
        return None
