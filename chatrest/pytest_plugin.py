"""Fixtures for pytest: a running emulator and a session on it, in which no wait takes any time.

    async def test_of_mine(chatrest_emulator, chatrest_session):
        sent = await chatrest_session.messages.send(NewMessage.text("user-02", "hi"), on_behalf_of="user-01")
        assert chatrest_emulator.store.message(int(sent.id))

    @pytest.mark.chatrest(messages=500, weather=[Status(503, when=First(2))])
    async def test_of_bad_weather(chatrest_session): ...

Loaded by pytest itself where chatrest is installed. The fixtures need pytest-asyncio, in either mode, and
say so where it is missing. Nothing is imported, aiohttp least of all, before one of them is used.
"""

from collections.abc import AsyncIterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, final

import pytest

if TYPE_CHECKING:
    from .emulator import Emulator
    from .session import AsyncSession

SMALL: Final = {"users": 5, "messages": 100, "groups": 1, "seed": 0}
"""The emulator's data where neither options nor marker say otherwise."""
START: Final = 1_700_000_000.0
"""Epoch seconds at which `ChatRestTime` begins."""
_NAMES: Final = ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")


@final
class ChatRestTime:
    """The time of emulator and session: it passes by being slept, and sleeping takes none.

    A limit's window is over, and a late reply there, once somebody has slept for it.
    """

    def __init__(self) -> None:
        self.now = START
        """Epoch seconds; a test may set it on."""
        self.slept: list[float] = []
        """The sleeps in seconds, the oldest first."""

    def clock(self) -> float:
        """`now`."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move `now` on by `seconds`, and let the event loop turn once."""
        import asyncio

        self.slept.append(seconds)
        self.now += max(0.0, seconds)
        await asyncio.sleep(0)


@pytest.fixture
def chatrest_time() -> ChatRestTime:
    """The clock that `chatrest_emulator` and `chatrest_session` share; `slept` holds all waits."""
    return ChatRestTime()


@pytest.fixture
def chatrest_emulator_options() -> dict[str, Any]:
    """Arguments of `Emulator` for `chatrest_emulator`: override it in your conftest or module."""
    return {}


@pytest.fixture
def chatrest_session_options() -> dict[str, Any]:
    """Arguments of `AsyncSession` for `chatrest_session`: override it in your conftest or module."""
    return {}


async def _chatrest_emulator(
    request: pytest.FixtureRequest, chatrest_time: ChatRestTime, chatrest_emulator_options: dict[str, Any]
) -> AsyncIterator["Emulator"]:
    """A running `chatrest.emulator.Emulator` with a little data, fresh for every test.

    What `@pytest.mark.chatrest(users=…, messages=…, weather=…, limit=…)` says goes before what the fixture
    `chatrest_emulator_options` says; the nearest mark goes before those of class and module.
    """
    from .emulator import Emulator

    options: dict[str, Any] = {**SMALL, "clock": chatrest_time.clock, "sleep": chatrest_time.sleep}
    options |= chatrest_emulator_options
    for mark in reversed(list(request.node.iter_markers("chatrest"))):
        if mark.args:
            raise pytest.UsageError(f"@pytest.mark.chatrest takes keywords alone, not {mark.args!r}")
        options |= mark.kwargs
    async with Emulator(**options) as emulator:
        yield emulator


async def _chatrest_session(
    chatrest_emulator: "Emulator", chatrest_time: ChatRestTime, chatrest_session_options: dict[str, Any]
) -> AsyncIterator["AsyncSession"]:
    """An open `AsyncSession` on `chatrest_emulator` whose waits take no time and whose dice are even."""
    from .session import AsyncSession

    defaults: dict[str, Any] = {
        "clock": chatrest_time.clock,
        "sleep": chatrest_time.sleep,
        "dice": lambda: 0.5,
    }
    async with AsyncSession(chatrest_emulator.app, **defaults | chatrest_session_options) as session:
        yield session


def _without(name: str) -> Any:
    def fixture() -> None:
        pytest.fail(
            f"the fixture {name} needs pytest-asyncio: install it, and do not disable it", pytrace=False
        )

    fixture.__doc__ = f"Not to be had: {name} needs pytest-asyncio."
    return pytest.fixture(name=name)(fixture)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark, and the async fixtures now that it is known if pytest-asyncio is there."""
    config.addinivalue_line(
        "markers", "chatrest(**options): arguments of chatrest.emulator.Emulator for chatrest_emulator"
    )
    fixtures: dict[str, Any] = {
        "chatrest_emulator": _chatrest_emulator,
        "chatrest_session": _chatrest_session,
    }
    if any(config.pluginmanager.hasplugin(name) for name in _NAMES):
        # Not before: a plugin that is imported ahead of its loading cannot have its asserts rewritten.
        from pytest_asyncio import fixture

        registered: dict[str, Any] = {
            name: fixture(name=name)(function) for name, function in fixtures.items()
        }
    else:
        registered = {name: _without(name) for name in fixtures}
    # pytest looks for fixtures in modules and classes; a class would hand them a `self`.
    holder = ModuleType("chatrest_fixtures")
    holder.__dict__.update(registered)
    config.pluginmanager.register(holder, "chatrest-fixtures")
