"""Exports at addresses: continued on any machine, and read, verified and merged where they are."""

import hashlib
import json
from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.cloud.publication import PublishedFile, read_version
from chatrest.cloud.store import ObjectStore
from chatrest.emulator import Emulator
from chatrest.export import Plan, Report, compact, estimate, export, read, read_raw, runs, verify
from chatrest.export.plan import Format
from chatrest.export.remote.store_export import store_export
from chatrest.export.run import export_folder
from tests.export.test_conversion import folders, service_of

former_folders = folders


def ids(address: str) -> list[int]:
    """The ids of the messages that a reader of the store sees, in ascending order."""
    return sorted(int(message.id) for message in read(address))


async def exported(address: str, root: Path, emulator: Emulator, plan: Plan | None = None) -> Report:
    async with AsyncSession(emulator.app) as session:
        report = await export(session, address, plan, journal=root)
    assert report.complete
    return report


@pytest.mark.parametrize("format", ["ndjson", "sqlite"])
async def test_any_machine_goes_on_with_an_export(tmp_path: Path, format: Format) -> None:
    address = f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        plan = Plan(format=format, all_users=True)
        report = await export(session, address, plan, journal=tmp_path / "a", tables=["users"])
        assert (report.messages, report.warnings) == (40, [])
        for number, root in enumerate(["b", "a"], 41):
            emulator.store.add_message("user-01", "user-02", root)
            assert (await exported(address, tmp_path / root, emulator)).written == 1
            assert ids(address) == sorted(emulator.store.ids())
            result = verify(address)
            assert (result.ok, result.messages, result.notes) == (True, number, [])
        assert (await estimate(session, None, address)).written == 0
        assert (await estimate(session, None, f"file://{tmp_path}/none")).written == 42
    assert [entry.written for entry in runs(address)] == [40, 1, 1]
    assert len(list((tmp_path / "store" / "users").iterdir())) == 1
    names = ["export", "pages-journal.sqlite", "store.json"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names


async def test_any_machine_goes_on_with_a_journal_of_which_pages_were_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.cloud.publication._LARGEST_SHARE", 100)
    address = f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        for number, root in enumerate(("a", "a", "b", "a"), 1):
            emulator.store.add_message("user-01", "user-02", root)
            await exported(address, tmp_path / root, emulator, Plan(all_users=True))
            assert len((await journal_of(address)).parts) == number
            assert ids(address) == sorted(emulator.store.ids())
    assert verify(address).ok


async def journal_of(address: str) -> PublishedFile:
    file = (await read_version(ObjectStore.open(address))).file("journal.sqlite")
    assert file is not None
    return file


async def test_files_are_merged_where_they_are(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        for _ in range(3):
            emulator.store.add_message("user-01", "user-02", "new")
            plan = Plan(format="parquet", partition="none", all_users=True)
            await exported(address, tmp_path / "a", emulator, plan)
        assert len(list((tmp_path / "store" / "messages").iterdir())) == 3
        assert compact(address, journal=tmp_path / "b") == 2
        assert compact(address, journal=tmp_path / "b") == 0
        [data] = (tmp_path / "store" / "messages").iterdir()
        assert data.suffix == ".parquet"
        assert verify(address).ok
        assert ids(address) == sorted(emulator.store.ids())


async def test_readers_have_few_data_files_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, temporary = f"file://{tmp_path}/store", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    most = 0

    def count(*_: object) -> None:
        nonlocal most
        most = max(most, len(list(temporary.rglob("messages*.ndjson"))))

    async with Emulator(users=14, messages=100) as emulator:
        await exported(address, tmp_path / "a", emulator, Plan(format="ndjson"))
        one = next(iter(emulator.store.ids(participant="user-01")))
    assert len(list((tmp_path / "store" / "messages").rglob("*.ndjson"))) > 9
    assert verify(address, progress=count).ok
    for raw in read_raw(address):
        count(raw)
    assert 1 <= most <= 9
    chosen = read(address, source="user user-01")
    assert one in {int(next(chosen).id), *(int(message.id) for message in chosen)}
    unfinished = read(address)
    next(unfinished)
    del unfinished, chosen
    assert list(temporary.iterdir()) == []


async def test_damage_in_the_store_is_found(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/store"
    async with Emulator(users=4, messages=40) as emulator:
        await exported(address, tmp_path / "a", emulator, Plan(format="ndjson"))
        check_damage(address, tmp_path / "store")
        await exported(address, tmp_path / "a", emulator)  # what is missing is sent again
        assert verify(address).ok


def check_damage(address: str, store: Path) -> None:
    """Damage an export, check what `verify` says of it, and remove what is damaged or foreign."""
    damaged, missing, *_ = sorted((store / "messages").rglob("*.ndjson"))
    damaged.write_bytes(damaged.read_bytes().replace(b"user", b"USER"))
    missing.unlink()
    stray = missing.with_name("mine.ndjson")
    stray.touch()
    leftover = missing.with_name("messages-00009-01234567.ndjson")
    leftover.touch()
    result = verify(address)
    kinds = {problem.kind for problem in result.problems}
    assert {"damaged", "missing", "unknown"} <= kinds
    [unknown] = [problem.place for problem in result.problems if problem.kind == "unknown"]
    assert unknown.endswith("mine.ndjson")
    assert [note.place.rpartition("/")[2] for note in result.notes] == [leftover.name]
    for path in (damaged, stray, leftover):
        path.unlink()


async def test_folders_and_addresses_that_are_refused(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/store"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    async with Emulator(users=4, messages=40) as emulator:
        await exported(address, tmp_path / "a", emulator)
        for out, root, words in [
            (f"file://{tmp_path}/other", "a", "is of file:///.*, and not of"),
            (address, "mine", "holds something else .* such as notes"),
            (address, "store/journal", "one folder is in the other"),
            ("s4://bucket/x", "b", "the scheme 's4' is unknown"),
        ]:
            with pytest.raises(RequestInvalidError, match=words):
                await exported(out, tmp_path / root, emulator)
        async with AsyncSession(emulator.app) as session:
            with pytest.raises(RequestInvalidError, match=r"journal = .*None, as out is a folder"):
                await export(session, tmp_path / "local", journal=tmp_path / "b")
    assert (tmp_path / "mine" / "notes").read_text() == "mine"
    for reading in (verify, read, compact):
        with pytest.raises(RequestInvalidError, match=r"is not an export|holds no export"):
            reading(f"file://{tmp_path}/empty")


async def test_a_local_export_goes_into_a_store(tmp_path: Path) -> None:
    address, root = f"file://{tmp_path}/store", tmp_path / "a"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, root / "export", Plan(format="ndjson"))
        assert (await exported(address, root, emulator)).written == 0
        assert ids(address) == sorted(emulator.store.ids())


async def test_a_copy_with_messages_that_the_store_lacks_is_kept(tmp_path: Path) -> None:
    address, copy = f"file://{tmp_path}/store", tmp_path / "a" / "export"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for root in ("a", "b"):
            await exported(address, tmp_path / root, emulator, Plan(format="ndjson"))
        emulator.store.add_message("user-01", "user-02", "third")
        with pytest.raises(
            RequestInvalidError, match=r"is the working copy of file:.*, where its data files"
        ):
            await export(session, copy)
        async with store_export(address, tmp_path / "a") as target:
            await export_folder(session, copy, remote=target.remote)  # it is not published
        emulator.store.hide([max(emulator.store.ids())])  # no other machine sees it any more
        emulator.store.add_message("user-01", "user-02", "fourth")
        await exported(address, tmp_path / "b", emulator)
        [warning] = (await exported(address, tmp_path / "a", emulator)).warnings
        assert ids(address) == sorted(emulator.store.ids())
    kept = tmp_path / "a" / "export.kept-1"
    assert f"the former copy in '{kept}' may hold messages" in warning
    assert "third" in "".join(path.read_text() for path in kept.rglob("*.ndjson"))


@pytest.mark.parametrize("name", ["plain-source-done-0", "parquet-again-29", "sqlite-done-0"])
async def test_an_export_that_version_0_2_has_published_goes_on(
    tmp_path: Path, former_folders: Path, name: str
) -> None:
    address, store = f"file://{tmp_path}/store", tmp_path / "store"
    publish_as_0_2(former_folders / name, store)
    async with service_of(name) as (service, expected, _):
        if "-done-" in name:
            assert len(list(read_raw(address))) == 90
        report = await export(service.session, address, journal=tmp_path / "a", recheck=10**9)
        assert report.complete, report.reasons
        assert sorted(read_raw(address)) == sorted(expected)
        assert (await export(service.session, address, journal=tmp_path / "b")).written == 0
    assert [path for path in (store / "messages").rglob("*-7-0123456789abcdef*") if path.is_file()] == []


def publish_as_0_2(folder: Path, store: Path) -> None:
    """Put the files of a folder into a store as version 0.2 did."""
    files = []
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        stem, dot, suffixes = path.name.partition(".")
        new = store / Path(name).with_name(f"{stem}-7-0123456789abcdef{dot}{suffixes}")
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(data)
        stored_as = new.relative_to(store).as_posix()
        sha256 = hashlib.sha256(data).hexdigest()
        files.append({"name": name, "stored_as": stored_as, "size": len(data), "sha256": sha256})
    version = {"number": 7, "files": files, "complete": True, "about": {}, "format": 1}
    (store / "manifest.json").write_text(json.dumps(version))
