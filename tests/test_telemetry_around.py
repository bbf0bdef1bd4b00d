"""Listeners that put a context manager around each call: order, context, headers, and their own failures."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from chatrest import ConnectError, DeadlineExceededError, NotFoundError
from chatrest._resources import users
from chatrest._telemetry import CallStart, Telemetry
from tests.scripted_server import KEY
from tests.scripted_session import UID, Stage, forever, reply, turns

pytestmark = pytest.mark.usefixtures("tidy")

CURRENT: ContextVar[str] = ContextVar("current", default="outside")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    Stage.install(monkeypatch)


class Surrounding:
    """A listener that logs what it is called for, and the value of `CURRENT` then."""

    def __init__(self, log: list[tuple[str, str]], name: str = "a", **headers: str) -> None:
        self.log, self.name, self.headers = log, name, headers

    def __call__(self, record: Telemetry) -> None:
        self.log.append((f"{self.name} {type(record).__name__}", CURRENT.get()))

    @contextmanager
    def around_call(self, start: CallStart) -> Iterator[Mapping[str, str]]:
        self.log.append((f"{self.name} enter {start.operation}", CURRENT.get()))
        token = CURRENT.set(f"{self.name} {start.call}")
        try:
            yield {name.replace("_", "-"): value for name, value in self.headers.items()}
        finally:
            self.log.append((f"{self.name} exit", CURRENT.get().split()[0]))
            CURRENT.reset(token)


def order(log: list[tuple[str, str]]) -> list[str]:
    return [what for what, _ in log]


# ── order ──


async def test_everything_of_a_call_is_inside_and_the_last_entered_is_left_first() -> None:
    log: list[tuple[str, str]] = []
    listeners = [
        Surrounding(log, "a"),
        lambda record: log.append((type(record).__name__, "")),
        Surrounding(log, "b"),
    ]
    await Stage(reply(503, b""), reply(), telemetry=listeners).list()
    records = ["a Attempt", "Attempt", "b Attempt"] * 2 + ["a Outcome", "Outcome", "b Outcome"]
    entered = ["a enter messages.list_user", "b enter messages.list_user"]
    assert order(log) == [*entered, *records, "b exit", "a exit"]
    assert {current.split()[0] for what, current in log[2:-2] if current} == {"b"}


@pytest.mark.parametrize(
    ("answer", "error"),
    [(reply(404), NotFoundError), (ConnectError("no"), ConnectError), (forever, DeadlineExceededError)],
    ids=["refused", "no connection", "deadline"],
)
async def test_an_error_leaves_it_after_the_outcome(answer: Any, error: type[Exception]) -> None:
    log: list[tuple[str, str]] = []
    with pytest.raises(error):
        await Stage(answer, telemetry=Surrounding(log)).list(deadline=0.01 if answer is forever else None)
    assert order(log)[0] == "a enter messages.list_user"
    assert order(log)[-2:] == ["a Outcome", "a exit"]
    assert CURRENT.get() == "outside"


# ── the context ──


async def test_it_is_entered_in_the_task_that_awaits_the_call() -> None:
    log: list[tuple[str, str]] = []
    stage = Stage(reply(), telemetry=Surrounding(log))
    running = (await stage.opened()).sender(users.USERS_LIST())

    async def await_it() -> str:
        CURRENT.set("another task")
        await running
        return CURRENT.get()

    assert await asyncio.create_task(await_it()) == "another task"
    assert log[0] == ("a enter users.list", "another task")
    assert CURRENT.get() == "outside"


async def test_a_call_that_is_closed_in_another_context_is_left_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[tuple[str, str]] = []
    running = (await Stage(forever, telemetry=Surrounding(log)).opened()).request("GET", "/users")
    copy_context().run(running.send, None)
    running.close()
    assert order(log)[1:] == ["a Attempt", "a Outcome", "a exit"]
    assert CURRENT.get() == "outside"
    assert [line.message for line in caplog.records] == ["a telemetry listener failed"]  # its own `reset`


async def test_between_the_pages_of_a_walk_nothing_is_held() -> None:
    page = b'{"data":[{"uid":"a"},{"uid":"b"}],"meta":{"pagination":{"total_pages":3,"current_page":1}}}'
    stage = Stage(reply(200, page), reply(), telemetry=Surrounding([]))
    values = [CURRENT.get() async for _ in (await stage.opened()).users.list()]
    assert values == ["outside", "outside"]


async def test_calls_at_the_same_time_have_contexts_of_their_own() -> None:
    log: list[tuple[str, str]] = []
    free = asyncio.Event()

    async def wait() -> Any:
        mine = CURRENT.get()
        await free.wait()
        assert CURRENT.get() == mine
        contexts.add(mine)
        return reply()

    contexts: set[str] = set()
    stage = Stage(wait, telemetry=Surrounding(log))
    tasks = [asyncio.create_task(stage.list()) for _ in range(10)]
    await turns()
    free.set()
    await asyncio.gather(*tasks)
    assert len(contexts) == 10


# ── headers ──


async def test_its_headers_are_sent_with_every_attempt() -> None:
    stage = Stage(reply(503, b""), reply(), telemetry=Surrounding([], x_trace="1"))
    await stage.list()
    assert [request.headers["x-trace"] for request in stage.requests] == ["1", "1"]
    assert all(request.headers["apikey"] == KEY for request in stage.requests)
    assert "x-trace" not in repr(stage.requests)


async def test_its_headers_never_replace_others() -> None:
    listeners = [Surrounding([], x_trace="a", accept="a"), Surrounding([], X_Trace="b", x_more="b")]
    listeners.append(Surrounding([], x_trace="c"))
    stage = Stage(reply(), telemetry=listeners, headers={"X-More": "the caller's"})
    await stage.list()
    [request] = stage.requests
    sent = {
        name: value
        for name, value in request.headers.items()
        if name.lower() in ("accept", "x-trace", "x-more")
    }
    assert sent == {"Accept": "application/json", "x-trace": "a", "X-More": "the caller's"}


@pytest.mark.parametrize(
    "headers",
    [
        {"apikey": "mine"},
        {"X-A": "a\r\nX-B: b"},
        {"X A": "a"},
        {"onBehalfOf": UID},
        {"X-A": 7},
        [("X-A", "a")],
        7,
    ],
    ids=str,
)
async def test_headers_that_cannot_be_sent_are_logged_and_left_out(
    headers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(reply(), telemetry=[Around(lambda: headers), Surrounding([], x_good="1")])
    assert await stage.list() == []
    [request] = stage.requests
    assert set(request.headers) == {"apikey", "appId", "Accept", "x-good"}
    assert request.headers["apikey"] == KEY
    assert [line.message for line in caplog.records] == ["a telemetry listener failed"]


# ── its own failures ──


class Around:
    """A listener whose context manager calls `enter` and `leave`."""

    def __init__(self, enter: Any = lambda: None, leave: Any = lambda: None) -> None:
        self.enter, self.leave = enter, leave

    def __call__(self, record: Telemetry) -> None:
        pass

    def around_call(self, start: CallStart) -> AbstractContextManager[Any]:
        return _Manager(self)


class _Manager:
    def __init__(self, around: Around) -> None:
        self.around = around

    def __enter__(self) -> Any:
        return self.around.enter()

    def __exit__(self, *error: object) -> bool:
        assert error == (None, None, None)
        self.around.leave()
        return True  # would suppress the error of the call


def fail() -> None:
    raise KeyError("a listener's own")


@pytest.mark.parametrize("answer", [reply(), reply(404)], ids=["success", "error"])
@pytest.mark.parametrize(
    "around", [Around(enter=fail), Around(leave=fail), Around()], ids=["enter", "exit", "none"]
)
async def test_its_failures_and_its_true_do_not_change_the_call(
    answer: Any, around: Around, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[tuple[str, str]] = []
    stage = Stage(answer, telemetry=[Surrounding(log, "a"), around, Surrounding(log, "b")])
    [done] = await asyncio.gather(stage.list(), return_exceptions=True)
    assert done == [] if answer.status == 200 else isinstance(done, NotFoundError)
    assert not isinstance(getattr(done, "__context__", None), KeyError)
    assert order(log)[-2:] == ["b exit", "a exit"]
    failures = ["a telemetry listener failed"] * (around.enter is fail or around.leave is fail)
    assert [line.message for line in caplog.records if line.levelno > logging.INFO] == failures
    assert stage.session.pools["us"].active == 0


async def test_an_interrupt_while_entering_leaves_what_was_entered() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    left: list[str] = []
    listeners = [Around(leave=lambda: left.append("a")), Around(enter=interrupt)]
    running = (await Stage(reply(), telemetry=listeners).opened()).request("GET", "/users")
    with pytest.raises(KeyboardInterrupt):
        running.send(None)
    assert left == ["a"]
