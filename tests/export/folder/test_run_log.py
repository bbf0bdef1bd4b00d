"""The log of runs: one line each, complete after any crash; incomplete reports raise."""

import errno
import json
from collections import Counter
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from chatrest import App, AsyncSession, AuthenticationError, ChatRestError, ExportIncompleteError
from chatrest.emulator import Emulator, First, Status
from chatrest.export import ExportFailure, Plan, Report, changes, export, runs
from chatrest.export.folder.run_log import NAME, append_run, runs_in
from chatrest.export.run.folder_run import export_folder
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over
from tests.support.simulated_crashes import Fate, dies
from tests.support.stored_exports import UnsyncedDisk


@pytest.fixture
async def service() -> AsyncIterator[Emulator]:
    async with Emulator(users=3, messages=30, seed=1) as emulator:
        yield emulator


async def test_each_run_has_a_line_with_its_counts_and_failures(service: Emulator, tmp_path: Path) -> None:
    plan = Plan(users=["user-001"], groups=["nowhere"])
    clock = count(1_800_000_000)
    async with AsyncSession(service.app, clock=lambda: next(clock)) as session:
        first = await export_folder(session, tmp_path, plan)
        await export_folder(session, tmp_path, plan)
    first_line, second_line = runs(tmp_path)
    assert (first_line.written, first_line.messages) == (first.written, first.written)
    assert (second_line.written, second_line.messages) == (0, first.written)
    assert (first_line.complete, first_line.requests, first_line.reasons) == (False, first.requests, [])
    assert (first_line.run, second_line.run) == (first.run, first.run + 1) == (1, 2)
    assert [failure.source for failure in first_line.failed] == ["group nowhere"]
    assert first_line.seconds == first_line.finished - first_line.started > 0
    members = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    assert list(members[0]) == [
        "run", "started", "finished", "seconds", "complete", "reasons", "next_run", "failed", "written",
        "changed", "deleted", "missing", "messages", "requests", "only", "not_read", "by_app_list",
    ]  # fmt: skip


async def test_a_run_that_fails_has_a_line_with_the_error_and_without_the_key(
    service: Emulator, tmp_path: Path
) -> None:
    async with AsyncSession(service.app) as session:
        await export(session, tmp_path, Plan(users=["user-001"]))
    wrong = App(service.app.app_id, "quite-wrong-key", base_url=service.base_url)
    async with AsyncSession(wrong) as session:
        with pytest.raises(AuthenticationError):
            await export(session, tmp_path)
    first, second = runs(tmp_path)
    assert (first.complete, second.complete) == (True, False)
    assert second.messages == first.messages
    assert "401" in second.reasons[0]
    assert "quite-wrong-key" not in (tmp_path / NAME).read_text()


@pytest.mark.parametrize("route", ["messages.list_user", "groups.list"])
async def test_the_line_of_a_failed_run_counts_the_stored_messages(route: str, tmp_path: Path) -> None:
    """The key is refused while messages are read, or after them, for a table."""
    after = 20 if route == "messages.list_user" else 0
    weather = [Status(401, route=route, when=First(10_000, after=after))]
    async with (
        Emulator(users=10, messages=4_000, seed=3, weather=weather) as emulator,
        AsyncSession(emulator.app) as session,
    ):
        with pytest.raises(AuthenticationError):
            await export(session, tmp_path, tables=["groups"])
        [line] = runs(tmp_path)
        stored = len(list(changes(tmp_path)))
        assert line.written == line.messages == stored > 0
        emulator.weather.clear()
        last = await export(session, tmp_path)
    assert sum(each.written for each in runs(tmp_path)) == last.messages == 4_000


async def test_the_count_of_a_run_includes_messages_that_a_killed_run_could_not_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process dies between writing rows and noting them: the next run adopts them, and counts them."""
    async with Emulator(users=3, messages=600, seed=3) as service, AsyncSession(service.app) as session:
        for at in range(9, 16):
            fate = Fate(tmp_path / str(at), at)
            await dies(session, fate, Plan(), monkeypatch)
            report = await export(session, fate.out)
            new = Counter(change.run for change in changes(fate.out))
            assert (new.total(), report.written) == (600, new[report.run])


@pytest.mark.parametrize("torn", [b"", b'{"started":1', b"x" * 100_000])
def test_a_torn_last_line_is_cut_off_and_not_read(tmp_path: Path, torn: bytes) -> None:
    append_run(UnsyncedDisk(), tmp_path, Report(started=1))
    whole = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(whole + torn)
    assert [run.started for run in runs_in(tmp_path)] == [1]
    append_run(UnsyncedDisk(), tmp_path, Report(run=2, started=2))
    assert [run.started for run in runs_in(tmp_path)] == [1, 2]
    assert (tmp_path / NAME).read_bytes().startswith(whole + b'{"run":2,"started":2')


def test_lines_of_other_programs_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"note":"by hand"}\n\xff\n')
    append_run(UnsyncedDisk(), tmp_path, Report(started=2))
    assert [run.started for run in runs_in(tmp_path)] == [2]
    assert (tmp_path / NAME).read_bytes().startswith(b'{"note":"by hand"}\n\xff\n{')


def test_a_full_disk_leaves_the_lines_that_were_there(tmp_path: Path) -> None:
    class FullDisk(Disk):
        def write(self, file: int, position: int, data: bytes) -> int:
            if position:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(file, position, data)

    append_run(FullDisk(), tmp_path, Report(started=1))
    with pytest.raises(OSError, match="No space left") as caught:
        append_run(FullDisk(), tmp_path, Report(started=2))
    assert caught.value.filename == str(tmp_path / NAME)
    assert [run.started for run in runs_in(tmp_path)] == [1]


@loop_over(
    ("report", "words"),
    [
        (Report(reasons=["a reason", "another"]), "not complete: a reason; another$"),
        (Report(sources=2, failed=[ExportFailure("user a", "404")]), "not complete: 1 of 2 sources failed$"),
        (
            Report(sources=1, failed=[ExportFailure("user a", "404")], reasons=["more"]),
            "1 of 1 source failed; more$",
        ),
        (Report(), "it did not end"),
    ],
)
def test_an_incomplete_report_raises_with_its_reasons(report: Report, words: str) -> None:
    with pytest.raises(ExportIncompleteError, match=words) as caught:
        report.check()
    assert isinstance(caught.value, ChatRestError)
