"""Calls that begin, end and are cancelled at any moment: the input of property tests of waiting calls."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from chatrest._network.places import PRIORITIES, Priority

Task = asyncio.Task[None]


def spawn(*works: Coroutine[Any, Any, None]) -> list[Task]:
    return [asyncio.create_task(work) for work in works]


async def run_loop(number: int) -> None:
    """Run iterations of the event loop without passing time."""
    for _ in range(number):
        await asyncio.sleep(0)


async def ended(tasks: list[Task]) -> None:
    for done in await asyncio.gather(*tasks, return_exceptions=True):
        assert done is None or isinstance(done, asyncio.CancelledError), done


@dataclass(frozen=True)
class Visit:
    """A call that arrives, stays, ends, and may be cancelled; in half seconds and loop iterations."""

    lane: Priority
    comes: int
    stays: int
    cancelled: int | None
    turns: int
    app: str = "app-1"


visits = st.lists(
    st.builds(
        Visit,
        lane=st.sampled_from(PRIORITIES),
        comes=st.integers(0, 6),
        stays=st.integers(0, 4),
        cancelled=st.none() | st.integers(0, 12),
        turns=st.integers(0, 3),
        app=st.sampled_from(["app-1", "app-2", "app-3"]),
    ),
    max_size=25,
)


async def cancel(task: Task, visit: Visit) -> None:
    if visit.cancelled is not None:
        await asyncio.sleep(visit.cancelled / 2)
        await run_loop(visit.turns)
        task.cancel()


async def play(visits: list[Visit], work: Callable[[int, Visit], Coroutine[Any, Any, None]]) -> None:
    """Run `work` for each visit, and cancel those that are to be cancelled."""
    tasks = spawn(*(work(number, visit) for number, visit in enumerate(visits)))
    await ended(tasks + spawn(*(cancel(*pair) for pair in zip(tasks, visits, strict=True))))
