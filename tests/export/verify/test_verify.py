"""`verify` has no problem with an undamaged export, and does not change it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.export import Problem, VerifyResult, export, verify
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.verify.result import MOST_PROBLEMS, shortened
from tests.damaged_exports import COUNT, PLANS, contents_of, flipped, largest_entry, places_of
from tests.export_runs import manifest_of, served


@pytest.mark.parametrize("name", PLANS)
def test_an_undamaged_export_has_no_problems_and_is_not_changed(
    made: Callable[[str], Path], name: str
) -> None:
    out, steps = made(name), list[tuple[int, int]]()
    before = contents_of(out)
    result = verify(str(out), progress=lambda done, total: steps.append((done, total)))
    assert (result.problems, result.notes, result.ok) == ([], [], True)
    manifest = manifest_of(out)
    assert (result.messages, result.until, result.first) == (COUNT, int(manifest.until or 0), 1)
    assert (result.files, result.bytes) == (len(manifest.files), sum(each.bytes for each in manifest.files))
    assert result.hashes == len(manifest.files)
    assert contents_of(out) == before
    assert steps == sorted(steps)
    assert steps[-1] == (result.bytes, result.bytes)


@pytest.mark.parametrize("name", PLANS)
def test_without_its_journal_it_is_only_hashed_and_not_complete(
    copy: Callable[[str], Path], name: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    for remove in ((out / JOURNAL).unlink, lambda: (out / JOURNAL).write_bytes(b"")):
        remove()
        assert places_of(result := verify(out)) == [("incomplete", JOURNAL)]
        assert (result.messages, result.hashes) == (COUNT, len(manifest_of(out).files))
        with flipped(out / entry.name, 4 * entry.bytes):
            assert places_of(result := verify(out)) == [("incomplete", JOURNAL), ("damaged", entry.name)]
        assert result.messages == COUNT - entry.messages


async def test_an_export_of_nothing_is_complete(tmp_path: Path) -> None:
    async with served(0) as service:
        assert (await export(service.session, tmp_path / "out")).complete
    result = verify(tmp_path / "out")
    assert (result.ok, result.messages, result.until, result.first) == (True, 0, None, None)


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            verify(path)


def test_a_result_keeps_a_limited_number_of_problems() -> None:
    result = VerifyResult()
    for _ in range(MOST_PROBLEMS + 5):
        result.add(Problem("damaged", "x", "y"))
    assert (len(result.problems), result.more, result.count) == (MOST_PROBLEMS, 5, MOST_PROBLEMS + 5)
    assert str(result.problems[0]) == "x: y"
    assert shortened(["1", "2", "3", "4"]) == "1, 2, 3 and 1 more"
