"""Folders that version 0.2 has written, finished or killed, are converted, and nothing is lost.

The folders were made by that version's own code: `SHAPE-done`, whose second run has found three edits and
one message that is gone; `SHAPE-first-N`, whose first run was killed at its Nth change of the disk or the
journal; `SHAPE-again-N`, whose second one was.
"""

import shutil
import sqlite3
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from chatrest import ChatRestError, RequestInvalidError
from chatrest.export import changes, compact, export, read_raw
from chatrest.export.archive import Archive
from chatrest.export.journal import NAME
from chatrest.export.manifest import NAME as MANIFEST, VERSION, read
from tests.dying import Fate, dies, instants
from tests.exporting import Served, edit, hide, history_of, raws_of, served

ARCHIVE = Path(__file__).with_name("folders_of_0_2.tar.xz")
NAMES = [
    "plain-source-done-0", "plain-source-first-26", "plain-source-again-32", "gzip-day-again-26",
    "gzip-day-first-30", "zstd-none-done-0", "zstd-none-first-20", "parquet-done-0", "parquet-first-30",
    "parquet-again-29", "parquet-again-36", "sqlite-done-0", "sqlite-first-18", "sqlite-again-21",
]  # fmt: skip
KILLED = ["zstd-none-first-20", "parquet-first-30", "plain-source-again-32"]
"""Those that are converted by processes that are killed."""
EDITED, GONE = (1, 2, 44), 13
ALL = 10**9


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders, which no test changes."""
    path = tmp_path_factory.mktemp("former")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(path, filter="data")
    return path


@asynccontextmanager
async def service_of(name: str) -> AsyncIterator[tuple[Served, list[bytes], list[bytes]]]:
    """Yield the service that a folder was made from, all that the export is to hold, and older versions."""
    async with served(90) as service:
        older, gone = service.expected(EDITED), service.expected([GONE])
        if "-first-" in name:
            yield service, service.expected(), []
            return
        for number in EDITED:
            edit(service.store, number, f"edited {number}")
        hide(service.store, [GONE], "*", "u:ann", "u:bob", "u:cat", "u:dan")
        yield service, [*service.expected(), *gone], older


@pytest.mark.parametrize("name", [name for name in NAMES if name not in KILLED])
async def test_an_export_goes_on_and_holds_each_message_once(
    folders: Path, name: str, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(folders / name, tmp_path / "out"))
    async with service_of(name) as (service, expected, older):
        report = await export(service.session, out, recheck=None if "-first-" in name else ALL)
        assert report.complete, report.reasons
        assert (await export(service.session, out)).written == 0
    check_converted(out, expected, [] if name.startswith("sqlite") else older)


def check_converted(out: Path, expected: list[bytes], older: list[bytes]) -> None:
    assert sorted(raws_of(out)) == sorted(expected)
    assert not older or sorted(history_of(out)) == sorted(older)
    assert read(out / MANIFEST).version == VERSION
    assert len(list(changes(out))) == len(expected)
    assert not (out / "spool").exists()


@pytest.mark.parametrize("name", [name for name in NAMES if "-done-" in name])
def test_what_is_finished_stays_as_it_is_and_asks_for_no_message(
    folders: Path, name: str, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(folders / name, tmp_path / "out"))
    before = {path: path.read_bytes() for path in (out / "messages").rglob("*.*")}
    records = list(read_raw(out))
    assert len(records) == 90, "before it is converted"
    with pytest.raises(ChatRestError, match="`chatrest export` into it converts it"):
        changes(out)
    compact(out)
    assert {path: path.read_bytes() for path in (out / "messages").rglob("*.*")} == before
    assert sorted(read_raw(out)) == sorted(records)
    with Archive(out, app_id=read(out / MANIFEST).app_id) as archive:
        assert archive.findings == []
        assert not archive.missing()
    told = list(changes(out))
    assert {change.run for change in told} == {2, 3}, "deletions of its last run, all else of the next"
    assert sorted(change.kind for change in told) == ["deleted"] + ["new"] * 89


@pytest.mark.parametrize(("name", "first"), [*zip(KILLED, (1, 5, 9), strict=True)])
async def test_whenever_the_conversion_is_killed_it_is_done_by_the_next_run(
    folders: Path, name: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with service_of(name) as (service, expected, older):
        for at in instants(first, 11):
            out = Path(shutil.copytree(folders / name, tmp_path / str(at)))
            if await dies(service.session, Fate(out, at), None, monkeypatch) is not None:
                break
            assert (await export(service.session, out, recheck=ALL)).complete
            check_converted(out, expected, older)


def test_bytes_that_no_commit_knew_are_kept(folders: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(folders / "plain-source-done-0", tmp_path / "out"))
    [path] = out.rglob("source=group-oak/*.ndjson")
    torn = path.read_bytes() + b'{"id":"5000","torn'
    path.write_bytes(torn)
    with Archive(out, app_id=read(out / MANIFEST).app_id) as archive:
        assert not archive.missing()
    assert [each.read_bytes() for each in (out / "damaged").rglob("*.ndjson.*")] == [torn]


@pytest.mark.parametrize("damage", ["shorter", "other bytes", "lost"])
async def test_a_file_that_is_not_as_it_was_committed_is_read_again(
    damage: str, folders: Path, tmp_path: Path
) -> None:
    name = "plain-source-done-0"
    out = Path(shutil.copytree(folders / name, tmp_path / "out"))
    path = out / "messages/source=group-oak/messages.ndjson"
    data = path.read_bytes()
    if damage == "lost":
        path.unlink()
    else:
        path.write_bytes(
            data[:-9] if damage == "shorter" else data.replace(b'"text":"', b'"text":"x', 1)[:-1]
        )
    async with service_of(name) as (service, expected, _):
        report = await export(service.session, out)
        assert (report.complete, report.written) == (True, data.count(b"\n"))
        assert sorted(raws_of(out)) == sorted(expected)
    assert (out / "damaged/messages").exists() is (damage != "lost")


def test_a_journal_that_was_edited_is_refused_untouched(folders: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(folders / "plain-source-done-0", tmp_path / "out"))
    with closing(sqlite3.connect(out / NAME)) as db, db:
        db.execute("UPDATE covered SET last = last + 1000")
    before = (out / NAME).read_bytes()
    with pytest.raises(RequestInvalidError, match="not as the last run left it"):
        Archive(out, app_id=read(out / MANIFEST).app_id)
    assert (out / NAME).read_bytes() == before
