"""`verify` tells of an export that did not end, or that is being written."""

import asyncio
import shutil
from pathlib import Path

from chatrest.export import Plan, VerifyResult, export, verify
from chatrest.export.manifest import NAME as MANIFEST
from tests.damaging import COUNT, MIXED, claim, largest_file, told
from tests.exporting import fast_disk as fast_disk, served, small_pages as small_pages


async def test_one_that_was_interrupted(tmp_path: Path, small_pages: None, fast_disk: None) -> None:
    out, found = tmp_path / "out", list[VerifyResult]()
    async with served(COUNT) as service:
        task = asyncio.create_task(export(service.session, out, Plan(**MIXED)))
        while len(list(out.glob("*.ndjson"))) < 3:  # noqa: ASYNC110, nobody tells when they are there
            await asyncio.sleep(0)
        found.append(verify(out))
        shutil.copytree(out, tmp_path / "killed")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for folder in (out, tmp_path / "killed"):
            with largest_file(folder).open("ab") as file:
                file.write(b"torn")
            found.append(verify(folder))
            assert (await export(service.session, folder)).complete
            assert verify(folder).ok
    running, *ended = found
    assert [problem.kind for problem in running.problems] == ["incomplete"]
    assert "an export is being written here" in running.notes[0].text
    for verdict in ended:
        assert [problem.kind for problem in verdict.problems] == ["incomplete"]
        assert "or was interrupted" in verdict.problems[0].text
        assert verdict.hashes > 0


async def test_one_that_begins_while_it_is_checked(out: Path) -> None:
    before = (out / MANIFEST).read_bytes()

    def begun(*_: int) -> None:
        claim(out, complete=False, finished=None)

    verdict = verify(out, progress=begun)
    assert told(verdict) == [("incomplete", MANIFEST)]
    assert "since this check began" in verdict.problems[0].text
    (out / MANIFEST).write_bytes(before)


async def test_a_source_that_is_refused(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(users=["ann", "nobody"]))
    verdict = verify(tmp_path)
    assert ("incomplete", MANIFEST) in told(verdict)
    assert any("user nobody" in problem.text for problem in verdict.problems)
