"""`verify` says of a damaged part what is damaged, where, and what to do."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatrest.export import Plan, export, verify
from chatrest.export.journal import NAME as JOURNAL, Journal
from tests.damaging import COUNT, GROWN, MIXED, PLANS, flipped, frames_of, largest, the_problem, told
from tests.exporting import fast_disk as fast_disk, served, small_pages as small_pages


@pytest.mark.parametrize("name", GROWN)
def test_a_damaged_frame_is_told_with_bytes_source_and_ids(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    start = sum(size for size, _, _ in entry.blocks[:2])
    size, rows, _ = entry.blocks[2]
    with closing(Journal(out / JOURNAL)) as journal:
        [part] = [part for part in journal.parts() if part.name == entry.name]
        block = journal.blocks(part.number)[2]
        [source] = [known.source for known in journal.sources() if known.number == block.source]
    with flipped(out / entry.name, 8 * (start + size // 2)):
        problem = the_problem(out)
        assert (problem.kind, problem.where) == ("damaged", entry.name)
        assert f"the bytes {start:,} to {start + size - 1:,} are not" in problem.text
        assert f"{rows} messages, {source} ids {block.first} to {block.last}" in problem.text
        assert f"move {entry.name} elsewhere, and run `chatrest export {out}` again" in problem.advice

        (out / JOURNAL).unlink()
        problem = the_problem(out)
        assert f"ids {entry.first_id} to {entry.last_id}" in problem.text
        assert "another folder" in problem.advice


async def test_what_is_advised_mends_it(tmp_path: Path, small_pages: None, fast_disk: None) -> None:
    async with served(COUNT, loose=False) as service:
        await export(service.session, tmp_path, Plan(**MIXED))
        path = tmp_path / largest(tmp_path).name
        path.write_bytes(path.read_bytes().replace(b"1", b"2"))
        advice = f"move {path.name} elsewhere, and run `chatrest export {tmp_path}` again"
        assert {advice in problem.advice for problem in verify(tmp_path).problems} == {True}
        path.unlink()
        assert told(verify(tmp_path)) == [("missing", path.name)]
        await export(service.session, tmp_path)
    verdict = verify(tmp_path)
    assert (verdict.problems, verdict.messages) == ([], COUNT)


def test_frames_that_changed_places_are_found(out: Path) -> None:
    entry = largest(out)
    blocks = frames_of(out, entry)
    first, second = blocks[1], blocks[2]
    (out / entry.name).write_bytes(b"".join([blocks[0], second, first, *blocks[3:]]))
    problem = the_problem(out)
    end = sum(map(len, blocks[:3]))
    assert f"the bytes {len(blocks[0]):,} to {end - 1:,} are not" in problem.text


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_cut(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    size = entry.bytes - 10
    with (out / entry.name).open("r+b") as file:
        file.truncate(size)
    problem = the_problem(out)
    assert (problem.kind, problem.where) == ("size", entry.name)
    assert f"it is cut off behind {size:,} of {entry.bytes:,} bytes" in problem.text
    assert " messages, " in problem.text


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_longer(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    with (out / entry.name).open("ab") as file:
        file.write(b"torn")
    problems = verify(out).problems
    assert problems[0].kind == "size"
    assert f"4 bytes more than the {entry.bytes:,}" in problems[0].text
    assert f"run `chatrest export {out}` again" in problems[0].advice


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_gone(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    (out / entry.name).unlink()
    verdict = verify(out)
    assert ("missing", entry.name) in told(verdict)
    assert "it is not there: " in verdict.problems[0].text
    assert [note.kind for note in verdict.notes] == ["lost"]


def test_a_part_that_is_a_folder(out: Path) -> None:
    entry = largest(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert told(verify(out)) == [("damaged", entry.name)]


def test_the_history_is_checked_and_cannot_be_read_again(out: Path) -> None:
    with flipped(out / "history.jsonl", 100):
        problem = the_problem(out)
    assert (problem.kind, problem.where) == ("damaged", "history.jsonl")
    assert "older versions cannot be read again" in problem.advice
    (out / "history.jsonl").unlink()
    assert told(verify(out)) == [("missing", "history.jsonl")]
