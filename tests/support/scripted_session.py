"""A session in virtual time whose transport gives answers in turn."""

import asyncio
from typing import Any, ClassVar

import pytest
from multidict import CIMultiDict

import chatrest._network.client as client_module
from chatrest import App, AsyncSession
from chatrest._core.requests.arguments import Timeouts
from chatrest._core.requests.wire import Request
from chatrest._network.transport import Reply
from chatrest._telemetry import Telemetry
from tests.support.scripted_server import KEY, Time

PAGE = b'{"data":[],"meta":{}}'
UID = "uid-of-somebody"


def reply(status: int = 200, body: bytes = PAGE, **headers: str) -> Reply:
    return Reply(
        status, CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()}), body
    )


async def forever() -> Reply:
    await asyncio.Event().wait()
    raise AssertionError


async def turns(count: int = 20) -> None:
    """Let other tasks run: a sleep of any time may end before them on a machine that is busy."""
    for _ in range(count):
        await asyncio.sleep(0)


class Stage:
    """A session whose transport gives the answers in turn, each after `slow` seconds; the last repeats.

    `requests` are the requests that the transport got, `records` those of the default listener. `install` has
    to be called before.
    """

    latest: ClassVar["Stage"]

    @staticmethod
    def install(monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the latest stage the transport of all sessions."""
        monkeypatch.setattr(client_module, "Transport", lambda **_: Stage.latest)

    def __init__(self, *answers: Any, slow: float = 0.0, app: App | None = None, **options: Any) -> None:
        Stage.latest = self
        self.answers, self.slow = list(answers), slow
        self.time = Time()
        self.records: list[Telemetry] = []
        self.requests: list[Request] = []
        options = {
            "telemetry": self.records.append, "dice": lambda: 0.0,
            "clock": self.time.clock, "sleep": self.time.sleep, **options,
        }  # fmt: skip
        self.session = AsyncSession(app or App("app-1", KEY, base_url="https://chat.invalid/v3"), **options)

    async def exchange(self, request: Request, timeouts: Timeouts) -> Reply:
        self.requests.append(request)
        self.time.now += self.slow
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else await answer()  # type: ignore[no-any-return]

    async def opened(self) -> AsyncSession:
        return await self.session.__aenter__()

    async def list(self, **options: Any) -> Any:
        return await (await self.opened()).with_options(**options).messages.list_user(UID).collect()
