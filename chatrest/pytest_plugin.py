"""Fixtures for pytest: a running emulator and a session on it, whose waits take no real time.

    import pytest
    from chatrest import NewMessage
    from chatrest.emulator import First, Status

    async def test_of_mine(chatrest_emulator, chatrest_session):
        text = NewMessage.text("user-002", "hi")
        sent = await chatrest_session.messages.send(text, on_behalf_of="user-001")
        assert chatrest_emulator.store.message(int(sent.id))

    @pytest.mark.chatrest(messages=500, weather=[Status(503, when=First(2))])
    async def test_of_bad_weather(chatrest_session): ...

pytest loads this plugin if chatrest is installed. The two need pytest-asyncio in either mode, and fail with a
message without it; `chatrest_aioresponses` needs aioresponses. In pytest-asyncio's strict mode the mark
`chatrest` implies the mark `asyncio`, and so does each fixture of this plugin. chatrest and aiohttp are
imported only when a fixture is used.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from inspect import iscoroutinefunction
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from aioresponses import aioresponses

    from .emulator import Emulator
    from .session import AsyncSession
    from .testing import VirtualTime

SMALL: Final = {"users": 5, "messages": 100, "groups": 1, "seed": 0}
"""The default size of the emulator's data."""
_ASYNCIO_PLUGINS: Final = ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")
"""The names under which pytest may have registered pytest-asyncio."""
_FIXTURE_PREFIX: Final = "chatrest_"


@pytest.fixture
def chatrest_time() -> "VirtualTime":
    """The `VirtualTime` of `chatrest_emulator`, `chatrest_session` and exports; `slept` lists all waits."""
    from .testing import VirtualTime

    return VirtualTime()


@pytest.fixture
def chatrest_emulator_options() -> dict[str, Any]:
    """Arguments of `Emulator` for `chatrest_emulator`: override it in your conftest or module."""
    return {}


@pytest.fixture
def chatrest_session_options() -> dict[str, Any]:
    """Arguments of `AsyncSession` for `chatrest_session`: override it in your conftest or module."""
    return {}


@pytest.fixture
def chatrest_aioresponses(monkeypatch: pytest.MonkeyPatch) -> "Iterator[aioresponses]":
    """An active `aioresponses`, which replaces the network of aiohttp; it works with aiohttp 3.14, too.

    aioresponses 0.7.9 makes responses without `stream_writer`, an argument that aiohttp 3.14 requires.
    """
    core = pytest.importorskip("aioresponses.core", reason="chatrest_aioresponses needs aioresponses")
    from inspect import signature
    from unittest.mock import Mock

    client_response = core.ClientResponse

    def response(*args: Any, **kwargs: Any) -> Any:
        return client_response(*args, **{"stream_writer": Mock(output_size=0), **kwargs})

    if "stream_writer" in signature(client_response).parameters:
        monkeypatch.setattr(core, "ClientResponse", response)
    with core.aioresponses() as mock:
        yield mock


async def _chatrest_emulator(
    request: pytest.FixtureRequest, chatrest_time: "VirtualTime", chatrest_emulator_options: dict[str, Any]
) -> AsyncIterator["Emulator"]:
    """A new running `chatrest.emulator.Emulator` with a few messages for each test.

    Arguments of `@pytest.mark.chatrest(users=…, messages=…, weather=…, limit=…)` override the fixture
    `chatrest_emulator_options`; a mark of the test overrides those of its class and module.
    """
    from .emulator import Emulator

    options: dict[str, Any] = SMALL | chatrest_time.emulator
    options |= chatrest_emulator_options
    for mark in reversed(list(request.node.iter_markers("chatrest"))):
        if mark.args:
            raise pytest.UsageError(
                f"@pytest.mark.chatrest{mark.args!r}: expected only keyword arguments, those of Emulator"
            )
        options |= mark.kwargs
    async with Emulator(**options) as emulator:
        yield emulator


async def _chatrest_session(
    chatrest_emulator: "Emulator", chatrest_time: "VirtualTime", chatrest_session_options: dict[str, Any]
) -> AsyncIterator["AsyncSession"]:
    """An open `AsyncSession` for `chatrest_emulator`; waits take no real time, and dice always give 0.5."""
    from .session import AsyncSession

    async with AsyncSession(
        chatrest_emulator.app, **chatrest_time.session | chatrest_session_options
    ) as session:
        yield session


def _missing_fixture(name: str) -> Any:
    def fixture() -> None:
        pytest.fail(
            f"the fixture {name} needs pytest-asyncio, which is not installed or disabled", pytrace=False
        )

    fixture.__doc__ = f"Not available: {name} needs pytest-asyncio."
    return pytest.fixture(name=name)(fixture)


def _has_asyncio(config: pytest.Config) -> bool:
    return any(config.pluginmanager.hasplugin(name) for name in _ASYNCIO_PLUGINS)


# Last, so that pytest-asyncio, which looks for its mark in the same hook, finds it.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Mark the tests of chatrest for asyncio."""
    collected: Any = yield
    for item in collected if isinstance(collected, list) else [collected]:
        if isinstance(item, pytest.Function) and _has_asyncio(collector.config):
            names = (name.startswith(_FIXTURE_PREFIX) for name in item.fixturenames)
            if iscoroutinefunction(item.obj) and (item.get_closest_marker("chatrest") or any(names)):
                item.add_marker("asyncio")
    return collected


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and the fixtures; at this point it is known if pytest-asyncio is loaded."""
    config.addinivalue_line(
        "markers", "chatrest(**options): arguments of chatrest.emulator.Emulator for chatrest_emulator"
    )
    # pytest finds fixtures in modules and classes; functions of a class would get `self`.
    module = ModuleType("chatrest_fixtures")
    for name, function in (
        ("chatrest_emulator", _chatrest_emulator),
        ("chatrest_session", _chatrest_session),
    ):
        if _has_asyncio(config):
            # Not before: pytest cannot rewrite the asserts of a plugin that was imported until then.
            from pytest_asyncio import fixture

            setattr(module, name, fixture(name=name)(function))
        else:
            setattr(module, name, _missing_fixture(name))
    config.pluginmanager.register(module, "chatrest-fixtures")
