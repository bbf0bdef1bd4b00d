"""A fan-out on a cluster: its outcomes, its journal, and workers that die."""

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chatrest import App, AsyncSession, NotFoundError, OutcomeUnknownError, Pace, RequestInvalidError
from chatrest.emulator import Emulator

distributed = pytest.importorskip("distributed")

from chatrest.distributed import ClusterError, fan_out  # noqa: E402, it needs distributed

VARIABLES = ("CHATREST_APP_ID", "CHATREST_API_KEY", "CHATREST_BASE_URL")
FAST = Pace(rate=1000, window=1)
APP = App("app-1", "k3y-0f-th3-app", "eu", service_domain="chat.example.com")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The credentials of workers are in their environment, which is this one's."""
    set_environment(monkeypatch, APP)


def set_environment(monkeypatch: pytest.MonkeyPatch, app: App) -> None:
    for name, value in zip(VARIABLES, (app.app_id, app.api_key, app.chat_url), strict=True):
        monkeypatch.setenv(name, value)


def cluster_of(count: int, *, processes: bool = False) -> Any:
    """Return a cluster of workers with one thread each."""
    # A process that is forked by a server has that one's environment.
    options = {"env": {name: os.environ[name] for name in VARIABLES}} if processes else {}
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, processes=processes, asynchronous=True,
        dashboard_address=":0", memory_limit=0, silence_logs=50, **options,
    )  # fmt: skip


async def read_user(session: AsyncSession, uid: str) -> str:
    """Return the uid of a user."""
    return (await session.users.get(uid)).uid


async def note(folder: Path, _: AsyncSession, name: str) -> str:
    """Add a line to the file of a name; the first run of `doomed` kills its process."""
    with (folder / name).open("a") as file:
        file.write("run\n")
    if name == "doomed" and (folder / name).read_text() == "run\n":
        os.kill(os.getpid(), signal.SIGKILL)
    return name


async def wait_and_note(folder: Path, _: AsyncSession, name: str) -> None:
    """Wait for ever, and note the cancellation."""
    (folder / f"{name}-begun").touch()
    try:
        await asyncio.Event().wait()
    finally:
        (folder / f"{name}-cancelled").touch()


async def files(folder: Path, pattern: str, count: int) -> None:
    """Wait until a folder has so many files."""
    async with asyncio.timeout(10):
        while len(list(folder.glob(pattern))) < count:  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)


async def test_outcomes_come_from_all_workers_and_errors_are_outcomes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uids = [*(f"user-{number:02}" for number in range(1, 31)), "nobody"]
    async with Emulator(users=30, messages=0) as emulator:
        set_environment(monkeypatch, emulator.app)
        async with (
            cluster_of(2) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
            fan_out(
                client, emulator.app, uids, read_user, pace=FAST, concurrency=8, ordered=True
            ) as outcomes,
        ):
            results = [outcome async for outcome in outcomes]
            story = await client.story(*[str(key) for key in cluster.scheduler.tasks], on_error="ignore")
            kept, api_key = repr(list(cluster.scheduler.tasks)) + repr(story), emulator.app.api_key
    assert [outcome.item for outcome in results] == uids
    assert [outcome.value for outcome in results[:-1]] == uids[:-1]
    assert isinstance(results[-1].error, NotFoundError)
    assert outcomes.counts.failed == 1
    assert "user-" not in kept
    assert api_key not in kept


async def test_a_journal_goes_on_from_one_machine_to_a_cluster_and_back(tmp_path: Path) -> None:
    work, journal = partial(note, tmp_path), tmp_path / "outcomes.journal"
    async with (
        cluster_of(1) as cluster,
        distributed.Client(cluster, asynchronous=True) as client,
        AsyncSession(APP) as session,
    ):
        async with session.fan_out(["a", "b"], partial(work, session), journal=journal) as here:
            assert sorted([outcome.item async for outcome in here]) == ["a", "b"]
        async with fan_out(client, APP, ["a", "b", "c", "d"], work, journal=journal) as there:
            assert sorted([outcome.item async for outcome in there]) == ["c", "d"]
            assert there.counts.skipped == 2
        async with session.fan_out(
            ["a", "b", "c", "d", "e"], partial(work, session), journal=journal
        ) as again:
            assert [outcome.item async for outcome in again] == ["e"]
        with pytest.raises(ZeroDivisionError):  # noqa: PT012
            async with fan_out(client, APP, ["f"], work, journal=journal) as failing:
                await anext(failing)
                raise ZeroDivisionError
        async with fan_out(client, APP, ["f"], work, journal=journal) as repeated:
            assert [outcome.item async for outcome in repeated] == ["f"]  # the block had not dealt with it


async def test_an_item_of_a_killed_worker_is_run_again_only_with_a_journal(tmp_path: Path) -> None:
    safe, unsafe = tmp_path / "safe", tmp_path / "unsafe"
    safe.mkdir()
    unsafe.mkdir()
    async with (
        cluster_of(2, processes=True) as cluster,
        distributed.Client(cluster, asynchronous=True) as client,
    ):
        async with fan_out(client, APP, ["a", "doomed", "b"], partial(note, unsafe)) as outcomes:
            results = {outcome.item: outcome async for outcome in outcomes}
        assert isinstance(results["doomed"].error, OutcomeUnknownError)
        assert (unsafe / "doomed").read_text() == "run\n"
        journal = tmp_path / "outcomes.journal"
        async with fan_out(client, APP, ["doomed"], partial(note, safe), journal=journal) as outcomes:
            assert [outcome.value async for outcome in outcomes] == ["doomed"]
        assert (safe / "doomed").read_text() == "run\n" * 2


async def test_leaving_cancels_the_items_that_run(tmp_path: Path) -> None:
    async with cluster_of(1) as cluster, distributed.Client(cluster, asynchronous=True) as client:
        async with fan_out(client, APP, ["a", "b"], partial(wait_and_note, tmp_path)):
            await files(tmp_path, "*-begun", 2)
        await files(tmp_path, "*-cancelled", 2)


async def test_a_scheduler_that_goes_away_ends_it_without_outcomes(tmp_path: Path) -> None:
    work, journal = partial(wait_and_note, tmp_path), tmp_path / "outcomes.journal"
    async with (
        cluster_of(1) as cluster,
        distributed.Client(cluster, asynchronous=True) as client,
        fan_out(client, APP, ["a"], work, journal=journal) as outcomes,
    ):
        await files(tmp_path, "*-begun", 1)
        await cluster.close()
        with pytest.raises(ClusterError, match=r"the scheduler at .* is gone"):
            await anext(outcomes)
    assert len(journal.read_text().splitlines()) == 1


async def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(RequestInvalidError, match="client"):
        fan_out(None, APP, [], read_user)  # type: ignore[arg-type]
    async with cluster_of(1) as cluster, distributed.Client(cluster, asynchronous=True) as client:
        with pytest.raises(RequestInvalidError, match="worker"):
            fan_out(client, APP, [], "read_user")  # type: ignore[arg-type]
        with pytest.raises(RequestInvalidError, match="app: allowed is an App, and not a str"):
            fan_out(client, APP.api_key, [], read_user)  # type: ignore[arg-type]
