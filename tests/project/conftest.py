"""The connections that the client opens."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def note_transports(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], object]], None]:
    """A function that has another one called with each transport from now on."""
    create = asyncio.BaseEventLoop.create_connection

    def begin(note: Callable[[Any], object]) -> None:
        async def create_connection(*args: Any, **kwargs: Any) -> Any:
            transport, protocol = await create(*args, **kwargs)
            note(transport)
            return transport, protocol

        monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)

    return begin
