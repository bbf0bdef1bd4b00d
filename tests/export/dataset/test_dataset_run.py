"""Tables beside the messages: every format, lists that fail, runs that die, and the check of all files."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, AuthenticationError, ChatRestError, NewMessage
from chatrest.emulator import Emulator, First, Status
from chatrest.export import Plan, Report, export
from chatrest.export.folder.tables import TABLES
from chatrest.export.run.folder_run import ExportOptions, export_folder
from chatrest.export.store.disk import Disk
from tests.support.export_runs import file_problems, manifest_of


def rows(out: Path, table: str) -> list[dict[str, Any]]:
    lines = (out / table / f"{table}.ndjson").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def users_only(session: AsyncSession, out: Path, **options: Any) -> Report:
    tables = ExportOptions(tables=["users"])
    return await export_folder(session, out, Plan(users=["user-001"]), tables, **options)


async def test_every_table_equals_that_of_the_service(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    await session.users.deactivate(["user-005"])
    report = await export(session, out, Plan(users=["user-001"]), tables=TABLES)
    assert report.complete, report
    users = [record["uid"] for record in rows(out, "users")]
    assert sorted(users) == [f"user-00{n}" for n in range(1, 6)]
    members = {(record["guid"], record["uid"], record["joinedAt"]) for record in rows(out, "members")}
    expected = set()
    for guid in ("group-01", "group-02"):
        expected |= {(guid, each.uid, each.joined_at) async for each in session.members.list(guid)}
    assert members == expected
    conversations = [
        (record["onBehalfOf"], record["conversationId"]) for record in rows(out, "conversations")
    ]
    listed = [
        (uid, each.conversation_id)
        for uid in users[:4]
        async for each in session.conversations.list(on_behalf_of=uid)
    ]
    assert sorted(conversations) == sorted(listed)
    assert report.tables == {table: len(rows(out, table)) for table in TABLES}
    assert {entry.table: entry.rows for entry in manifest_of(out).tables} == report.tables
    assert file_problems(out) == []


async def test_friends_and_blocked_users_are_tables(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    first = await session.messages.send(NewMessage.text("user-002", "liked"), on_behalf_of="user-001")
    for uid, emoji in (("user-001", "👍"), ("user-002", "👍"), ("user-002", "🎉")):
        await session.messages.add_reaction(first.id, emoji, on_behalf_of=uid)
    await session.friends.add("user-001", ["user-002", "user-003"])
    await session.blocked_users.block("user-004", ["user-001"])
    await session.banned_users.ban("group-01", "user-003")
    asked = ["reactions", "bans", "friends", "blocks"]
    report = await export(session, out, Plan(everything=True), tables=asked)
    assert report.complete, report
    reactions = [
        (each["uid"], each["reaction"]) for each in rows(out, "reactions") if each["messageId"] == first.id
    ]
    assert sorted(reactions) == [("user-001", "👍"), ("user-002", "🎉"), ("user-002", "👍")]
    friends = {(each["friendOf"], each["uid"]) for each in rows(out, "friends")}
    assert {("user-001", "user-002"), ("user-001", "user-003")} <= friends
    assert [(each["blockedBy"], each["uid"]) for each in rows(out, "blocks")] == [("user-004", "user-001")]
    assert [(each["guid"], each["uid"]) for each in rows(out, "bans")] == [("group-01", "user-003")]
    assert file_problems(out) == []


async def test_lines_are_the_records_as_they_were_served(session: AsyncSession, out: Path) -> None:
    await export(session, out, Plan(users=["user-001"], compress="gzip"), tables=["groups", "members"])
    groups = gzip.decompress((out / "groups" / "groups.ndjson.gz").read_bytes()).splitlines()
    served = [page.raw async for page in session.groups.list().pages()]
    assert groups
    assert all(line in served[0] for line in groups)
    member = gzip.decompress((out / "members" / "members.ndjson.gz").read_bytes()).splitlines()[0]
    own = member.replace(b'{"guid":"group-01",', b"{").replace(b'{"guid":"group-02",', b"{")
    pages = [
        page.raw for guid in ("group-01", "group-02") async for page in session.members.list(guid).pages()
    ]
    assert len(own) < len(member)
    assert any(own in page for page in pages)


async def test_a_later_run_reads_all_tables_again_and_may_add_some(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    await users_only(session, out)
    emulator.store.add_user("new")
    report = await export(session, out)
    assert report.tables == {"users": 6}
    report = await export(session, out, tables=["groups"])
    assert report.tables == {"users": 6, "groups": 2}
    assert file_problems(out) == []


async def test_a_list_that_fails_leaves_the_older_table(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    await export(session, out, Plan(users=["user-001"]), tables=["members"])
    before = rows(out, "members")
    emulator.weather.add(Status(403, route="members.list", when=First(1)))
    emulator.store.people.add_group({"guid": "third", "name": "Third", "type": "public"})
    report = await export(session, out)
    assert not report.complete
    [failure] = report.failed
    assert failure.source.startswith("members of group ")
    assert rows(out, "members") == before
    assert any(failure.source in reason for reason in manifest_of(out).reasons)
    assert file_problems(out) == []
    assert names(out / "members") == ["members.ndjson"]
    assert (await export(session, out)).complete


@pytest.mark.parametrize(
    ("weather", "failed"),
    [
        (Status(403, route="groups.list"), ["groups: "]),
        (Status(404, code="ERR_GUID_NOT_FOUND", route="members.list", when=First(1)), []),  # it was removed
        (Status(404, route="members.list"), ["members: the service has none of 2 lists (404)"]),
    ],
    ids=["no groups", "a group less", "no members"],
)
async def test_the_missing_lists_of_groups_are_reported(
    weather: Status, failed: list[str], session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    emulator.weather.add(weather)
    report = await export(session, out, Plan(users=["user-001"]), tables=["users", "members"])
    assert [text[: len(words)] for text, words in zip(report.all_reasons, failed, strict=True)] == failed
    assert report.tables["users"] == 5
    assert len({record["guid"] for record in rows(out, "members")} if not failed else {0}) == 1


async def test_the_rest_is_given_up_after_many_failures(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    for number in range(100):
        emulator.store.add_user(f"more-{number}")
    emulator.weather.add(Status(403, route="conversations.list"))
    report = await export(session, out, Plan(users=["user-001"]), tables=["conversations"])
    assert 20 <= len(report.failed) < 60
    assert "the rest was not read" in report.failed[-1].error


async def test_a_refused_key_ends_the_run_and_nothing_is_replaced(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    await export(session, out, Plan(users=["user-001"]), tables=["members"])
    before = rows(out, "members")
    emulator.weather.add(Status(401, code="AUTH_ERR_APIKEY_NOT_FOUND", route="members.list"))
    with pytest.raises(AuthenticationError):
        await export(session, out)
    assert rows(out, "members") == before
    assert file_problems(out) == []


def journals(out: Path) -> list[Path]:
    return list(out.glob("journal.sqlite*"))


async def fails(session: AsyncSession, emulator: Emulator, out: Path) -> Report:
    """Export while the list of users cannot be read."""
    emulator.weather.add(Status(403, route="users.list"))
    report = await export(session, out)
    emulator.weather.clear()
    return report


async def test_the_tables_of_a_plan_survive_a_lost_journal(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    first = await export(session, out, Plan(users=["user-001"]), tables=["groups", "users"], attachments=True)
    assert (first.complete, first.warnings) == (True, [])
    for lost in (out / "journal.sqlite").parent.glob("journal.sqlite*"):
        lost.unlink()
    emulator.store.add_user("new")
    again = await export(session, out)
    assert (again.complete, again.tables) == (True, {"users": 6, "groups": 2})
    assert len(rows(out, "users")) == 6
    assert again.attachments is not None


async def test_a_table_that_is_not_the_journals_is_set_aside_and_read_again(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    await users_only(session, out)
    contents = {path.name: path.read_bytes() for path in journals(out)}
    emulator.store.add_user("new")
    await export(session, out)
    for name, content in contents.items():
        (out / name).write_bytes(content)
    assert not (await fails(session, emulator, out)).complete
    assert manifest_of(out).tables == []
    [aside] = (out / "damaged" / "users").iterdir()
    assert aside.read_bytes().count(b"\n") == 6
    assert (await export(session, out)).complete
    assert len(rows(out, "users")) == 6
    assert file_problems(out) == []


@pytest.mark.parametrize(
    ("harm", "is_known"),
    [(lambda data: data[:-9], True), (lambda data: data[: data.rfind(b"\n", 0, -1) + 1], False),
     (lambda data: b"", False), (lambda data: b"\0" * len(data), True)],
)  # fmt: skip
async def test_a_table_that_was_cut_is_set_aside_by_the_next_run(
    session: AsyncSession, out: Path, harm: Callable[[bytes], bytes], is_known: bool
) -> None:
    await users_only(session, out)
    [path] = (out / "users").iterdir()
    before = path.read_bytes()
    path.write_bytes(harm(before))
    is_shorter = path.stat().st_size < len(before)
    if not is_known:
        for journal in journals(out):
            journal.unlink()
    assert (await export(session, out, tables=["users"])).complete
    assert (out / "damaged" / "users").exists() or not (is_known and is_shorter)
    assert len(rows(out, "users")) == 5
    assert file_problems(out) == []


async def test_a_disk_that_fails_leaves_the_older_table(
    session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    class FullDisk(Disk):
        def write(self, file: int, position: int, data: bytes) -> int:
            if b"new" in bytes(data):
                raise OSError(28, "No space left on device")
            return super().write(file, position, data)

    await users_only(session, out)
    before = rows(out, "users")
    emulator.store.add_user("new")
    with pytest.raises(OSError, match="No space"):
        await export_folder(session, out, disk=FullDisk())
    assert rows(out, "users") == before
    assert file_problems(out) == []
    assert not (out / "spool").exists()
    assert (await export(session, out)).tables == {"users": 6}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"user-001", b"user-009"))


@pytest.mark.parametrize(
    ("damage", "kind"),
    [(Path.unlink, "missing"), (cut, "size"), (change, "damaged")],
    ids=["gone", "cut", "changed"],
)
async def test_a_changed_table_is_a_problem(
    session: AsyncSession, out: Path, damage: Callable[[Path], None], kind: str
) -> None:
    await users_only(session, out)
    damage(out / "users" / "users.ndjson")
    assert file_problems(out) == [(kind, "users/users.ndjson")]


async def test_a_table_that_leads_out_of_the_folder_is_refused(session: AsyncSession, out: Path) -> None:
    await users_only(session, out)
    elsewhere = out.with_name("elsewhere")
    (out / "users").rename(elsewhere)
    (out / "users").symlink_to(elsewhere)
    assert {kind for kind, _ in file_problems(out)} == {"unsafe"}
    before = (elsewhere / "users.ndjson").read_bytes()
    with pytest.raises(ChatRestError, match="leads out of"):
        await export(session, out)
    assert (elsewhere / "users.ndjson").read_bytes() == before


@pytest.mark.parametrize("options", [{}, {"only": True}, {"change_plan": True}, {"recheck": 60}])
async def test_a_service_that_is_another_one_changes_no_table_and_no_attachment(
    options: dict[str, Any], session: AsyncSession, emulator: Emulator, out: Path
) -> None:
    tables = ["users", "groups"]
    first = await export(session, out, Plan(all_users=True), tables=tables, attachments=True)
    assert first.complete, first
    files = [*(out / "users").iterdir(), *(out / "groups").iterdir()]
    files += [path for path in (out / "attachments").rglob("*.ndjson") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    async with (
        Emulator(app_id=emulator.app.app_id, users=9, messages=3, seed=5) as other,
        AsyncSession(other.app) as stranger,
    ):
        other.store.add_message("user-001", "user-002", "later", sent_at=1_900_000_000)
        plan = Plan(users=["user-001"]) if options.keys() & {"only", "change_plan"} else None
        report = await export(stranger, out, plan, tables=["members"], **options)
        asked = {each.path for each in other.requests}
    assert not report.complete
    assert "export into a new folder" in report.reasons[0]
    assert report.tables == first.tables
    assert {path: path.read_bytes() for path in before} == before
    assert not (out / "members").exists()
    assert not {path for path in asked if not path.startswith("/v3/messages")}
    again = await export(session, out)
    assert again.complete, again
