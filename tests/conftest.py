"""What all tests share: a mended aioresponses, and a check that a test has left nothing behind."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from unittest.mock import Mock

import pytest
from aiohttp import ClientResponse
from aioresponses import aioresponses, core as aioresponses_core


class _Response(ClientResponse):
    """aioresponses 0.7.9 does not know the argument `stream_writer`, which aiohttp 3.14 asks for."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"stream_writer": Mock(output_size=0), **kwargs})  # type: ignore[arg-type]


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Iterator[aioresponses]:
    """aiohttp without a network: what is sent is in `http.requests`."""
    monkeypatch.setattr(aioresponses_core, "ClientResponse", _Response)
    with aioresponses() as mock:
        yield mock


@pytest.fixture
async def tidy() -> AsyncIterator[None]:
    """Fails the test that leaves a task behind, or something that warns when it is collected."""
    yield
    for _ in range(3):  # a closed transport says so to its protocol one turn of the loop later
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"
    gc.collect(1)  # what a test made is young: a full collection of everything else takes 50 ms
