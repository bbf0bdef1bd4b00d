"""`verify` says of a damaged file which messages are damaged, and what can safely be done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.export import Plan, export, verify
from chatrest.export.journal import NAME as JOURNAL
from tests.damaging import COUNT, MIXED, PLANS, flipped, largest_entry, only_problem, places_of
from tests.exporting import manifest_of, served


def history_of(out: Path) -> str:
    """The name of the file of older versions."""
    return next(entry.name for entry in manifest_of(out).files if entry.role == "history")


@pytest.mark.parametrize("name", PLANS)
def test_a_damaged_file_has_its_messages_and_a_remedy(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    with flipped(out / entry.name, 4 * entry.bytes):
        for _ in range(2):
            problem = only_problem(out)
            assert (problem.kind, problem.place) == ("damaged", entry.name)
            assert f"{entry.messages} messages" in problem.text
            assert f"are in it, ids {entry.first_id} to {entry.last_id}" in problem.text
            assert (" of " in problem.text.partition(" messages")[2]) == (out / JOURNAL).exists()
            assert "or move it out of the folder, if it is there, and keep it" in problem.remedy
            assert f"and run `chatrest export {out}` again: what was in it is read again" in problem.remedy
            (out / JOURNAL).unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["gzip", "parquet", "sqlite"])
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
def test_a_file_of_another_size_and_none(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    path, size = out / entry.name, entry.bytes
    data = path.read_bytes()
    for content, kind, words in (
        (data[:-10], "size", f"it ends behind {size - 10:,} of {size:,} bytes: {entry.messages}"),
        (data + b"torn", "size", f"it has 4 bytes more than the {size:,}"),
        (None, "missing", f"it is not there: {entry.messages} messages"),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        problem = only_problem(out)
        assert (problem.kind, problem.place) == (kind, entry.name)
        assert problem.text.startswith(words)
        assert problem.remedy.startswith(f"restore {entry.name} from a backup, as what was deleted")


def test_a_folder_in_the_place_of_a_file(out: Path) -> None:
    entry = largest_entry(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert places_of(verify(out)) == [("damaged", entry.name)]


@pytest.mark.parametrize("name", ["zstd", "parquet"])  # of a database it is a table
def test_the_history_is_checked_and_cannot_be_read_again(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    history = history_of(out)
    with flipped(out / history, 100):
        problem = only_problem(out)
    assert (problem.kind, problem.place) == ("damaged", history)
    assert "older versions cannot be read again" in problem.remedy
    assert "keep what is left" in problem.remedy
    (out / history).unlink()
    assert places_of(verify(out)) == [("missing", history)]
