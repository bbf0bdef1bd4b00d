"""Work in a thread is always awaited, also if it is cancelled several times."""

import asyncio
import threading
from pathlib import Path

import pytest

from chatrest._threads import in_thread
from chatrest.export import Plan
from chatrest.export.run.run import export_folder
from chatrest.export.store.disk import Disk
from tests.cases import loop_over
from tests.export_runs import served
from tests.scripted_session import turns

pytestmark = pytest.mark.usefixtures("tidy")


class Gate:
    """A door where a thread waits until it is let through."""

    def __init__(self) -> None:
        self._reached, self._open = threading.Event(), threading.Event()

    def wait(self) -> None:
        self._reached.set()
        assert self._open.wait(120)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 120)

    def open(self) -> None:
        self._open.set()


@loop_over("cancels", [1, 2, 5])
async def test_a_cancel_waits_for_the_thread_and_so_does_another(cancels: int) -> None:
    gate, undone = Gate(), list[str]()

    def work() -> str:
        gate.wait()
        return "made"

    task = asyncio.ensure_future(in_thread(work, undone.append))
    await gate.reached()
    for _ in range(cancels):
        task.cancel()
        await turns()
        assert not task.done()
    assert undone == []
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert undone == ["made"]


class SlowDisk(Disk):
    """Its `at`th sync waits at the gate."""

    def __init__(self, gate: Gate, at: int) -> None:
        self._gate, self._left = gate, at

    def sync(self, file: int) -> None:
        self._left -= 1
        if self._left == 0:
            self._gate.wait()


@pytest.mark.parametrize("sync", [1, 2, 3])
@pytest.mark.usefixtures("small_pages")
async def test_an_export_that_is_cancelled_twice_lets_go_of_its_folder(sync: int, tmp_path: Path) -> None:
    async with served(100) as service:
        gate = Gate()
        work = asyncio.ensure_future(
            export_folder(service.session, tmp_path / "out", Plan(all_users=True), disk=SlowDisk(gate, sync))
        )
        await gate.reached()
        for _ in range(3):
            work.cancel()
            await turns()
        assert not work.done()
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await work
        await service.export_whole(tmp_path / "out", Plan(all_users=True))
