"""`verify` says of an export that it did not end, or that it is being written."""

import asyncio
import shutil
from pathlib import Path

from chatrest.export import Plan, VerifyResult, export, verify
from chatrest.export.manifest import NAME as MANIFEST
from tests.damaging import COUNT, MIXED, change_manifest, places_of
from tests.exporting import manifest_of, served
from tests.runs import one_thread


def data_files(out: Path) -> list[Path]:
    return list((out / "messages").rglob("*.ndjson"))


async def test_one_that_was_interrupted(tmp_path: Path, small_pages: None) -> None:
    out, results = tmp_path / "out", list[VerifyResult]()
    with one_thread() as stand_still:
        async with served(COUNT) as service:
            task = asyncio.create_task(export(service.session, out, Plan(**MIXED)))
            while len(data_files(out)) < 3:  # noqa: ASYNC110, nobody tells when they are there
                await asyncio.sleep(0)
            stand_still()
            results.append(verify(out))
            shutil.copytree(out, tmp_path / "killed")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for folder in (out, tmp_path / "killed"):
                with max(data_files(folder), key=lambda path: path.stat().st_size).open("ab") as file:
                    file.write(b"torn")
                results.append(verify(folder))
                assert (await export(service.session, folder)).complete
                assert verify(folder).ok
    running, *ended = results
    assert [problem.kind for problem in running.problems] == ["incomplete"]
    assert "an export is being written here" in running.notes[0].text
    for result in ended:
        assert [problem.kind for problem in result.problems] == ["incomplete"]
        assert "or was interrupted" in result.problems[0].text
        assert result.hashes > 0


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
    assert (during.files, during.sources, during.messages) == (first.files, first.sources, first.messages)
    assert (during.complete, during.journal_facts) == (False, "")
    assert during.generation != first.generation
    killed = tmp_path.with_name("killed")
    for path in killed.glob("journal.sqlite*"):
        path.unlink()
    result = verify(killed)
    assert places_of(result) == [("incomplete", MANIFEST)]
    assert result.messages == 60


async def test_one_that_begins_while_it_is_checked(out: Path) -> None:
    def begin(*_: int) -> None:
        change_manifest(out, complete=False, finished=None)

    result = verify(out, progress=begin)
    assert places_of(result) == [("incomplete", MANIFEST)]
    assert "since this check began" in result.problems[0].text


async def test_a_source_that_is_refused(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(users=["ann", "nobody"]))
    result = verify(tmp_path)
    assert ("incomplete", MANIFEST) in places_of(result)
    assert any("user nobody" in problem.text for problem in result.problems)
