"""Fixtures of all tests: a fixed aioresponses, no syncs, and a check for tasks that a test leaves behind."""

import asyncio
import gc
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aioresponses import aioresponses
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from chatrest import _storage as storage
from chatrest._cloud.store import ObjectStore
from chatrest._core.pace import pacer
from tests.support.buckets import Buckets

# The suite runs the same examples every time, so that it fails for a change and not by chance, and half of
# the usual number; a test that needs more says so. No deadline, as machines are shared. `.ci/run` runs the
# tests of the walk with the profile `nightly`, too: always the same. `pytest --hypothesis-profile=explore`
# looks for new examples.
settings.register_profile("suite", max_examples=50, deadline=None, derandomize=True, database=None)
settings.register_profile("nightly", settings.get_profile("suite"), max_examples=1_000)
settings.register_profile("explore", max_examples=400, deadline=None, print_blob=True)
settings.load_profile("suite")

# Hypothesis takes the constants of all modules that are imported by then into its examples: they would depend
# on the order of the tests, and on any line of any module. To find the constants takes 0.4 s a worker, too.
if not any("explore" in argument for argument in sys.argv):
    providers._get_local_constants = lambda: providers._local_constants

# The bytecode of tests and package is kept: each worker, and each process that a test starts, would compile
# all of it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Worker processes of Dask are forked from one that has imported it: each would import it for 2 s.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

# Dask's profiler can stop a process for ever: `distributed/worker.py` has why.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")

# Most tests write exports, of many small files each: in memory they cost the system half of the time.
_MEMORY = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# A shell starts a background job with SIGINT ignored, and the processes of the tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a worker that has nothing left take tests from another: those of a file stay together till then."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage meanwhile: what is imported and collected stays to the end of the process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the check of types, which is one process of many seconds, after the tests were shuffled."""
    items.sort(key=lambda item: "guides_python_are_typed" not in item.name)


@pytest.fixture(scope="session", autouse=True)
def no_syncs() -> Iterator[None]:
    """Turn off syncs of files and databases: without a real power failure they only cost time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(storage, "SETTINGS", storage.SETTINGS.replace("=FULL", "=OFF"))
        yield


@pytest.fixture
def fast_ramp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin bulk ramps at the documented rates, so that sessions with a real clock do not wait for slots.

    `tests/core/pace/test_pacer.py` tests the ramp itself.
    """
    monkeypatch.setattr(pacer, "FIRST_RATE", max(pacer.DOCUMENTED_RATES.values()))


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> Buckets:
    """Have object stores in memory at all addresses."""
    buckets = Buckets()
    monkeypatch.setattr(ObjectStore, "open", buckets.open)
    return buckets


@pytest.fixture
def http(chatrest_aioresponses: aioresponses) -> aioresponses:
    """Replace the network of aiohttp; `http.requests` has the requests."""
    return chatrest_aioresponses


@pytest.fixture
async def tidy() -> AsyncIterator[None]:
    """Fail a test that leaves a task behind, or an object that warns when it is collected."""
    yield
    for _ in range(3):  # a closed transport tells its protocol in the next iteration of the loop
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks left behind: {left}"
    gc.collect(1)  # objects of the test are in a young generation; a full collection takes 50 ms
