"""`verify` says of a damaged file which bytes and messages are damaged, and what can safely be done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.export import Plan, export, verify
from chatrest.export.journal import NAME as JOURNAL, Journal
from tests.damaging import (
    COUNT,
    GROWING,
    MIXED,
    PLANS,
    blocks_of,
    flipped,
    largest_entry,
    only_problem,
    places_of,
)
from tests.exporting import served


@pytest.mark.parametrize("name", GROWING)
def test_a_damaged_block_has_its_bytes_source_and_ids(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    start = sum(size for size, _, _ in entry.blocks[:2])
    size, messages, _ = entry.blocks[2]
    with Journal(out / JOURNAL) as journal:
        [file] = [file for file in journal.files() if file.name == entry.name]
        block = journal.blocks(file.number)[2]
        [source] = [each.source for each in journal.sources() if each.number == block.source]
    with flipped(out / entry.name, 8 * (start + size // 2)):
        problem = only_problem(out)
        assert (problem.kind, problem.place) == ("damaged", entry.name)
        assert f"the bytes {start:,} to {start + size - 1:,} are not" in problem.text
        assert f"{messages} messages, {source} ids {block.first} to {block.last}" in problem.text
        assert "or move it out of the folder, if it is there, and keep it" in problem.remedy
        assert f"and run `chatrest export {out}` again: what was in it is read again" in problem.remedy

        (out / JOURNAL).unlink()
        problem = only_problem(out)
        assert f"ids {entry.first_id} to {entry.last_id}" in problem.text
        assert "another folder" in problem.remedy


@pytest.mark.parametrize("name", PLANS)
async def test_the_remedy_for_a_damaged_file_restores_the_export(
    name: str, tmp_path: Path, small_pages: None
) -> None:
    out = tmp_path / "out"
    async with served(COUNT, loose=False) as service:
        await export(service.session, out, Plan(**MIXED, **PLANS[name]))
        path = out / largest_entry(out).name
        with flipped(path, 8000):
            [problem] = verify(out).problems
        assert "move it out of the folder, if it is there" in problem.remedy
        path.rename(tmp_path / "moved")
        assert [kind for kind, _ in places_of(verify(out))] == ["missing"]
        assert (await export(service.session, out)).complete
    result = verify(out)
    assert (result.problems, result.messages) == ([], COUNT)


def test_blocks_that_changed_places_are_found(out: Path) -> None:
    entry = largest_entry(out)
    blocks = blocks_of(out, entry)
    (out / entry.name).write_bytes(b"".join([blocks[0], blocks[2], blocks[1], *blocks[3:]]))
    problem = only_problem(out)
    end = sum(map(len, blocks[:3]))
    assert f"the bytes {len(blocks[0]):,} to {end - 1:,} are not" in problem.text


@pytest.mark.parametrize("name", [name for name in PLANS if name != "sqlite"])
def test_files_that_changed_places_are_found(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    one, other, *_ = sorted(path for path in (out / "messages").rglob("*") if path.is_file())
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    places = {place for _, place in places_of(verify(out))}
    assert {path.relative_to(out).as_posix() for path in (one, other)} <= places


@pytest.mark.parametrize("name", PLANS)
def test_a_file_that_is_cut(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    size = entry.bytes - 10
    with (out / entry.name).open("r+b") as file:
        file.truncate(size)
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("size", entry.name)
    assert f"it ends behind {size:,} of {entry.bytes:,} bytes" in problem.text
    assert " messages, " in problem.text


@pytest.mark.parametrize("name", PLANS)
def test_a_file_that_is_longer(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    with (out / entry.name).open("ab") as file:
        file.write(b"torn")
    problems = verify(out).problems
    assert problems[0].kind == "size"
    assert f"4 bytes more than the {entry.bytes:,}" in problems[0].text
    assert "is newer than journal.sqlite and manifest.json, restore those" in problems[0].remedy
    assert "it keeps a copy in the folder damaged" in problems[0].remedy


@pytest.mark.parametrize("name", PLANS)
def test_a_file_that_is_not_there(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    (out / entry.name).unlink()
    result = verify(out)
    assert ("missing", entry.name) in places_of(result)
    assert "it is not there: " in result.problems[0].text
    assert result.problems[0].remedy.startswith(f"restore {entry.name} from a backup, as what was deleted")


def test_a_folder_in_the_place_of_a_file(out: Path) -> None:
    entry = largest_entry(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert places_of(verify(out)) == [("damaged", entry.name)]


def test_the_history_is_checked_and_cannot_be_read_again(out: Path) -> None:
    with flipped(out / "history.jsonl", 100):
        problem = only_problem(out)
    assert (problem.kind, problem.place) == ("damaged", "history.jsonl")
    assert "older versions cannot be read again" in problem.remedy
    assert "keep what is left" in problem.remedy
    (out / "history.jsonl").unlink()
    assert places_of(verify(out)) == [("missing", "history.jsonl")]
