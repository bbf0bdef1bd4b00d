"""Files that are lost or harmed: their messages are read again, or reported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest.errors import ChatRestError
from chatrest.export import Plan, export, verify
from tests.support.damaged_exports import MIXED
from tests.support.export_runs import (
    assert_complete,
    assert_holds,
    edit,
    files_of,
    forget_user,
    hide,
    part_of,
    served,
)

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("change", [halve, shorten])
async def test_files_that_were_harmed_are_read_again(change: Callable[[Path], None], tmp_path: Path) -> None:
    async with served(75, loose=False) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, compress="zstd", partition="month"))
        for path in files_of(tmp_path / "out"):
            change(path)
        report = await service.export_complete(tmp_path / "out")
        assert report.written > 0
        assert (await export(service.session, tmp_path / "out")).written == 0


async def test_the_lost_file_of_a_deleted_user_is_reported(tmp_path: Path) -> None:
    """Messages that others show are read from them; others are lost, and reported."""
    async with served(90) as service:
        await export(service.session, tmp_path / "out", Plan(all_users=True))
        part_of(tmp_path / "out", "user-ann").unlink()
        forget_user(service.store, "ann")
        report = await export(service.session, tmp_path / "out")
        shared = service.users_ids("bob", "cat", "dan")
        assert_holds(tmp_path / "out", service.expected(shared))
        assert len(shared) < 90
        assert not report.complete


async def test_messages_that_no_source_shows_are_read_from_the_damaged_file(tmp_path: Path) -> None:
    async with served(60) as service:
        expected = service.expected()
        await export(service.session, tmp_path / "out", Plan(everything=True))
        hide(service.store, [20])
        shorten(part_of(tmp_path / "out", "messages"))
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written, report.missing) == (True, 60, 0)
        assert_complete(tmp_path / "out", expected)


async def test_a_lost_history_is_reported_by_the_next_run_and_each_verify(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(30, loose=False) as service:
        await export(service.session, out, Plan(**MIXED))
        edit(service.store, 20, "edited")
        assert (await export(service.session, out, recheck=10**9)).changed == 1
        [history] = out.glob("history*")
        history.unlink()
        report = await export(service.session, out)
        assert (report.complete, report.written) == (True, 0)
        assert_complete(out, service.expected())
        [warning] = report.warnings
        assert warning.startswith(f"{history.name} was lost or damaged, with older versions of messages")
        assert (await export(service.session, out)).warnings == []
        result = verify(out)
        assert (result.ok, [each.subject for each in result.notes]) == (True, [history.name])


def flip(share: float) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        at = int(len(data) * share)
        return data[:at] + bytes([data[at] ^ 64]) + data[at + 1 :]

    return change


def misspell(data: bytes) -> bytes:
    """Return the file with another letter in a record: it can be read as before."""
    assert b'"category"' in data
    return data.replace(b'"category"', b'"kategory"', 1)


@pytest.mark.parametrize(
    ("shape", "change"),
    [
        ({"compress": "none"}, misspell),
        ({"format": "parquet", "compress": "none"}, misspell),
        ({"compress": "zstd"}, flip(0.5)),
    ],
)
async def test_a_recheck_reads_messages_of_a_damaged_file_after_a_move(
    shape: dict[str, Any], change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    async with served(50, loose=False) as service:
        await export(service.session, out, Plan(everything=True, **shape), workers=1)
        path, *_ = files_of(out)
        damaged = change(path.read_bytes())
        path.write_bytes(damaged)
        edit(service.store, 2, "edited")
        with pytest.raises(ChatRestError, match=f"{path.name}.*(move|`chatrest verify` says)"):
            await export(service.session, out, recheck=10**9)
        assert path.read_bytes() == damaged
        assert not verify(out).ok
        path.rename(tmp_path / "elsewhere")
        await service.export_complete(out)
        assert verify(out).ok
