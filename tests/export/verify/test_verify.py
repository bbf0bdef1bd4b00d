"""`verify` finds nothing wrong with a right export, and does not touch it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import Plan, export, verify
from chatrest.export.journal import NAME as JOURNAL
from tests.damaging import COUNT, MIXED, PLANS, told
from tests.exporting import forget_user, hide, manifest_of, served, small_pages as small_pages


def snapshot(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.parametrize("name", PLANS)
def test_a_right_export_is_right_and_is_not_touched(made: Callable[[str], Path], name: str) -> None:
    out = made(name)
    before = snapshot(out)
    verdict = verify(str(out))
    assert verdict.problems == []
    assert verdict.notes == []
    assert verdict.ok
    manifest = manifest_of(out)
    assert (verdict.messages, verdict.until, verdict.first) == (COUNT, int(manifest.until or 0), 1)
    assert (verdict.parts, verdict.bytes) == (
        len(manifest.parts),
        sum(entry.bytes for entry in manifest.parts),
    )
    assert verdict.hashes == sum(max(1, len(entry.blocks)) for entry in manifest.parts)
    assert snapshot(out) == before


@pytest.mark.parametrize("name", PLANS)
def test_without_its_journal_it_is_right_by_its_manifest(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    verdict = verify(out)
    assert told(verdict) == []
    assert [note.where for note in verdict.notes] == [JOURNAL]
    assert "cannot be continued" in verdict.notes[0].text


@pytest.mark.parametrize("name", PLANS)
def test_progress_ends_at_all_of_the_bytes(made: Callable[[str], Path], name: str) -> None:
    steps: list[tuple[int, int]] = []
    verdict = verify(made(name), progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1] == (verdict.bytes, verdict.bytes)


async def test_an_export_of_nothing_is_right(tmp_path: Path) -> None:
    async with served(0) as service:
        assert (await export(service.session, tmp_path / "out")).complete
    verdict = verify(tmp_path / "out")
    assert (verdict.ok, verdict.messages, verdict.until, verdict.first) == (True, 0, None, None)


async def test_it_stays_right_when_it_goes_on(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(**MIXED))
        service.emulator.store.add_message("ann", "bob", text="later")
        await export(service.session, tmp_path)
        forget_user(service.store, "dan")
        await export(service.session, tmp_path)
    assert told(verify(tmp_path)) == []


async def test_messages_that_vanish_between_two_walks_are_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bob's list shows a message that it leaves to ann; ann's never shows it, and then nobody's does."""
    async with served(40, fill_in=_two_users) as service:
        hide(service.store, [20], "u:ann")
        import chatrest.export.run as run_module

        orphans = run_module.orphans

        def then_it_is_gone(archive: Any) -> Any:
            found = orphans(archive)
            assert found
            asyncio.run_coroutine_threadsafe(gone(), loop).result()
            return found

        async def gone() -> None:
            hide(service.store, [20])

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(run_module, "orphans", then_it_is_gone)
        assert (await export(service.session, tmp_path, Plan(users=["ann", "bob"]))).complete
    verdict = verify(tmp_path)
    assert (told(verdict), verdict.messages) == ([], 39)
    assert [(note.kind, note.where) for note in verdict.notes] == [("lost", "user bob")]
    assert "1 messages that it left to other sources are nowhere: 20;" in verdict.notes[0].text


def _two_users(store: Any) -> None:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    for count in range(40):
        store.add_message("ann", "bob", text=str(count))
