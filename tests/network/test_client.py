"""One call, attempt by attempt, over a transport with given answers: no socket, no time."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import msgspec
import pytest
import tenacity
from multidict import CIMultiDict

from chatrest import (
    AsyncSession,
    ChatRestError,
    NewMessage,
    NotFoundError,
    OutcomeUnknownError,
    RateLimitError,
    ReplyUnreadableError,
    RequestTimeoutError,
    RetryPolicy,
    TransportError,
)
from chatrest._network.pool import PoolState
from chatrest._network.transport import Reply
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY
from tests.support.scripted_session import Stage

pytestmark = pytest.mark.usefixtures("tidy")

Answer: TypeAlias = Reply | Exception | Callable[[], Awaitable[Reply]]
Method: TypeAlias = Literal["GET", "PUT", "DELETE", "POST", "PATCH"]

ONCE: tuple[Method, ...] = ("POST", "PATCH")
OK = Reply(200, CIMultiDict(), b'{"a":1}')


def answer(status: int, body: Any = b"", **headers: str) -> Reply:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Reply(status, CIMultiDict({k.replace("_", "-"): v for k, v in headers.items()}), data)


class SessionHarness(Stage):
    """A session whose transport gives the answers in turn; the last one repeats."""

    def __init__(self, *answers: Answer, concurrency: int = 5, dice: float = 0.5) -> None:
        super().__init__(*answers, concurrency=concurrency, dice=lambda: dice)

    async def call(
        self,
        how: Method | Callable[[AsyncSession], Awaitable[Any]] = "GET",
        *,
        deadline: float | None = None,
        **policy: Any,
    ) -> Any:
        view = (await self.opened()).with_options(deadline=deadline, retry=RetryPolicy(**policy))
        return await (view.request(how, "/x") if isinstance(how, str) else how(view))

    async def fails(self, *args: Any, **options: Any) -> ChatRestError:
        with pytest.raises(ChatRestError) as caught:
            await self.call(*args, **options)
        assert not isinstance(caught.value, tenacity.RetryError)
        assert (self.pool.active, self.pool.waiting) == (0, 0)
        return caught.value

    @property
    def pool(self) -> PoolState:
        return self.session.pools["us"]

    @property
    def slept(self) -> list[float]:
        return self.time.slept


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)


def listing(session: AsyncSession) -> Awaitable[Any]:
    return session.messages.list_user("bob").collect()


def sending(session: AsyncSession) -> Awaitable[Any]:
    return session.messages.send(NewMessage.text("bob", "hello"))


PASSING: list[Answer] = [
    *(answer(status) for status in (408, 500, 502, 503, 504)),
    TransportError("lost"),
    RequestTimeoutError("slow"),
    ReplyUnreadableError("cut"),
    answer(200, b"<html>"),
]


@loop_over("fault", PASSING)
@loop_over("method", ONCE)
async def test_a_call_that_must_not_be_repeated_is_not(method: Method, fault: Answer) -> None:
    bench = SessionHarness(fault, OK)
    error = await bench.fails(method)
    assert isinstance(error, OutcomeUnknownError)
    assert "may or may not have been applied" in str(error)
    assert (bench.pool.sent, bench.slept) == (1, [])


@pytest.mark.parametrize("name", ["Retry-After", "RETRY-AFTER"])
async def test_a_date_is_measured_on_the_services_own_clock(name: str) -> None:
    times = {"Date": "Wed, 01 Jan 2020 00:00:00 GMT", name: "Wed, 01 Jan 2020 00:00:09 GMT"}
    bench = SessionHarness(Reply(429, CIMultiDict(times), b""), OK, dice=0.0)
    await bench.call()
    assert bench.time.now == 1009.0


async def test_a_200_with_an_error_body_raises_that_error() -> None:
    body = {"error": {"code": "ERR_UID_NOT_FOUND", "message": f"no such user, key {KEY}"}}
    for call in (listing, sending):
        bench = SessionHarness(answer(200, body))
        error = await bench.fails(call)
        assert isinstance(error, NotFoundError)
        assert (error.status, error.code, bench.pool.sent) == (200, "ERR_UID_NOT_FOUND", 1)
        assert KEY not in str(error)


@loop_over(
    "body",
    [b"", b'{"error":{}}', b"<html>", b"\xff", b"\xff\xfe", b"{", b'{"a":1} x', b"[" * 100_000, b"NaNN"],
)
async def test_a_200_that_may_be_a_lost_reply_is_unreadable(body: bytes) -> None:
    bench = SessionHarness(answer(200, body))
    assert isinstance(await bench.fails(listing), ReplyUnreadableError)
    assert bench.pool.sent == 5
    bench = SessionHarness(answer(200, body))
    assert isinstance(await bench.fails(sending), OutcomeUnknownError)
    assert bench.pool.sent == 1


@loop_over("body", [b"[]", b"{}", b'{"data":7}', b'{"data":"x"}'])
async def test_a_complete_200_of_another_shape_is_sent_once(body: bytes) -> None:
    for method, text in ((listing, "expected"), (sending, "answered 200, so the call was applied")):
        bench = SessionHarness(answer(200, body))
        error = await bench.fails(method)
        assert type(error) is ReplyUnreadableError
        assert error.answered
        assert text in str(error)
        assert ("applied" in str(error)) is (method is sending)
        assert bench.pool.sent == 1


@loop_over(
    ("acting_user", "stated", "is_held"),
    [("alice", 30, False), ("alice", 500, True), ("alice", None, True), (None, 30, True)],
)
async def test_a_429_that_states_the_limit_of_one_user_does_not_hold_the_app_back(
    acting_user: str | None, stated: int | None, is_held: bool
) -> None:
    headers = {"retry_after": "60"} | ({} if stated is None else {"x_ratelimit_limit": str(stated)})
    bench = SessionHarness(answer(429, **headers))

    async def send(session: AsyncSession) -> object:
        return await session.messages.send(NewMessage.text("bob", "hello"), on_behalf_of=acting_user)

    assert isinstance(await bench.fails(send, attempts=1), RateLimitError)
    [limit] = bench.pool.limits
    assert (limit.next_slot > 0) == is_held


async def test_an_unrequested_partial_reply_is_an_error() -> None:
    bench = SessionHarness(answer(206, {"data": []}))
    error = await bench.fails()
    assert isinstance(error, ReplyUnreadableError)
    assert (error.operation, bench.pool.sent) == ("GET /x", 5)
    assert "206 Partial Content" in str(error)
    assert isinstance(await SessionHarness(answer(206, {"data": []})).fails("POST"), OutcomeUnknownError)


async def test_an_unknown_exception_is_not_changed() -> None:
    for answers in ([KeyError("a bug")], [answer(503), KeyError("a bug")]):
        bench = SessionHarness(*answers)
        with pytest.raises(KeyError):
            await bench.call()
        assert bench.pool.active == 0
