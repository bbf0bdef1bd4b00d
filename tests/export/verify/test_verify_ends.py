"""`verify` says of an export that it did not end, or that it is being written."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest._storage import InUseError
from chatrest.export import Plan, VerifyResult, export, read_raw, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from tests.damaged_exports import (
    COUNT,
    MIXED,
    PLANS,
    change_journal,
    change_manifest,
    flipped,
    largest_entry,
    only_problem,
    places_of,
    vouch_for_journal,
)
from tests.export_runs import manifest_of, one_thread, served


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


@pytest.mark.parametrize("name", ["plain", "parquet"])
def test_a_kill_while_one_file_replaces_others_is_shown_and_ended(
    copy: Callable[[str], Path], name: str
) -> None:
    """The new file is there, and the journal does not know it yet."""
    out = copy(name)
    entry = largest_entry(out)
    change_journal(out, "UPDATE meta SET value = '99-x' WHERE name = 'generation'")
    change_journal(
        out, "UPDATE meta SET value = ? WHERE name = 'previous_generation'", manifest_of(out).generation
    )
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


@pytest.mark.parametrize("name", ["plain", "parquet"])
def test_a_kill_before_what_was_replaced_is_removed(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    left = f"{entry.name.rpartition('/')[0]}/messages-99{''.join(Path(entry.name).suffixes)}"
    shutil.copy(out / entry.name, out / left)
    sql = "INSERT INTO files SELECT 99, ?, stem, 'dropped', size, sha256, NULL FROM files WHERE name = ?"
    change_journal(out, sql, left, entry.name)
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("duplicate", left)
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
