"""`verify` has no problem with an undamaged export, and does not change it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, export, verify
from chatrest.export.journal import NAME as JOURNAL
from tests.damaging import COUNT, MIXED, PLANS, contents_of, places_of
from tests.exporting import forget_user, manifest_of, served


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
def test_without_its_journal_it_is_checked_against_its_manifest(
    copy: Callable[[str], Path], name: str
) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    result = verify(out)
    assert places_of(result) == []
    assert [note.place for note in result.notes] == [JOURNAL]
    assert "the next run makes a new one" in result.notes[0].text


async def test_an_export_of_nothing_is_complete(tmp_path: Path) -> None:
    async with served(0) as service:
        assert (await export(service.session, tmp_path / "out")).complete
    result = verify(tmp_path / "out")
    assert (result.ok, result.messages, result.until, result.first) == (True, 0, None, None)


async def test_it_has_no_problems_after_further_runs(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(**MIXED))
        service.emulator.store.add_message("ann", "bob", text="later")
        await export(service.session, tmp_path)
        forget_user(service.store, "dan")
        await export(service.session, tmp_path)
    assert places_of(verify(tmp_path)) == []


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            verify(path)
