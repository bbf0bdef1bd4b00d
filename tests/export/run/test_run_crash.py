"""An export that is killed at any instant can be continued, and has every message once."""

import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from chatrest._storage import JournalFile
from chatrest.export import Plan, export, verify
from chatrest.export.fetch import page_queue
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.store.formats import Lines
from tests.support.damaged_exports import MIXED
from tests.support.export_runs import (
    Served,
    assert_complete,
    edit,
    files_of,
    hide,
    history_of,
    manifest_of,
    served,
)
from tests.support.simulated_crashes import Fate, ForgetfulFate, dies, instants

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("small_pages", "tidy")]

FORMATS: list[dict[str, Any]] = [
    {"compress": compress, "partition": partition}
    for compress in ("none", "gzip", "zstd")
    for partition in ("source", "month")
]


@pytest.fixture(autouse=True)
def few_pages_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_queue, "MAX_PAGES", 3)


def says_complete(out: Path) -> bool:
    return (out / MANIFEST).exists() and manifest_of(out).complete


async def test_killed_at_any_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(75) as service:
        expected = service.expected()
        for at, files in zip(instants(1, 7), cycle(FORMATS), strict=False):
            plan, fate = Plan(**MIXED, **files), Fate(tmp_path / str(at), at)
            report = await dies(service.session, fate, plan, monkeypatch, workers=2)
            if report is not None:
                break
            if says_complete(fate.out):
                assert_complete(fate.out, expected, dead=True)
            report = await export(service.session, fate.out, plan if at % 2 else None)
            assert report.complete, (at, fate.asked[-1], report)
            assert_complete(fate.out, expected)
    assert fate.count > 30
    assert {"write", "sync", "replace", "COMMIT"} <= set(fate.asked)


async def test_messages_committed_before_a_death_are_not_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(500) as service:
        whole = await export(service.session, tmp_path / "whole", Plan(everything=True))
        fate = Fate(tmp_path / "out", 30)
        assert await dies(service.session, fate, Plan(everything=True), monkeypatch, workers=1) is None
        rest = await export(service.session, fate.out)
        assert_complete(fate.out, service.expected())
    assert 0 < rest.written < whole.written
    assert rest.requests < whole.requests


async def test_a_loss_of_power_at_any_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(**MIXED)
    async with served(75) as service:
        expected = service.expected()
        for at in instants(4, 23):
            fate = ForgetfulFate(tmp_path / str(at), at)
            if await dies(service.session, fate, plan, monkeypatch, workers=2) is not None:
                break
            if says_complete(fate.out):
                assert_complete(fate.out, expected, dead=True)
            report = await export(service.session, fate.out)
            assert report.complete, (at, fate.asked[-1], report)
            assert_complete(fate.out, expected)
    assert fate.count > 40


async def test_a_death_while_files_are_full_and_the_next_are_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines, "full", 2000)
    monkeypatch.setattr(page_queue, "MAX_PAGES", 1)
    async with served(75) as service:
        expected = service.expected()
        for at in instants(2, 23):
            fate = Fate(tmp_path / str(at), at)
            if await dies(service.session, fate, Plan(everything=True), monkeypatch) is not None:
                break
            assert (await export(service.session, fate.out)).complete
            assert_complete(fate.out, expected)
        assert len(files_of(fate.out)) > 2


async def first_export(service: Served, out: Path, plan: Plan) -> list[bytes]:
    await service.export_complete(out, plan)
    return service.expected()


@pytest.mark.parametrize(
    ("power", "files"), [(False, FORMATS[0]), (True, FORMATS[3])], ids=["process", "power"]
)
async def test_killed_while_edited_messages_take_their_places(
    files: dict[str, Any], power: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(60) as service:
        await first_export(service, tmp_path / "first", Plan(**MIXED, **files))
        older = service.expected([8, 9, 50])
        for number in (8, 9, 50):
            edit(service.store, number, "edited")
        expected = service.expected()
        hide(service.store, [20])
        for at in instants(3 + 12 * power, 25):
            out = tmp_path / str(at)
            shutil.copytree(tmp_path / "first", out)
            fate = ForgetfulFate(out, at) if power else Fate(out, at)
            if await dies(service.session, fate, None, monkeypatch, recheck=10**9) is not None:
                break
            if says_complete(out) and manifest_of(out).deleted == ["20"]:
                assert_complete(out, expected, dead=True)
            report = await export(service.session, out, recheck=10**9)
            assert report.complete, (at, fate.asked[-1], report)
            assert_complete(out, expected)
            assert sorted(history_of(out)) == sorted(older), (at, fate.asked[-1])
            assert manifest_of(out).deleted == ["20"]
    assert "replace" in fate.asked


class FateAt(Fate):
    """A crash at the first call of which `is_due` says so."""

    def __init__(self, out: Path, is_due: Callable[[str], bool]) -> None:
        super().__init__(out, 10**9)
        self._is_due = is_due

    def step(self, name: str, last_words: Callable[[], object] | None = None) -> None:
        if not self.dead and self._is_due(name):
            self.at = self.count = 0
            self.dead = True
            self.bury()
        super().step(name, last_words)


async def test_two_deaths_of_a_recheck_leave_each_older_version_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One when older versions are written, and not noted; one when that was repaired, and before the edits
    take their places again.
    """
    out = tmp_path / "out"
    async with served(60) as service:
        await first_export(service, out, Plan(**MIXED))
        older = service.expected([8, 9, 50])
        for number in (8, 9, 50):
            edit(service.store, number, "edited")

        def is_written(_: str) -> bool:
            return any(path.stat().st_size for path in out.glob("spool/history*"))

        assert await dies(service.session, FateAt(out, is_written), None, monkeypatch, recheck=10**9) is None
        assert await dies(service.session, FateAt(out, "replace".__eq__), None, monkeypatch) is None
        await service.export_complete(out)
        assert sorted(history_of(out)) == sorted(older)
    assert verify(out).ok
    assert not (out / "damaged").exists()


@pytest.mark.parametrize("files", [FORMATS[0], FORMATS[5], {"format": "parquet"}], ids=str)
async def test_an_older_journal_and_manifest_continue_beside_the_files_of_their_run(
    files: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Path] = []
    inner = JournalFile.transaction

    def transaction(self: JournalFile) -> Any:
        copies.append(tmp_path / f"copy-{len(copies)}")
        copies[-1].mkdir()
        self.write_snapshot(copies[-1] / JOURNAL)
        shutil.copy(self.path.with_name(MANIFEST), copies[-1])
        return inner(self)

    async with served(60) as service:
        await first_export(service, tmp_path / "first", Plan(**MIXED, **files))
        older = service.expected([8, 9, 50])
        for number in (8, 9, 50):
            edit(service.store, number, "edited")
        with monkeypatch.context() as patched:
            patched.setattr(JournalFile, "transaction", transaction)
            assert (await export(service.session, tmp_path / "first", recheck=10**9)).complete
        for at, copy in enumerate(copies):
            out = tmp_path / str(at)
            shutil.copytree(tmp_path / "first", out)
            shutil.copytree(copy, out, dirs_exist_ok=True)
            assert (await export(service.session, out, recheck=10**9)).complete, at
            assert_complete(out, service.expected())
            assert sorted(history_of(out)) == sorted(older), at
            shutil.rmtree(out)
    assert len(copies) > 20


async def test_a_death_in_a_recheck_needs_no_second_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The messages to be read again are in the journal once the walks have begun: any later run does it."""
    async with served(60) as service:
        before = await first_export(service, tmp_path / "first", Plan(**MIXED))
        for number in (8, 9, 50):
            edit(service.store, number, "edited")
        expected = service.expected()
        newest: list[bool] = []
        for at in instants(2, 19):
            out = tmp_path / str(at)
            shutil.copytree(tmp_path / "first", out)
            fate = Fate(out, at)
            if await dies(service.session, fate, None, monkeypatch, recheck=10**9) is not None:
                break
            assert (await export(service.session, out)).complete
            newest.append(bool(history_of(out)))
            assert_complete(out, expected if newest[-1] else before)
        assert newest == sorted(newest), "once begun, always ended"
        assert newest.count(True) > 1
