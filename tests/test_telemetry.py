"""Telemetry record by record, and what is in none of them."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar, Token
from itertools import count
from typing import Any

import pytest
from multidict import CIMultiDict

import chatrest._network.call as call_module
import chatrest._network.client as client_module
from chatrest import App, ChatRestError, ConnectError, DeadlineExceededError, RetryPolicy
from chatrest._core.pace.pacer import Pace
from chatrest._network.transport import Reply
from chatrest._resources import users
from chatrest._telemetry import Attempt, CallStart, Outcome, Telemetry
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY
from tests.support.scripted_session import PAGE, UID, Stage, forever, reply, turns

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.fixture(autouse=True)
def counted_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are numbered per process."""
    monkeypatch.setattr(client_module, "_CALL_NUMBERS", count(1))


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)


SAME = {
    "call": 1,
    "operation": "messages.list_user",
    "method": "GET",
    "template": "/users/{uid}/messages",
    "app_id": "app-1",
    "region": "us",
    "server_address": "chat.invalid",
    "server_port": 443,
}


def attempt(number: int = 1, **other: Any) -> Attempt:
    usual = {"status": 200, "reply_bytes": len(PAGE), "error": None, "cause": None}
    times = {"paced": 0.0, "queued": 0.0, "network": 0.0, "decoded": 0.0}
    return Attempt(**{**SAME, **usual, **times, "number": number, **other})


def outcome(attempts: int = 1, **other: Any) -> Outcome:
    return Outcome(**{**SAME, "attempts": attempts, "seconds": 0.0, "status": 200, "error": None, **other})


async def test_a_success_is_an_attempt_and_an_outcome() -> None:
    stage = Stage(reply(), slow=0.25)
    await stage.list()
    assert stage.records == [attempt(network=0.25), outcome(seconds=0.25, network=0.25)]


async def test_the_repeat_after_a_429_is_recorded() -> None:
    stage = Stage(reply(429, b"slow down", retry_after="7"), reply(), slow=0.25)
    await stage.list()
    limited = {"status": 429, "reply_bytes": 9, "error": "RateLimitError", "network": 0.25}
    assert stage.records == [
        attempt(**limited, pause=7.0),
        attempt(2, network=0.25, cause="RateLimitError"),
        outcome(2, seconds=7.5, network=0.5, waited=7.0),
    ]


async def test_a_refused_connection_to_the_end() -> None:
    stage = Stage(ConnectError("refused"), slow=1.5)
    with pytest.raises(ConnectError):
        await stage.list(retry=RetryPolicy(attempts=2))
    failed = {"status": None, "reply_bytes": 0, "network": 1.5, "error": "ConnectError"}
    assert stage.records == [
        attempt(**failed, pause=0.0),
        attempt(2, **failed, cause="ConnectError"),
        outcome(2, seconds=3.0, network=3.0, status=None, error="ConnectError"),
    ]


async def test_an_answer_that_is_no_success() -> None:
    stage = Stage(reply(404, b"no"))
    with pytest.raises(ChatRestError):
        await stage.list()
    ending = {"status": 404, "error": "NotFoundError"}
    assert stage.records == [attempt(**ending, reply_bytes=2), outcome(**ending)]


async def test_a_reply_that_cannot_be_read() -> None:
    stage = Stage(reply(200, b"<html>"))
    with pytest.raises(ChatRestError):
        await stage.list(retry=RetryPolicy(attempts=1))
    ending = {"status": 200, "error": "ReplyUnreadableError"}
    assert stage.records == [attempt(**ending, reply_bytes=6), outcome(**ending)]


async def test_a_wait_beyond_the_deadline() -> None:
    stage = Stage(reply(429, b"", retry_after="30"))
    with pytest.raises(DeadlineExceededError):
        await stage.list(deadline=10.0)
    limited = {"status": 429, "reply_bytes": 0, "error": "RateLimitError"}
    assert stage.records == [attempt(**limited), outcome(status=429, error="DeadlineExceededError")]


async def test_a_deadline_that_passes_on_the_network() -> None:
    stage = Stage(forever)
    with pytest.raises(DeadlineExceededError):
        await stage.list(deadline=0.01)
    cut = {"status": None, "reply_bytes": 0, "error": "CancelledError"}
    assert stage.records == [attempt(**cut), outcome(status=None, error="DeadlineExceededError")]


async def test_a_cancel() -> None:
    stage = Stage(forever)
    task = asyncio.create_task(stage.list())
    await turns()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    cut = {"status": None, "error": "CancelledError"}
    assert stage.records == [attempt(**cut, reply_bytes=0), outcome(**cut)]


async def test_the_wait_for_the_rate_is_recorded() -> None:
    stage = Stage(reply(), pace=Pace(rate=60))
    for _ in range(4):
        await stage.list()
    paced = [record.paced for record in stage.records if isinstance(record, Attempt)]
    assert paced == pytest.approx([0, paced[1], 1, 1])
    assert [record.seconds for record in stage.records if isinstance(record, Outcome)] == paced


async def test_the_time_waiting_for_a_place_is_recorded() -> None:
    free = asyncio.Event()

    async def slow() -> Reply:
        await free.wait()
        return reply()

    stage = Stage(slow, reply(), concurrency=1)
    tasks = [asyncio.create_task(stage.list()) for _ in range(2)]
    await turns()
    stage.time.now += 3
    free.set()
    await asyncio.gather(*tasks)
    attempts = {record.call: record for record in stage.records if isinstance(record, Attempt)}
    assert [(attempts[n].queued, attempts[n].network) for n in (1, 2)] == [(0.0, 3.0), (3.0, 0.0)]


def sums(record: Telemetry) -> float:
    assert isinstance(record, Outcome)
    return record.paced + record.queued + record.network + record.decoded + record.waited


async def test_the_durations_of_a_call_make_up_its_seconds() -> None:
    answers = [ConnectError("no"), reply(503, b""), reply(429, b"", retry_after="7"), reply()]
    stage = Stage(*answers, slow=0.25, dice=lambda: 0.5, pace=Pace(rate=60))
    await asyncio.gather(*(stage.list() for _ in range(5)))
    *_, last = outcomes = [record for record in stage.records if isinstance(record, Outcome)]
    assert len(outcomes) == 5
    for each in outcomes:
        assert sums(each) == pytest.approx(each.seconds)
        attempts = [
            record for record in stage.records if isinstance(record, Attempt) and record.call == each.call
        ]
        assert each.network == pytest.approx(sum(record.network for record in attempts))
        assert each.paced == pytest.approx(sum(record.paced for record in attempts))
    assert last.paced > 0
    assert sum(each.waited for each in outcomes) > 7


async def test_a_cancelled_pause_counts_the_seconds_waited() -> None:
    stage = Stage(reply(503, b""), dice=lambda: 1.0, sleep=until_cancelled)
    task = asyncio.create_task(stage.list(retry=RetryPolicy(first_wait=20.0)))
    await turns()
    assert [type(record) for record in stage.records] == [Attempt]  # sent before the pause
    stage.time.now += 3
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    failed = attempt(status=503, reply_bytes=0, error="ServerError", pause=20.0)
    assert stage.records == [failed, outcome(seconds=3.0, waited=3.0, status=503, error="CancelledError")]


async def until_cancelled(seconds: float) -> None:
    await asyncio.Event().wait()


async def test_the_duration_of_a_call_begins_at_its_await() -> None:
    stage = Stage(reply(), slow=0.25)
    running = (await stage.opened()).sender(users.USERS_LIST())
    stage.time.now += 100
    await running
    [*_, last] = stage.records
    assert isinstance(last, Outcome)
    assert last.seconds == 0.25


@loop_over(
    ("base_url", "server"),
    [
        ("https://chat.invalid/v3", ("chat.invalid", 443)),
        ("https://chat.invalid:8443/v3", ("chat.invalid", 8443)),
        ("http://127.0.0.1/v3", ("127.0.0.1", 80)),
        ("http://[::1]:8080/v3", ("::1", 8080)),
    ],
)
async def test_records_name_the_server(base_url: str, server: tuple[str, int]) -> None:
    stage = Stage(reply(), app=App("app-1", KEY, base_url=base_url))
    await stage.list()
    assert {(record.server_address, record.server_port) for record in stage.records} == {server}


def fail(*_: Telemetry) -> None:
    raise KeyError("a listener's own")


@pytest.mark.parametrize("answer", [reply(), reply(404)], ids=["success", "error"])
async def test_a_listener_that_raises_does_not_fail_the_call(
    answer: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Telemetry] = []
    stage = Stage(answer, telemetry=[heard.append, fail, heard.append])
    [done] = await asyncio.gather(stage.list(), return_exceptions=True)
    assert done == [] or (isinstance(done, ChatRestError) and not isinstance(done.__context__, KeyError))
    assert len(heard) == 4
    assert heard[0] == heard[1]
    assert [line.message for line in caplog.records] == ["a telemetry listener failed"] * 2
    assert stage.session.pools["us"].active == 0


async def test_views_share_the_listeners() -> None:
    stage = Stage(reply())
    await (await stage.opened()).as_user("me").users.list().collect()
    other = App("app-2", "key-2", "eu", base_url="https://chat.invalid/v3")
    await stage.session.for_app(other).users.list().collect()
    assert [(record.app_id, record.region) for record in stage.records[::2]] == [
        ("app-1", "us"),
        ("app-2", "eu"),
    ]
    assert [record.call for record in stage.records] == [1, 1, 2, 2]


@loop_over("wrong", [7, None, "print", [print, 7], {"a": print}])
def test_a_listener_that_is_no_function_is_an_error(wrong: Any) -> None:
    with pytest.raises(ChatRestError, match="telemetry = "):
        Stage(reply(), telemetry=wrong)


@pytest.mark.parametrize(
    "answers", [[reply()], [reply(503), reply()], [ConnectError("no"), reply()]], ids=len
)
async def test_no_record_is_created_without_listeners(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object, **__: object) -> None:
        raise AssertionError("a record was made")

    for module, name in ((client_module, "CallStart"), (call_module, "Attempt"), (call_module, "Outcome")):
        monkeypatch.setattr(module, name, made)
    assert await Stage(*answers, telemetry=()).list() == []


CURRENT: ContextVar[str] = ContextVar("current", default="outside")


class Starting:
    """A listener with `start_call` that logs what it gets, and the value of `CURRENT` then."""

    def __init__(self, log: list[str], name: str = "a", headers: Any = None) -> None:
        self.log, self.name, self.headers = log, name, headers
        self.tokens: dict[int, Token[str]] = {}

    def start_call(self, start: CallStart) -> Any:
        self.log.append(f"{self.name} {start.operation} {CURRENT.get()}")
        self.tokens[start.call] = CURRENT.set(f"{self.name}{start.call}")
        return self.headers() if callable(self.headers) else self.headers

    def __call__(self, record: Telemetry) -> None:
        self.log.append(f"{self.name} {type(record).__name__} {CURRENT.get()}")
        if isinstance(record, Outcome):
            CURRENT.reset(self.tokens[record.call])


@pytest.mark.parametrize(
    ("answers", "deadline", "attempts"),
    [((reply(503, b""), reply()), None, 2), ((reply(404),), None, 1), ((forever,), 0.01, 1)],
    ids=["success", "error", "deadline"],
)
async def test_a_listener_can_set_a_variable_for_the_time_of_a_call(
    answers: Any, deadline: float | None, attempts: int
) -> None:
    log: list[str] = []
    stage = Stage(*answers, telemetry=[Starting(log, "a"), Starting(log, "b")])
    with suppress(ChatRestError):
        await stage.list(deadline=deadline)
    started = ["a messages.list_user outside", "b messages.list_user a1"]
    assert log == [*started, *["a Attempt b1", "b Attempt b1"] * attempts, "b Outcome b1", "a Outcome a1"]
    assert CURRENT.get() == "outside"


async def test_concurrent_calls_have_separate_contexts() -> None:
    contexts: list[str] = []

    async def answer() -> Reply:
        before = CURRENT.get()
        await turns()
        assert CURRENT.get() == before
        contexts.append(before)
        return reply()

    stage = Stage(answer, telemetry=Starting([]))
    await asyncio.gather(*(stage.list() for _ in range(10)))
    assert len(set(contexts)) == 10


async def test_headers_of_listeners_are_sent_with_every_attempt() -> None:
    listeners = [
        Starting([], headers={"x-trace": "a", "accept": "a"}),
        Starting([], headers={"X-Trace": "b", "x-more": "b"}),
    ]
    stage = Stage(reply(503, b""), reply(), telemetry=listeners, headers={"X-More": "the caller's"})
    await stage.list()
    sent = {"apikey": KEY, "appId": "app-1", "Accept": "application/json", "x-trace": "a"}
    assert [dict(request.headers) for request in stage.requests] == [sent | {"X-More": "the caller's"}] * 2
    assert "x-trace" not in repr(stage.requests)


@pytest.mark.parametrize(
    "headers",
    [{"apikey": "mine"}, {"X-A": "a\r\nX-B: b"}, {"X A": "a"}, {"onBehalfOf": UID}, [("X-A", "a")], 7, fail],
    ids=lambda value: str(value)[:14],
)
async def test_headers_that_cannot_be_sent_and_failures_are_logged_and_left_out(
    headers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(reply(), telemetry=[Starting([], headers=headers), Starting([], headers={"x-good": "1"})])
    assert await stage.list() == []
    [request] = stage.requests
    assert set(request.headers) == {"apikey", "appId", "Accept", "x-good"}
    assert request.headers["apikey"] == KEY
    assert [line.message for line in caplog.records] == ["a telemetry listener failed"]
    assert CURRENT.get() == "outside"


async def test_an_interrupt_in_a_listener_ends_the_call_for_the_others() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    log: list[str] = []
    listeners = [Starting(log), Starting([], headers=interrupt)]
    running = (await Stage(reply(), telemetry=listeners).opened()).request("GET", "/users")
    with pytest.raises(KeyboardInterrupt):
        running.send(None)
    assert log[-1] == "a Outcome a1"


@pytest.fixture
def root() -> Iterator[list[str]]:
    """The lines that a program without logging would see on stderr."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda line: lines.append(line.getMessage())  # type: ignore[method-assign]
    before, logging.lastResort = logging.lastResort, handler  # type: ignore[assignment]
    yield lines
    logging.lastResort = before


async def test_the_log_is_quiet_by_default(
    root: list[str], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ChatRestError):
        await Stage(reply(503, b"")).list()
    assert [line.levelno for line in caplog.records if line.levelno > logging.INFO] == []
    assert (root, capfd.readouterr()) == ([], ("", ""))


async def test_info_shows_each_attempt_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "chatrest")
    names = {"X-Request-Id": "abc-1", "X-Rate-Limit": "600", "X-Rate-Limit-Remaining": "3"}
    stage = Stage(Reply(503, CIMultiDict(names), b"no"), reply(), slow=0.25, telemetry=())
    await stage.list()
    first, second = [line.getMessage() for line in caplog.records]
    assert first == (
        "GET /users/{uid}/messages to chat.invalid: attempt 1: 503 ServerError, 2 bytes in 0.250 s, "
        "request id abc-1, rate limit 600, remaining 3, again in 0.0 s"
    )
    assert second == (
        f"GET /users/{{uid}}/messages to chat.invalid: attempt 2: 200, {len(PAGE)} bytes in 0.250 s"
    )


async def test_debug_shows_where_the_time_of_a_call_went(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "chatrest")
    await Stage(reply(), slow=0.25, telemetry=()).list()
    [line] = [line.getMessage() for line in caplog.records if line.levelno == logging.DEBUG]
    assert line.startswith("messages.list_user: 1 attempt in 0.250 s: 0.000 s held back by the rate limit")


@pytest.mark.parametrize("value", [KEY, "a b", "x" * 101, "abc\u202e"])
async def test_a_request_id_of_none_or_a_key_is_not_logged(
    caplog: pytest.LogCaptureFixture, value: str
) -> None:
    caplog.set_level(logging.INFO, "chatrest")
    await Stage(Reply(200, CIMultiDict({"X-Request-Id": value}), PAGE), telemetry=()).list()
    assert value not in caplog.text
