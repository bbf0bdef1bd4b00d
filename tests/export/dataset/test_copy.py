"""The copy of an app: exported from one emulator with its tables, and imported into another one."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, ChatRestError, RequestInvalidError
from chatrest.emulator import Emulator, Every, Fault, Outgoing, Reset, Status
from chatrest.export import Plan, export
from chatrest.export.folder.manifest import NAME as MANIFEST, read
from chatrest.export.folder.tables import Table, read_table
from chatrest.importing import ImportResult, Progress, check, run
from chatrest.importing.shown_records import REACTIONS
from tests.dying import ProcessDeath
from tests.faulty import no_wait

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
    report = await export(session, out, Plan(everything=True), tables=[*TABLES, "conversations"])
    result = check([out])
    counts = not_carried(result)
    assert counts["conversations (their tags, pins and unread counts)"] == report.tables["conversations"]
    messages = stored(emulator)
    for category in ("action", "call"):
        count = sum(record["category"] == category for record in messages)
        assert counts[f"messages of the category {category}"] == count > 0
    assert counts["quotes of other messages"] == 1
    assert counts[REACTIONS] >= 1
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


# ── reactions, friends, bans and blocks ──

RELATIONS: tuple[Table, ...] = ("reactions", "friends", "bans", "blocks")
EMOJIS = ("👍", "❤️", "+1/2?#%")


@pytest.fixture
async def related(emulator: Emulator, session: AsyncSession) -> Emulator:
    """An app with relations of every kind: more reactions than a page has, and blocks in both directions."""
    store = emulator.store
    uids = [f"user-00{n}" for n in range(1, 6)] + [f"extra-{n:02}" for n in range(30)]
    for uid in uids[5:]:
        store.add_user(uid)
    store.people.add_group({"guid": "club", "name": "Club", "type": "public", "createdAt": 1_600_000_000})
    for receiver, kind in (("club", "group"), ("user-002", "user"), ("user-002", "user")):
        stored = store.add_message(
            "user-001", receiver, str(len(store.ids())), receiver_type=kind, sentAt=1_700_000_000
        )
        readers = uids if kind == "group" else ["user-001", "user-002"]
        for place, uid in enumerate(reversed(readers)):
            await session.messages.add_reaction(stored["id"], EMOJIS[place % 3], on_behalf_of=uid)
    await session.messages.add_reaction(stored["id"], "🎉", on_behalf_of="user-002")
    await session.friends.add("user-001", uids[1:])
    await session.friends.add("user-002", uids[5:9])
    await session.blocked_users.block("user-001", uids[3:30])
    await session.blocked_users.block("user-004", ["user-001"])
    for uid in uids[3:20]:
        await session.banned_users.ban("club", uid)
    await session.users.deactivate(["user-005"])
    return emulator


def relations(out: Path, emulator: Emulator) -> dict[str, list[Any]]:
    """Return the rows of an export's tables, but for ids and times that a copy does not have."""
    rows = {
        table: [json.loads(raw) for raw in read_table(out / table / f"{table}.ndjson", table)]
        for table in RELATIONS
    }
    reactions: dict[Any, list[Any]] = {}
    for row in sorted(rows["reactions"], key=lambda row: int(row["id"])):
        message = json.loads(next(iter(emulator.store.records([int(row["messageId"])]))))
        place = (message["data"]["text"], message["sender"], message["receiver"], message["sentAt"])
        reactions.setdefault(place, []).append((row["reaction"], row["uid"]))
    return {
        "reactions": sorted(reactions.items()),
        "friends": sorted((row["friendOf"], row["uid"]) for row in rows["friends"]),
        "bans": sorted((row["guid"], row["uid"]) for row in rows["bans"]),
        "blocks": sorted((row["blockedBy"], row["uid"]) for row in rows["blocks"]),
    }


class Deadly(Fault, frozen=True, kw_only=True):
    """A reply after which the process that it is for is no more."""

    stop: Any

    def changed(self, reply: Outgoing, request: Any, number: int) -> Outgoing:
        self.stop()
        return reply


async def exported(session: AsyncSession, emulator: Emulator, out: Path) -> dict[str, list[Any]]:
    """Export an app with all tables, and return its relations."""
    assert (await export(session, out, Plan(everything=True), tables=[*TABLES, *RELATIONS])).complete
    return relations(out, emulator)


async def test_a_copy_has_who_reacted_and_the_friends_bans_and_blocks(
    related: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path
) -> None:
    before = await exported(session, related, out)
    checked, result = check([out]), await run(into, [out])
    assert result.ok, result.refused
    assert await exported(into, target, out.with_name("again")) == before
    counts = {each.kind: (each.imported, each.existing) for each in result.files if each.kind in RELATIONS}
    assert counts == {"reactions": (42, 0), "friends": (37, 37), "bans": (16, 0), "blocks": (27, 0)}
    assert not_carried(result) == not_carried(checked)
    assert not_carried(result)["times of reactions"] == 42
    assert not_carried(result)["times of blocks"] == 27
    assert REACTIONS not in not_carried(result)
    actions = [record for record in stored(target) if record["category"] == "action"]
    assert actions == []  # no group is told that somebody was banned
    assert (await run(into, [out])).files == result.files


async def test_an_import_that_loses_replies_and_dies_loses_and_doubles_no_relation(
    related: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, out: Path
) -> None:
    before = await exported(session, related, out)
    for route in ("data_import.import_messages", "messages.add_reaction", "friends.add"):
        target.weather.add(Reset(route=route, processed=True, when=Every(3)))
    deaths, work = 0, asyncio.ensure_future(run(into, [out]))
    target.weather.add(Deadly(stop=lambda: deaths < 5 and work.cancel(), when=Every(11)))
    while True:
        try:
            result = await work
            break
        except asyncio.CancelledError:
            deaths, work = deaths + 1, asyncio.ensure_future(run(into, [out]))
    assert result.ok, result.refused
    assert deaths == 5
    target.weather.clear()
    assert await exported(into, target, out.with_name("again")) == before


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
    emulator.store.people.update_user({"uid": "user-001", "name": "Renamed"})
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

    def die(_: Progress) -> None:
        nonlocal count
        count += 1
        if count == batches:
            raise ProcessDeath

    with pytest.raises(ProcessDeath):
        await run(into, [out], progress=die)
    assert (await run(into, [out])).ok
    assert await content(into, target) == await content(session, emulator)
