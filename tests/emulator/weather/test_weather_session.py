"""A session in bad weather: what the emulator is for, from end to end."""

from typing import Any

import pytest

from chatrest import (
    AsyncSession,
    CursorError,
    MessageQuery,
    NewMessage,
    OutcomeUnknownError,
    ReplyUnreadableError,
    RequestTimeoutError,
    Timeouts,
    TransportError,
)
from chatrest.emulator import Emulator, RateLimit
from chatrest.emulator.weather import (
    BadGzip,
    CursorCycles,
    CursorMovesBack,
    CursorRepeats,
    Cut,
    Fault,
    First,
    GzipBomb,
    HalfOpen,
    Reset,
    Status,
    storm,
)
from chatrest.pytest_plugin import ChatRestTime

HI = NewMessage.text("user-02", "hi")


def session(emulator: Emulator, time: ChatRestTime, **options: Any) -> AsyncSession:
    return AsyncSession(
        emulator.app, **{"clock": time.clock, "sleep": time.sleep, "dice": lambda: 0.5, **options}
    )


def served(*faults: Fault, **options: Any) -> tuple[Emulator, ChatRestTime]:
    time = ChatRestTime()
    options = {"users": 4, "messages": 150, "groups": 1, "seed": 3} | options
    return Emulator(weather=faults, clock=time.clock, sleep=time.sleep, **options), time


@pytest.mark.parametrize(("seed", "intensity"), [(0, 0.3), (1, 0.3), (2, 0.8), (3, 0.8)])
async def test_a_storm_is_survived(seed: int, intensity: float) -> None:
    emulator, time = served(*storm(seed, intensity), seed=seed)
    async with emulator, session(emulator, time) as chat:
        assert [int(m.id) for m in await chat.messages.list().collect()] == emulator.store.ids()[::-1]
        mine = await chat.messages.list_user("user-01").collect()
        assert [int(m.id) for m in mine][::-1] == emulator.store.ids(participant="user-01")
        texts = [await chat.messages.send(HI, on_behalf_of="user-01") for _ in range(8)]
        assert emulator.store.ids()[-8:] == [int(m.id) for m in texts]
        assert len(emulator.store.ids()) == 158


@pytest.mark.parametrize("fault", [Reset, HalfOpen, Status], ids=lambda kind: str(kind.__name__))
@pytest.mark.parametrize("processed", [False, True])
async def test_a_lost_reply_to_a_send_is_an_unknown_outcome(fault: Any, processed: bool) -> None:
    emulator, time = served(fault(processed=processed, when=First()))
    async with emulator, session(emulator, time, timeouts=Timeouts(read=0.05)) as chat:
        with pytest.raises(OutcomeUnknownError):
            await chat.messages.send(HI, on_behalf_of="user-01")
        assert len(emulator.store.ids()) == 150 + processed
        assert len(emulator.requests) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Reset(), TransportError), (Reset(after=20), TransportError), (Cut(20), ReplyUnreadableError),
        (HalfOpen(), RequestTimeoutError), (BadGzip(), ReplyUnreadableError),
        (GzipBomb(1 << 21), ReplyUnreadableError),
    ],
    ids=repr,
)  # fmt: skip
async def test_faults_that_never_end_are_raised(fault: Fault, kind: type[Exception]) -> None:
    emulator, time = served(fault)
    # Only what never answers is given up early: a busy machine may take its time for the others.
    read = 0.03 if isinstance(fault, HalfOpen) else 20.0
    options = {"timeouts": Timeouts(read=read), "max_reply_bytes": 1 << 20}
    async with emulator, session(emulator, time, **options) as chat:
        with pytest.raises(kind):
            await chat.messages.list().collect()
        is_repeated = not isinstance(fault, GzipBomb)  # what is too large stays so
        assert (len(emulator.requests) > 1) is is_repeated


@pytest.mark.parametrize("fault", [CursorRepeats(), CursorMovesBack(3), CursorCycles((90, 80, 70))], ids=repr)
async def test_wrong_cursors_are_errors(fault: Fault) -> None:
    emulator, time = served(fault)
    async with emulator, session(emulator, time) as chat:
        with pytest.raises(CursorError):
            await chat.messages.list(query=MessageQuery(limit=20)).collect()


@pytest.mark.parametrize(("kind", "headers"), [("fixed", "a"), ("sliding", "b"), ("bucket", "retry-after")])
async def test_a_limit_is_waited_for(kind: Any, headers: Any) -> None:
    limit = RateLimit(kind=kind, per_window=4, window=60.0, headers=headers)
    emulator, time = served(limit=limit)
    async with emulator, session(emulator, time) as chat:
        for _ in range(12):
            await chat.users.list().limit(1).collect()
        assert emulator.limited.allowed == 12
        assert sum(time.slept) >= 60
