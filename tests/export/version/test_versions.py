"""Exports as versions: published, fetched, continued elsewhere, and refused where something would be lost."""

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest.cli.root import root
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, fetch, publish, read, verify
from tests.cli.conftest import error_line


async def exported(folder: Path, emulator: Emulator, **plan: str) -> None:
    """Export what is new."""
    async with AsyncSession(emulator.app) as session:
        report = await export(session, folder, Plan(**plan) if plan else None)  # type: ignore[arg-type]
        assert report.complete


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for the journal, which each opening changes."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "journal.sqlite")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("format", ["parquet", "sqlite"])
async def test_an_export_goes_on_where_it_was_fetched(tmp_path: Path, format: str) -> None:
    first, second, address = tmp_path / "first", tmp_path / "second", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(first, emulator, format=format)
        result = await publish(first, address)
        assert (result.version, result.sent, result.warning) == (1, result.files, "")
        again = await publish(first, address)
        assert (again.version, again.sent) == (1, 0)
        fetched = await fetch(address, second)
        assert (fetched.files, fetched.fetched) == (result.files, result.files)
        assert contents(second) == contents(first)
        assert verify(second).ok
        emulator.store.add_message("user-01", "user-02", "new")
        await exported(second, emulator)
        await publish(second, address)
        with pytest.raises(RequestInvalidError, match=r"is older than the version at .*`chatrest fetch "):
            await publish(first, address)
        await fetch(address, first)
    assert contents(first) == contents(second)
    assert verify(first).ok
    assert len(list(read(first))) == 41


async def test_a_copy_with_runs_of_its_own_is_not_overwritten(tmp_path: Path) -> None:
    first, second, address = tmp_path / "first", tmp_path / "second", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(first, emulator, format="ndjson")
        await publish(first, address)
        await fetch(address, second)
        for folder in (first, second):
            emulator.store.add_message("user-01", "user-02", folder.name)
            await exported(folder, emulator)
        await publish(second, address)
        with pytest.raises(RequestInvalidError, match="have both gone on from the same older version"):
            await publish(first, address)
        before = contents(first)
        with pytest.raises(RequestInvalidError, match="runs that were not published, which would be lost"):
            await fetch(address, first)
        assert contents(first) == before
        other = tmp_path / "other"
        await exported(other, emulator, format="ndjson")
        with pytest.raises(RequestInvalidError, match="is of another export"):
            await publish(other, address)


async def test_folders_that_are_refused(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"file://{tmp_path}/store"
    with pytest.raises(RequestInvalidError, match="holds no published export"):
        await fetch(address, tmp_path / "new")
    with pytest.raises(RequestInvalidError, match="is not an export: it has no manifest"):
        await publish(tmp_path / "none", address)
    async with Emulator(users=4, messages=40) as emulator:
        await exported(out, emulator, format="ndjson")
    await publish(out, address)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(RequestInvalidError, match=r"holds something else than an export, such as notes"):
        await fetch(address, tmp_path / "mine")
    assert contents(tmp_path / "mine") == {"notes": b"mine"}
    grown = next((out / "messages").rglob("*.ndjson"))
    grown.write_bytes(grown.read_bytes() + b"more")
    with pytest.raises(RequestInvalidError, match=r"is newer than .*; nothing was changed"):
        await fetch(address, out)
    with pytest.raises(RequestInvalidError, match=r"is not as manifest.json says"):
        await publish(out, address)
    grown.unlink()
    assert (await fetch(address, out)).fetched == 2  # the file, and the journal
    assert verify(out).ok
    assert (await fetch(address, out)).fetched == 0
    (out / "journal.sqlite").unlink()
    with pytest.raises(RequestInvalidError, match=r"has no journal.sqlite"):
        await publish(out, address)


async def test_an_export_under_way_is_refused(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(out, emulator, format="ndjson")
    await publish(out, address)
    run = sqlite3.connect(out / "journal.sqlite", isolation_level=None)
    run.executescript("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
    for attempt in (publish(out, address), fetch(address, out)):
        with pytest.raises(RequestInvalidError, match="an export is being written to folder"):
            await attempt
    run.close()


async def test_an_export_that_is_not_complete_needs_consent(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        report = await export(session, out, Plan(users=["user-01", "nobody"], format="ndjson"))
        assert not report.complete
        with pytest.raises(RequestInvalidError, match=r"is not complete .*--incomplete"):
            await publish(out, address)
        await publish(out, address, allow_incomplete=True)
        await fetch(address, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(out)


async def test_attachments_and_their_journal_go_along(tmp_path: Path) -> None:
    out, copy, address = tmp_path / "out", tmp_path / "copy", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(out, emulator, format="ndjson")
    name = f"attachments/files/ab/ab{'0' * 62}.jpg"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_bytes(b"picture")
    (out / "attachments" / "partial-1").write_bytes(b"pict")
    with closing(sqlite3.connect(out / "attachments" / "journal.sqlite")) as journal:
        journal.executescript("CREATE TABLE links(url); INSERT INTO links VALUES('https://a.invalid/1')")
    await publish(out, address)
    assert (await publish(out, address)).sent == 0
    await fetch(address, copy)
    assert (copy / name).read_bytes() == b"picture"
    assert not (copy / "attachments" / "partial-1").exists()
    with closing(sqlite3.connect(copy / "attachments" / "journal.sqlite")) as journal:
        assert journal.execute("SELECT url FROM links").fetchall() == [("https://a.invalid/1",)]


async def test_a_damaged_object_is_found(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(out, emulator, format="ndjson")
    await publish(out, address)
    stored = next((tmp_path / "store" / "messages").rglob("*.ndjson"))
    stored.write_bytes(stored.read_bytes().replace(b"user", b"USER"))
    with pytest.raises(ChatRestError, match="is damaged: its SHA-256 is"):
        await fetch(address, tmp_path / "copy")
    assert contents(out)["manifest.json"]
    assert not (tmp_path / "copy" / "manifest.json").exists()


def test_the_commands(tmp_path: Path) -> None:
    out, address = tmp_path / "out", f"file://{tmp_path}/store"

    async def prepare() -> None:
        async with Emulator(users=4, messages=40) as emulator:
            await exported(out, emulator, format="ndjson", partition="none")

    asyncio.run(prepare())
    first = CliRunner().invoke(root, ["publish", str(out), address])
    assert first.exit_code == 0, first.stderr
    assert first.stdout.startswith(f"version 1 at {address}: 5 files, 5 of them sent (")
    assert first.stderr == ""
    again = CliRunner().invoke(root, ["publish", str(out), address])
    assert again.stdout == f"version 1 at {address}: 5 files, nothing to send\n"
    fetched = CliRunner().invoke(root, ["fetch", address, str(tmp_path / "new"), "--json"])
    assert {**json.loads(fetched.stdout), "fetched_bytes": 0} == {
        "address": address, "version": 1, "files": 5, "fetched": 5, "fetched_bytes": 0, "removed": 0,
    }  # fmt: skip
    assert CliRunner().invoke(root, ["fetch", address, str(tmp_path / "new"), "-q"]).output == ""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    refused = CliRunner().invoke(root, ["fetch", address, str(tmp_path / "mine")])
    assert "holds something else" in error_line(refused, 2)
    refused = CliRunner().invoke(root, ["publish", str(out), f"file://{out}/store"])
    assert "is in the other" in error_line(refused, 2)
    assert not (out / "store").exists()
    assert "chatrest publish" in error_line(CliRunner().invoke(root, ["export", "s3://bucket/chat"]), 2)


@pytest.mark.parametrize(
    "args", [["publish", "out", "s3://bucket/chat"], ["fetch", "s3://bucket/chat", "out"]]
)
def test_without_the_extra_one_sentence_says_what_to_install(
    args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    line = error_line(CliRunner().invoke(root, args), 2)
    assert line == "object stores need the extra: pip install 'chatrest[cloud]'"
