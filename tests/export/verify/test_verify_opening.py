"""Exports that did not end, are being written, or could lose messages: old journals, odd paths."""

import asyncio
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chatrest._storage import InUseError
from chatrest.errors import ChatRestError
from chatrest.export import Plan, Remedy, VerifyResult, changes, estimate, export, read_raw, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.read.facts import facts_of
from tests.support.damaged_exports import (
    COUNT,
    MIXED,
    PLANS,
    change_entry,
    change_journal,
    change_manifest,
    contents_of,
    flipped,
    largest_entry,
    only_problem,
    places_of,
    vouch_for_journal,
)
from tests.support.export_runs import (
    Served,
    assert_complete,
    files_of,
    manifest_of,
    one_thread,
    raws_of,
    served,
)
from tests.support.stored_exports import StoredRuns, record

APP_ID = "emulated"


def refusal(out: Path) -> str:
    """Return the text with which a folder is refused; fail if any file of it was changed."""
    before = contents_of(out)
    with pytest.raises(ChatRestError) as caught:
        ExportFolder(out, app_id=APP_ID)
    after = contents_of(out)
    assert {**after, JOURNAL: b""} == {**before, JOURNAL: b""}
    assert str(caught.value).count("\n") == 0
    return str(caught.value)


async def _two_runs(service: Served, out: Path, name: str) -> Path:
    """Export twice, with new messages in between; returns a copy of the folder after the first run."""
    first = out.with_name("first")
    await export(service.session, out, Plan(everything=True, **PLANS[name]))
    shutil.copytree(out, first)
    for number in range(20):
        service.store.add_message("ann", "bob", text=f"later {number}")
    assert (await export(service.session, out)).written == 20
    return first


@pytest.mark.parametrize("name", ["plain", "zstd", "parquet"])
async def test_an_export_with_an_older_journal_than_files_is_continued(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(40) as service:
        first = await _two_runs(service, out, name)
        shutil.copyfile(first / JOURNAL, out / JOURNAL)
        result = verify(out)
        assert [(each.kind, each.subject) for each in result.problems] == [("journal", JOURNAL)]
        assert "it is older than manifest.json" in result.problems[0].text
        assert result.problems[0].remedy == f"run `chatrest export {out}` again"
        assert result.messages == len(list(read_raw(out))) == 60, "the manifest's files are read"
        assert (await estimate(service.session, None, out)).messages <= 20
        await service.export_complete(out)
    assert verify(out).ok


@pytest.mark.parametrize("name", ["plain", "zstd", "parquet"])
async def test_files_newer_than_journal_and_manifest_are_taken_over(name: str, tmp_path: Path) -> None:
    """Both are of the first run, as from a backup."""
    out = tmp_path / "out"
    async with served(40) as service:
        first = await _two_runs(service, out, name)
        newer = {path.read_bytes() for path in files_of(out)}
        for path in (MANIFEST, JOURNAL):
            shutil.copyfile(first / path, out / path)
        unknown = [problem for problem in verify(out).problems if problem.kind == "unknown"]
        assert unknown
        assert all(problem.advice is Remedy.RUN for problem in unknown)
        report = await export(service.session, out)
        assert (report.complete, report.written) == (True, 20)
        assert_complete(out, service.expected())
    contents = {path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert newer <= contents
    assert verify(out).ok


@pytest.mark.parametrize(("name", "is_fresh"), [("parquet", True), ("zstd", False)])
def test_a_journal_of_another_export_loses_nothing(
    copy: Callable[[str], Path], made: Callable[[str], Path], name: str, is_fresh: bool, tmp_path: Path
) -> None:
    out = copy(name)
    if is_fresh:
        plan = Plan.parse(bytes(manifest_of(out).plan))
        with ExportFolder(tmp_path / "fresh", plan, app_id=APP_ID):
            pass
    shutil.copyfile((tmp_path / "fresh" if is_fresh else made("plain")) / JOURNAL, out / JOURNAL)
    result = verify(out)
    assert [each.subject for each in [*result.problems, *result.notes]] == [JOURNAL]
    expected = Counter(raws_of(out))
    assert Counter(read_raw(out)) == expected
    with ExportFolder(out, app_id=APP_ID) as folder:
        folder.finish()
    assert Counter(raws_of(out)) == expected


async def test_files_that_a_system_leaves_are_a_note(tmp_path: Path) -> None:
    out = tmp_path / "out"
    left = [".DS_Store", "Thumbs.db", "desktop.ini"]
    out.mkdir()
    for name in left:
        (out / name).write_bytes(b"\0\x05\x16\x07")
    async with served(20) as service:
        assert (await export(service.session, out, Plan(everything=True))).complete
        left += ["messages/Thumbs.db", "messages/._messages-00001.ndjson"]
        for name in left[3:]:
            (out / name).write_bytes(b"\0\x05\x16\x07")
        assert (await export(service.session, out)).complete
        assert Counter(read_raw(out)) == Counter(service.expected())
    result = verify(out)
    assert result.ok
    assert {note.subject for note in result.notes} == set(left)
    assert all((out / name).exists() for name in left)


def test_a_journal_with_edited_or_no_rows_is_refused_before_any_write(out: Path) -> None:
    change_journal(out, "UPDATE covered SET last = last + 1 WHERE source = 1")
    assert "is not as the last run left it" in refusal(out)
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f"DELETE FROM {table}")
    assert "has no plan: it is no export's journal: restore it from a backup" in refusal(out)
    assert places_of(verify(out)) == [("journal", JOURNAL)]


def test_damaged_news_are_found_before_a_run_finds_them(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out")
    for number in (1, 2):
        stored.run([record(number)])
    assert change_journal(stored.folder, "UPDATE news SET ids = x'00'") == 1
    assert places_of(verify(stored.folder)) == [("journal", JOURNAL)]


def test_without_a_journal_and_a_manifest_nothing_is_touched(out: Path) -> None:
    (out / JOURNAL).unlink()
    (out / MANIFEST).write_bytes(b"{}")
    assert "journal.sqlite is lost or empty" in refusal(out)
    (out / MANIFEST).unlink()
    assert "holds something else than an export" in refusal(out)
    out.rename(out.with_name("app=shop"))
    assert "has many apps, such as app=shop: expected the folder of one app" in refusal(out.parent)


def test_the_journal_of_another_app_is_a_problem(out: Path) -> None:
    change_manifest(out, app_id="other")
    [problem] = verify(out).problems
    assert "is of the app 'emulated', and manifest.json of 'other'" in problem.text


async def test_a_run_that_was_killed_before_its_manifest_can_be_continued(tmp_path: Path) -> None:
    """Its journal is one generation ahead; nothing of it is lost, and `verify` says what to do."""
    out = tmp_path / "out"
    async with served(30) as service:
        await export(service.session, out, Plan(everything=True))
        for _ in range(3):
            with ExportFolder(out, app_id=APP_ID):
                pass
            assert verify(out).ok
        change_journal(out, "UPDATE sources SET proven = 5")
        [problem] = verify(out).problems
        assert problem.kind == "incomplete"
        assert "a run has begun since it was written" in problem.text
        service.store.add_message("ann", "bob", text="later")
        await service.export_complete(out)
    assert verify(out).ok


@contextmanager
def other_user() -> Iterator[None]:
    """Give the rights of another user, where this one is root, who may read everything."""
    uid = os.geteuid()
    os.seteuid(65_534 if uid == 0 else uid)
    try:
        yield
    finally:
        os.seteuid(uid)


@pytest.fixture
def shared_out(made: Callable[[str], Path]) -> Iterator[Path]:
    """A copy that other users can read: pytest's folders are for one, as each run of pytest makes sure."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copytree(made("plain"), Path(folder, "out")))


@pytest.mark.parametrize("name", [JOURNAL, MANIFEST, "a file"])
def test_a_file_without_read_permission_is_not_damaged(shared_out: Path, name: str) -> None:
    """The advice for damage would dismantle a good export."""
    out = shared_out
    path = out / (largest_entry(out).name if name == "a file" else name)
    path.chmod(0)
    readers: list[Callable[[], object]] = [lambda: verify(out), lambda: list(read_raw(out))]
    if name != "a file":
        readers += [lambda: facts_of(str(out)), lambda: list(changes(out))]
    with other_user():
        for reader in readers:
            with pytest.raises(PermissionError, match=rf"Permission denied: '{path}'"):
                reader()


OUTSIDE = [
    "../victim", "/tmp/victim", "messages/../../victim", "", ".", "messages/", "a\x00b", "c:\\victim",
    "a" * 300,
]  # fmt: skip
OWN = ["manifest.json", "journal.sqlite", "JOURNAL.sqlite-wal", "runs.jsonl"]


@pytest.mark.parametrize("name", [*OUTSIDE, *OWN], ids=repr)
def test_a_name_that_is_no_data_files_is_refused(out: Path, name: str) -> None:
    """The names in the journal and in the manifest, each with hashes that fit."""
    (out.parent / "victim").write_bytes(b"precious" * 1000)
    entry = largest_entry(out)
    assert change_journal(out, "UPDATE files SET name = ? WHERE name = ?", name, entry.name)
    vouch_for_journal(out)
    change_entry(out, entry.name, name=name)
    assert "nothing was changed" in refusal(out)
    result = verify(out)
    assert "unsafe" in [problem.kind for problem in result.problems]
    assert any("could overwrite files elsewhere" in problem.remedy for problem in result.problems)
    assert (out.parent / "victim").read_bytes() == b"precious" * 1000


@pytest.mark.parametrize("name", ["a file", "messages", JOURNAL, "messages/source=user-new", "spool"])
def test_a_link_that_leads_out_of_the_folder_is_refused(out: Path, name: str) -> None:
    path, victim = out / (largest_entry(out).name if name == "a file" else name), out.parent / "victim"
    if path.exists():
        path.rename(victim)
    path.symlink_to(victim)
    before = contents_of(victim)
    assert "symbolic link" in refusal(out)
    assert "unsafe" in [problem.kind for problem in verify(out).problems]
    assert contents_of(victim) == before
    if name == "a file":
        path.unlink()
        victim.rename(out / "elsewhere")
        path.symlink_to(out / "elsewhere")
        assert "symbolic link" in refusal(out), "one inside of the folder, too"


def segments(out: Path) -> list[Path]:
    return list((out / "spool").glob("*.segment"))


@pytest.mark.parametrize("name", ["zstd", "parquet"])
async def test_one_that_was_interrupted(name: str, tmp_path: Path, small_pages: None) -> None:
    """Segments of a killed run are read, and what no commit knows in them is a note."""
    out, results = tmp_path / "out", list[VerifyResult]()
    with one_thread() as stand_still:
        async with served(COUNT, loose=False) as service:
            plan = Plan(**MIXED, **PLANS[name])
            task = asyncio.create_task(export(service.session, out, plan))
            while sum(path.stat().st_size for path in segments(out)) < 1_500:  # noqa: ASYNC110, nobody tells
                await asyncio.sleep(0)
            stand_still()
            with pytest.raises(InUseError, match="an export is running here; verify it again after its end"):
                verify(out)
            shutil.copytree(out, tmp_path / "killed")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for folder in (out, tmp_path / "killed"):
                with max(segments(folder), key=lambda path: path.stat().st_size).open("ab") as file:
                    file.write(b"torn")
                (folder / "spool" / "messages+source=x+messages-99.ndjson.segment").write_bytes(b'{"id":"10')
                results.append(verify(folder))
                damaged = max(segments(folder), key=lambda path: path.stat().st_size)
                with flipped(damaged, 0):
                    assert ("content", f"spool/{damaged.name}") in places_of(verify(folder))
                assert (await export(service.session, folder)).complete
                assert verify(folder).ok
    for result in results:
        assert [problem.kind for problem in result.problems] == ["incomplete"]
        assert "or was interrupted" in result.problems[0].text
        assert {note.kind for note in result.notes} == {"size", "unknown"}
        assert result.messages > 0
    assert results[1].messages < COUNT  # the copy; the run itself may have committed more before its end


def let_a_run_begin(out: Path) -> None:
    """Give the journal the generation of a run that has begun, and has not changed the manifest."""
    change_journal(out, "UPDATE meta SET value = '99-x' WHERE name = 'generation'")
    change_journal(
        out, "UPDATE meta SET value = ? WHERE name = 'previous_generation'", manifest_of(out).generation
    )


@pytest.mark.parametrize("name", ["plain", "parquet"])
def test_a_kill_while_one_file_replaces_others_is_shown_and_ended(
    copy: Callable[[str], Path], name: str
) -> None:
    """The new file is there, and the journal does not know it yet."""
    out = copy(name)
    entry = largest_entry(out)
    let_a_run_begin(out)
    target = f"{entry.name.rpartition('/')[0]}/messages-99{''.join(Path(entry.name).suffixes)}"
    sql = """INSERT INTO files(number, name, stem, state, size)
        SELECT 99, ?, stem, 'sealing', 0 FROM files WHERE name = ?"""
    change_journal(out, sql, target, entry.name)
    change_journal(out, "UPDATE files SET successor = 99 WHERE name = ?", entry.name)
    shutil.copy(out / entry.name, out / target)
    result = verify(out)
    assert {"incomplete"} == {problem.kind for problem in result.problems}
    assert any("readers may see them twice" in problem.text for problem in result.problems)
    assert result.messages == COUNT
    assert len(list(read_raw(out))) == COUNT
    with ExportFolder(out, app_id="emulated"):
        pass
    assert verify(out).messages == COUNT
    assert not any("twice" in problem.text for problem in verify(out).problems)


@pytest.mark.parametrize("name", ["plain", "zstd"])
def test_a_kill_between_rename_and_note_of_a_segment_loses_nothing(
    copy: Callable[[str], Path], name: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    let_a_run_begin(out)
    assert change_journal(out, "UPDATE files SET state = 'sealing', sha256 = NULL WHERE name = ?", entry.name)
    result = verify(out)
    assert ({problem.kind for problem in result.problems}, result.messages) == ({"incomplete"}, COUNT)
    assert len(list(read_raw(out))) == COUNT
    with flipped(out / entry.name, 4):
        assert ("content", entry.name) in places_of(verify(out)), "it is in its place"
    with ExportFolder(out, app_id="emulated") as folder:
        file = folder.journal.file(entry.name)
        assert file is not None
        assert (file.state, file.sha256) == ("sealed", bytes.fromhex(entry.sha256))
    assert verify(out).messages == COUNT


@pytest.mark.parametrize("name", ["plain", "parquet"])
def test_a_kill_before_the_removal_of_replaced_files_loses_nothing(
    copy: Callable[[str], Path], name: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    left = f"{entry.name.rpartition('/')[0]}/messages-99{''.join(Path(entry.name).suffixes)}"
    shutil.copy(out / entry.name, out / left)
    sql = "INSERT INTO files SELECT 99, ?, stem, 'dropped', size, sha256, NULL FROM files WHERE name = ?"
    change_journal(out, sql, left, entry.name)
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.kind, problem.subject) == ("duplicate", left)
    assert problem.remedy == f"run `chatrest export {out}` again"
    with ExportFolder(out, app_id="emulated"):
        pass
    assert not (out / left).exists()


async def test_a_second_run_under_way_keeps_the_entries_of_the_first(tmp_path: Path) -> None:
    """Without its journal, too, the files of the last finished run can be checked."""
    with one_thread() as stand_still:
        async with served(60) as service:
            await export(service.session, tmp_path, Plan(everything=True))
            first = manifest_of(tmp_path)
            service.store.add_message("ann", "bob", text="later")
            task = asyncio.create_task(export(service.session, tmp_path))
            while manifest_of(tmp_path).finished is not None:  # noqa: ASYNC110, nobody tells
                await asyncio.sleep(0)
            stand_still()
            during = manifest_of(tmp_path)
            shutil.copytree(tmp_path, tmp_path.with_name("killed"))
            await task
    assert (during.files, during.messages) == (first.files, first.messages)
    assert (during.complete, during.journal_facts) == (False, "")
    assert during.generation != first.generation
    killed = tmp_path.with_name("killed")
    for path in killed.glob("journal.sqlite*"):
        path.unlink()
    result = verify(killed)
    assert places_of(result) == [("incomplete", JOURNAL), ("incomplete", MANIFEST)]
    assert result.messages == 60


def test_where_a_run_replaces_files_meanwhile_they_are_to_be_verified_again(out: Path) -> None:
    (out / manifest_of(out).files[0].name).unlink()
    with pytest.raises(InUseError, match="an export is running here"):
        verify(out, progress=lambda *_: change_manifest(out, started=1))
