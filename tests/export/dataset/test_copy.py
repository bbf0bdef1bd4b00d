"""The copy of an app: exported from one emulator with its tables, and imported into another one."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest.emulator import Emulator, Status
from chatrest.export import Plan, export
from chatrest.export.folder.manifest import NAME as MANIFEST, read
from chatrest.export.folder.tables import Table
from chatrest.importing import ImportProgress, ImportResult, check, run
from tests.scripted_server import no_wait
from tests.simulated_crashes import ProcessDeath

TABLES: tuple[Table, ...] = ("users", "groups", "members")
SHOWN_ONLY = {"status", "updatedAt"}
"""Members of users that only the service writes."""


@pytest.fixture
async def target() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        yield emulator


@pytest.fixture
async def into(target: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(target.app, sleep=no_wait, dice=lambda: 0.5) as session:
        yield session


async def content(session: AsyncSession, emulator: Emulator) -> dict[str, Any]:
    """Return what of an app a copy has: users, groups, members, and the texts of messages in their order."""
    users = [each async for each in session.users.list()]
    deactivated = await session.request("GET", "/users", query={"onlyDeactivated": True})
    groups = [each async for each in session.groups.list()]
    members = {
        (group.guid, each.uid, each.scope, each.joined_at)
        for group in groups
        async for each in session.members.list(group.guid)
    }
    everybody = [each.to_dict() for each in users] + deactivated["data"]
    return {
        "users": sorted(
            [sorted((k, str(v)) for k, v in each.items() if k not in SHOWN_ONLY) for each in everybody]
        ),
        "groups": sorted((each.guid, each.name, each.type, each.owner, each.created_at) for each in groups),
        "members": members,
        "texts": [
            (record["sender"], record["receiver"], record["sentAt"], record["type"], text_of(record))
            for record in stored(emulator)
            if record["category"] in ("message", "custom") and not record.get("deletedAt")
        ],
    }


def stored(emulator: Emulator) -> list[dict[str, Any]]:
    return [json.loads(record) for record in emulator.store.records(emulator.store.ids())]


def text_of(record: dict[str, Any]) -> Any:
    return record["data"].get("text", record["data"].get("customData"))


def not_carried(result: ImportResult) -> dict[str, int]:
    return {each.what: each.count for each in result.not_carried}


# ── a copy ──


@pytest.mark.parametrize("format", ["ndjson", "parquet"])
async def test_a_copy_has_the_users_groups_members_and_texts(
    emulator: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path, format: Any
) -> None:
    await session.users.deactivate(["user-005"])
    await export(session, out, Plan(everything=True, format=format), tables=TABLES)
    result = await run(into, [out])
    assert result.ok, result.refused
    assert await content(into, target) == await content(session, emulator)
    assert [(each.file, each.kind) for each in result.files] == [
        ("out/users", "users"), ("out/groups", "groups"), ("out/members", "members"),
        ("out/messages", "messages"), ("out/users (deactivated)", "users"),
    ]  # fmt: skip
    again = await run(into, [out])
    assert (again.imported, again.refused) == (result.imported, ())
    anew = await run(into, [out], journal=out.with_name("another"))
    assert {note.code for note in anew.refused} == {"ERR_IMPORT_MUID_ALREADY_EXISTS"}
    assert anew.files[3].refused == anew.files[3].lines - anew.skipped


async def test_what_no_import_takes_is_counted(
    emulator: Emulator, session: AsyncSession, into: AsyncSession, out: Path
) -> None:
    store = emulator.store
    data: dict[str, Any] = {"text": "hi", "reactions": [{"reaction": "+", "count": 1}]}
    store.add_message("user-001", "user-002", data=data, parentId="1", quotedMessage={"id": "1"})
    store.add_message("user-001", "user-002", data={"text": "x", "attachments": [{"url": "https://a/b"}]})
    store.people.add_group({"guid": "locked", "name": "L", "type": "password", "description": "D"}, "secret")
    await session.banned_users.ban("group-01", "user-003")
    report = await export(session, out, Plan(everything=True), tables=[*TABLES, "conversations", "bans"])
    result = check([out])
    counts = not_carried(result)
    assert counts["conversations (their tags, pins and unread counts)"] == report.tables["conversations"]
    assert counts["bans of users from groups"] == 1
    messages = stored(emulator)
    for category in ("action", "call"):
        count = sum(record["category"] == category for record in messages)
        assert counts[f"messages of the category {category}"] == count > 0
    assert counts["quotes of other messages"] == 1
    assert counts["reactions of messages"] >= 1
    assert counts["files of attachments (their addresses are kept)"] >= 1
    assert counts["descriptions of groups"] == 1
    assert counts["passwords of groups (each gets a random one)"] == 1
    assert not_carried(await run(into, [out])) == counts
    assert (await into.groups.get("locked")).type == "password"


async def test_a_muid_that_comes_twice_loses_no_message(
    emulator: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path
) -> None:
    for number in range(3):
        emulator.store.add_message("user-001", "user-002", data={"text": f"again {number}"}, muid="same")
    await export(session, out, Plan(everything=True), tables=TABLES)
    assert (await run(into, [out])).ok
    texts = [text_of(record) for record in stored(target)]
    assert [text for text in texts if str(text).startswith("again")] == ["again 0", "again 1", "again 2"]
    assert sum(record.get("muid") == "same" for record in stored(target)) == 1


async def test_one_kind_of_an_export(session: AsyncSession, into: AsyncSession, out: Path) -> None:
    await export(session, out, Plan(everything=True), tables=TABLES)
    result = await run(into, [out], kind="groups")
    assert [each.file for each in result.files] == ["out/groups"]
    assert {note.code for note in result.refused} == {"ERR_UID_NOT_FOUND"}


async def test_roles_that_the_app_does_not_have_are_made(
    emulator: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path
) -> None:
    for number, role in enumerate(("default", "guide", "x" * 101)):
        emulator.store.add_user(f"extra-{number}", role=role)
    await export(session, out, Plan(everything=True), tables=TABLES)
    result = await run(into, [out])
    assert [(note.key, note.code) for note in result.refused] == [("extra-2", "ERR_ROLE_NOT_FOUND")]
    assert (await into.users.get("extra-1")).role == "guide"
    assert not_carried(result)["rights of roles (a missing role is made without them)"] >= 2


# ── what is refused ──


async def test_an_export_that_is_not_complete_is_refused_unless_it_is_allowed(
    emulator: Emulator, session: AsyncSession, out: Path
) -> None:
    emulator.weather.add(Status(403, route="groups.list"))
    await export(session, out, Plan(everything=True), tables=TABLES)
    with pytest.raises(RequestInvalidError, match=r"not complete \(groups: .*--incomplete"):
        check([out])
    result = check([out], allow_incomplete=True)
    assert [each.kind for each in result.files] == ["users", "messages", "users"]


async def test_files_that_are_not_those_of_the_manifest_are_refused(session: AsyncSession, out: Path) -> None:
    await export(session, out, Plan(everything=True), tables=["users"])
    table = out / "users" / "users.ndjson"
    content = table.read_bytes()
    table.write_bytes(content.replace(b"user-001", b"user-099"))
    with pytest.raises(
        RequestInvalidError, match=r"users\.ndjson is not as the manifest says: `chatrest verify"
    ):
        check([out])
    table.write_bytes(content)
    [entry] = read(out / MANIFEST).files
    (out / entry.name).write_bytes((out / entry.name).read_bytes() + b"{}\n")
    with pytest.raises(RequestInvalidError, match="is not as the manifest says"):
        check([out])


@pytest.mark.parametrize("format", ["ndjson", "parquet"])
async def test_a_damaged_file_is_named(session: AsyncSession, out: Path, format: Any) -> None:
    compress = "gzip" if format == "ndjson" else None
    await export(session, out, Plan(everything=True, format=format, compress=compress), tables=["users"])
    [entry] = read(out / MANIFEST).files
    (out / entry.name).write_bytes(b"x" * entry.bytes)
    with pytest.raises(ChatRestError, match=f"{entry.name} cannot be read"):
        check([out])


async def test_an_export_that_has_changed_in_the_midst_of_its_import_is_refused(
    emulator: Emulator, session: AsyncSession, into: AsyncSession, out: Path
) -> None:
    await export(session, out, Plan(everything=True), tables=TABLES)
    await run(into, [out])
    emulator.store.people.users["user-001"] = {"uid": "user-001", "name": "Renamed"}
    await export(session, out)
    with pytest.raises(RequestInvalidError, match=r"out/users has changed: .* another journal"):
        await run(into, [out])


# ── deaths ──


@pytest.mark.parametrize("batches", [2, 4])
async def test_an_import_that_dies_after_any_batch_goes_on(
    emulator: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path, batches: int
) -> None:
    await session.users.deactivate(["user-005"])
    await export(session, out, Plan(everything=True), tables=TABLES)
    count = 0

    def die(_: ImportProgress) -> None:
        nonlocal count
        count += 1
        if count == batches:
            raise ProcessDeath

    with pytest.raises(ProcessDeath):
        await run(into, [out], progress=die)
    assert (await run(into, [out])).ok
    assert await content(into, target) == await content(session, emulator)
