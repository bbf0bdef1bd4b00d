"""Exports at addresses: continued on any machine, and read, verified and merged where they are."""

from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.emulator import Emulator
from chatrest.export import Plan, Report, estimate, export, read, read_raw, runs, verify
from chatrest.export.remote.store_export import store_export
from chatrest.export.run.folder_run import export_folder
from tests.export.dataset.file_server import file_server
from tests.support.buckets import ADDRESS, Buckets
from tests.support.scripted_server import no_wait

pytestmark = pytest.mark.usefixtures("buckets")


def ids(address: str) -> list[int]:
    return sorted(int(message.id) for message in read(address))


async def exported(address: str, root: Path, emulator: Emulator, plan: Plan | None = None) -> Report:
    async with AsyncSession(emulator.app) as session:
        report = await export(session, address, plan, journal=root)
    assert report.complete
    return report


async def test_any_machine_can_continue_an_export(tmp_path: Path, buckets: Buckets) -> None:
    address = ADDRESS
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        plan = Plan(all_users=True)
        report = await export(session, address, plan, journal=tmp_path / "a", tables=["users"])
        assert (report.messages, report.warnings) == (40, [])
        for number, root in enumerate(["b", "a"], 41):
            emulator.store.add_message("user-001", "user-002", root)
            assert (await exported(address, tmp_path / root, emulator)).written == 1
            assert ids(address) == sorted(emulator.store.ids())
            result = verify(address)
            assert (result.ok, result.messages, result.notes) == (True, number, [])
        assert (await estimate(session, None, address)).messages == 0
        assert (await estimate(session, None, "s3://bucket/none")).messages == 42
    assert [entry.written for entry in runs(address)] == [40, 1, 1]
    assert len(buckets.names(folder="users")) == 1
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["export", "store.json"]


async def test_readers_have_few_data_files_at_a_time(
    tmp_path: Path, buckets: Buckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, temporary = ADDRESS, tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    most = 0

    def count(*_: object) -> None:
        nonlocal most
        most = max(most, len(list(temporary.rglob("messages*.ndjson"))))

    async with Emulator(users=14, messages=100) as emulator:
        await exported(address, tmp_path / "a", emulator, Plan(format="ndjson"))
        message_id = next(iter(emulator.store.ids(participant="user-001")))
    assert len(buckets.names(folder="messages")) > 9
    assert verify(address, progress=count).ok
    for raw in read_raw(address):
        count(raw)
    assert 1 <= most <= 9
    chosen = read(address, source="user user-001")
    assert message_id in {int(next(chosen).id), *(int(message.id) for message in chosen)}
    unfinished = read(address)
    next(unfinished)
    del unfinished, chosen
    assert list(temporary.iterdir()) == []


async def test_damage_in_the_store_is_found(tmp_path: Path, buckets: Buckets) -> None:
    address = ADDRESS
    async with Emulator(users=4, messages=40) as emulator:
        await exported(address, tmp_path / "a", emulator, Plan(format="ndjson"))
        check_damage(address, buckets)
        await exported(address, tmp_path / "a", emulator)  # what is missing is sent again
        assert verify(address).ok


def check_damage(address: str, buckets: Buckets) -> None:
    """Damage an export, check what `verify` says of it, and remove what is damaged or foreign."""
    damaged, missing, *_ = buckets.names(folder="messages")
    buckets.write(damaged, buckets.read(damaged).replace(b"user", b"USER"))
    buckets.delete(missing)
    stray, leftover = "messages/mine.ndjson", "messages/messages-00009-01234567.ndjson"
    buckets.write(stray, b"")
    buckets.write(leftover, b"")
    result = verify(address)
    kinds = {problem.kind for problem in result.problems}
    assert {"damaged", "missing", "unknown"} <= kinds
    [unknown] = [problem.subject for problem in result.problems if problem.kind == "unknown"]
    assert unknown.endswith("mine.ndjson")
    assert [note.subject for note in result.notes] == [leftover]
    for name in (damaged, stray, leftover):
        buckets.delete(name)


async def test_folders_and_addresses_that_are_refused(tmp_path: Path) -> None:
    address = ADDRESS
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    async with Emulator(users=4, messages=40) as emulator:
        await exported(address, tmp_path / "a", emulator)
        for out, root, words in [
            ("s3://bucket/other", "a", f"is of {ADDRESS}, and not of"),
            (address, "mine", "holds something else .* such as notes"),
            ("s4://bucket/x", "b", "the scheme 's4' is unknown"),
        ]:
            with pytest.raises(RequestInvalidError, match=words):
                await exported(out, tmp_path / root, emulator)
        async with AsyncSession(emulator.app) as session:
            with pytest.raises(RequestInvalidError, match=r"journal = .*None, as out is a folder"):
                await export(session, tmp_path / "local", journal=tmp_path / "b")
    assert (tmp_path / "mine" / "notes").read_text() == "mine"
    for reading in (verify, read):
        with pytest.raises(RequestInvalidError, match=r"is not an export|holds no export"):
            reading("s3://bucket/empty")


async def test_a_local_export_goes_into_a_store(tmp_path: Path) -> None:
    address, root = ADDRESS, tmp_path / "a"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, root / "export", Plan(format="ndjson"))
        assert (await exported(address, root, emulator)).written == 0
        assert ids(address) == sorted(emulator.store.ids())


async def test_a_copy_with_unpublished_messages_is_not_replaced(tmp_path: Path) -> None:
    address, copy = ADDRESS, tmp_path / "a" / "export"
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        for root in ("a", "b"):
            await exported(address, tmp_path / root, emulator, Plan(format="ndjson"))
        emulator.store.add_message("user-001", "user-002", "third")
        with pytest.raises(RequestInvalidError, match=r"is the working copy of s3:.*, where its data files"):
            await export(session, copy)
        async with store_export(address, tmp_path / "a") as target:
            await export_folder(session, copy, remote=target)  # it is not published
        emulator.store.hide([max(emulator.store.ids())])  # no other machine sees it any more
        emulator.store.add_message("user-001", "user-002", "fourth")
        await exported(address, tmp_path / "b", emulator)
        [warning] = (await exported(address, tmp_path / "a", emulator)).warnings
        assert ids(address) == sorted(emulator.store.ids())
    set_aside = tmp_path / "a" / "export.kept-1"
    assert f"the former copy in '{set_aside}' may hold messages" in warning
    assert "third" in "".join(path.read_text() for path in set_aside.rglob("*.ndjson"))


async def test_another_machine_continues_tables_and_attachments(tmp_path: Path, buckets: Buckets) -> None:
    async with (
        file_server() as files,
        Emulator(users=3, messages=0, groups=0) as emulator,
        AsyncSession(emulator.app, sleep=no_wait) as session,
    ):
        for number, name in enumerate(["/a", "/b", "/a"]):
            files.files[name] = name.encode()
            data = {
                "attachments": [{"url": files.url(name), "name": "f", "mimeType": "image/png", "size": 2}]
            }
            emulator.store.add_message("user-001", "user-002", type="image", data=data)
            root = tmp_path / f"machine-{number}"
            report = await export(
                session, ADDRESS, Plan(everything=True), journal=root, tables=["users"], attachments=True
            )
            assert report.complete
            result = verify(ADDRESS)
            assert (result.ok, result.messages, result.notes) == (True, 1 + number, [])
    assert [len(buckets.names(folder=folder)) for folder in ("users", "attachments")] == [1, 4]
    assert files.paths == ["/a", "/b"]  # the third machine has it from the store
