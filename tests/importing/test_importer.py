"""Imports against the emulator, and into a service that loses replies, refuses batches, or is interrupted."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings, strategies as st

from chatrest import (
    App,
    AsyncSession,
    AuthenticationError,
    OutcomeUnknownError,
    ReplyUnreadableError,
    RequestInvalidError,
    ServerError,
)
from chatrest.database.message_rows import find_raw
from chatrest.emulator import Emulator, First, LostReply, OutgoingReply, Status
from chatrest.export import Plan, export
from chatrest.export.formats.stored_records import compression
from chatrest.importing import ImportProgress, ImportResult, check, run
from tests.importing.conftest import MEMBER, Write, message, muids, user
from tests.support.scripted_server import no_wait

USERS = [user(number) for number in range(120)]
GROUP = {"guid": "den", "name": "Den", "type": "public", "owner": "u0"}


class Fixed(LostReply, frozen=True):
    data: Any

    def replacement(self, now: float) -> Any:
        return OutgoingReply(200, json.dumps(self.data).encode(), {"Content-Type": "application/json"})


async def test_all_kinds_are_imported_in_their_order(
    session: AsyncSession, emulator: Emulator, write: Write
) -> None:
    files = [
        write("messages.ndjson", [message(n) for n in range(101)]),
        write("members.ndjson", [MEMBER]),
        write("groups.ndjson", [GROUP]),
        write("users.ndjson", USERS),
    ]
    progress: list[ImportProgress] = []
    result = await run(session, files, progress=progress.append)
    assert result.ok
    assert [(each.file, each.kind, each.lines, each.imported) for each in result.files] == [
        ("users.ndjson", "users", 120, 120), ("groups.ndjson", "groups", 1, 1),
        ("members.ndjson", "members", 1, 1), ("messages.ndjson", "messages", 101, 101),
    ]  # fmt: skip
    assert result.imported == progress[-1].imported == 223
    assert [each.line for each in progress] == [50, 100, 120, 1, 1, 50, 100, 101]
    assert muids(emulator) == [f"m{n}" for n in range(101)]
    scopes = {each.uid: each.scope async for each in session.members.list("den")}
    assert scopes == {"u0": "admin", "u1": "moderator"}


async def test_every_refusal_has_the_line_number(session: AsyncSession, write: Write) -> None:
    users = [user(0), "{", "", user(1, role="nobody"), {"uid": "u2"}, "[]", user(3, height=2), user(4)]
    result = await run(session, [write("users.ndjson", users)])
    assert [(note.file, note.line, note.key, note.code) for note in result.refused] == [
        ("users.ndjson", 2, "", "invalid"), ("users.ndjson", 4, "u1", "ERR_ROLE_NOT_FOUND"),
        ("users.ndjson", 5, "", "invalid"), ("users.ndjson", 6, "", "invalid"),
        ("users.ndjson", 7, "", "invalid"),
    ]  # fmt: skip
    assert [(each.imported, each.refused) for each in result.files] == [(2, 5)]
    assert (
        str(result.refused[2])
        == "users.ndjson:5: invalid: user: 'name' is missing: expected a non-empty text (valid Unicode)"
    )
    assert "user: unknown field 'height'; expected uid" in str(result.refused[4])
    assert not result.ok


async def test_a_run_that_is_over_sends_nothing_again(
    session: AsyncSession, emulator: Emulator, write: Write
) -> None:
    files = [write("users.ndjson", [*USERS[:60], user(60, role="nobody")])]
    first = await run(session, files)
    emulator.weather.add(Status(500, route="data_import.import_users"))
    assert await run(session, files) == first
    assert emulator.weather.struck["status"] == 0
    emulator.weather.clear()
    with files[0].open("a", encoding="utf-8") as file:
        file.write(json.dumps(user(61)))
    assert (await run(session, files)).imported == first.imported + 1, "a line that was added later"


async def test_a_record_that_the_reply_does_not_mention_is_refused(
    session: AsyncSession, emulator: Emulator, write: Write
) -> None:
    words = f"the key {session.app.api_key} may not do that"
    outcomes = {
        "u0": {"success": True},
        "u1": {"success": False, "error": {"code": "ERR_X", "message": words}},
    }
    emulator.weather.add(Fixed({"data": outcomes}, route="data_import.import_users"))
    result = await run(session, [write("users.ndjson", USERS[:3])])
    assert [(note.key, note.code, note.message) for note in result.refused] == [
        ("u1", "ERR_X", "the key [hidden] may not do that"),
        ("u2", "no outcome", "the reply does not mention this record"),
    ]
    assert session.app.api_key not in repr(result)


@pytest.mark.parametrize(("status", "kind"), [(401, AuthenticationError), (500, OutcomeUnknownError)])
async def test_an_error_of_no_record_stops_the_run_for_a_later_one(
    session: AsyncSession, emulator: Emulator, write: Write, status: int, kind: type[Exception]
) -> None:
    files = [write("users.ndjson", USERS)]
    emulator.weather.add(Status(status, route="data_import.import_users", when=First(99, after=1)))
    with pytest.raises(kind):
        await run(session, files)
    emulator.weather.clear()
    result = await run(session, files)
    assert result.imported == 120
    assert result.ok


@pytest.mark.parametrize("compress", ["gzip", "zstd"])
async def test_compressed_files_are_read(
    session: AsyncSession, write: Write, tmp_path: Path, compress: Any
) -> None:
    plain, packed_as = write("users.ndjson", USERS).read_bytes(), compression(compress)
    half = len(plain) // 2
    packed = tmp_path / f"packed.ndjson{packed_as.suffix}"
    packed.write_bytes(packed_as.pack(plain[:half]) + packed_as.pack(plain[half:]))
    assert (await run(session, [packed])).imported == 120
    whole = packed.read_bytes()
    for damaged in (whole[:-9], whole[: len(whole) // 2] + b"damage" + whole[len(whole) // 2 + 6 :]):
        packed.write_bytes(damaged)
        with pytest.raises(RequestInvalidError, match=r"packed\.ndjson\.\w+ cannot be decompressed"):
            await run(session, [packed], journal=tmp_path / "another")


def test_a_check_validates_every_line(write: Write) -> None:
    lines = [
        message(0),
        message(1, receiverType="app"),
        message(2, id="7", conversationId="c", category="call"),
    ]
    result = check([write("messages.ndjson", lines)])
    assert (result.dry_run, result.ok, result.imported, result.skipped) == (True, False, 1, 1)
    [note] = result.refused
    assert (note.line, note.code) == (2, "invalid")
    assert "receiverType = 'app': expected 'user' or 'group'" in note.message


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (user(1), "users"), (GROUP, "groups"), (MEMBER, "members"), (message(1), "messages"),
        (MEMBER | {"bannedAt": 5}, "bans"),
    ],
)  # fmt: skip
def test_kinds_are_detected(write: Write, record: Any, kind: str) -> None:
    assert check([write("file", ["", "damaged", {}, record])]).files[0].kind == kind


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("reactions", {"messageId": "1", "reaction": "x", "uid": "u"}),
        ("friends", {"friendOf": "u", "uid": "v"}),
        ("blocks", {"blockedBy": "u", "uid": "v"}),
    ],
)
def test_other_tables_of_an_export_are_not_taken_for_a_kind(write: Write, name: str, record: Any) -> None:
    with pytest.raises(RequestInvalidError, match="shows its kind"):
        check([write(name, [record])])


@pytest.mark.parametrize("kind", ["users", "messages", "bans"])
def test_an_empty_table_of_an_export_has_the_kind_of_its_name(write: Write, kind: str) -> None:
    assert [(each.kind, each.lines) for each in check([write(f"{kind}.ndjson", [])]).files] == [(kind, 0)]


async def test_users_are_banned_after_their_messages_are_imported(
    session: AsyncSession, emulator: Emulator, write: Write
) -> None:
    written = message(1, receiver="den", receiverType="group")
    lines = {
        "bans": [{"guid": "den", "uid": "u0", "status": "offline"}],
        "messages": [written],
        "groups": [GROUP],
    }
    files = [write(f"{kind}.ndjson", records) for kind, records in lines.items()]
    result = await run(session, [*files, write("users.ndjson", USERS[:2])])
    assert (result.ok, [each.kind for each in result.files]) == (
        True,
        ["users", "groups", "messages", "bans"],
    )
    assert [each.uid async for each in session.banned_users.list("den")] == ["u0"]
    again = await run(session, [write("members.ndjson", [MEMBER | {"uid": "u0"}])])
    assert [note.code for note in again.refused] == ["ERR_BANNED_GROUPMEMBER"]


def test_wrong_arguments_are_named(write: Write, tmp_path: Path) -> None:
    path = write("file.ndjson", [{}])
    with pytest.raises(RequestInvalidError, match="shows its kind"):
        check([path])
    with pytest.raises(RequestInvalidError, match=r"kind \(lines:1: the line is not JSON: .*\): expected '"):
        check([write("lines", ["hi", "there"])])
    with pytest.raises(RequestInvalidError, match="kind = 'calls': expected 'users', 'groups', 'members', "):
        check([path], kind="calls")  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match="there is no"):
        check([tmp_path / "nothing"])
    for wrong in (5, [5, path], None, b"file.ndjson"):
        with pytest.raises(RequestInvalidError, match=r"^files = .*: expected a path, or a list of paths$"):
            check(wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match="expected at least one file"):
        check([])
    for out, words in ((str(tmp_path), "a folder"), ("s3://bucket/chat", "an address")):
        with pytest.raises(RequestInvalidError, match=f"^files: '{out}' is {words}: expected files of lines"):
            check(out)


async def people(session: AsyncSession) -> list[Any]:
    """Return the users, groups and members of an app, as far as a copy has them."""
    groups = [each async for each in session.groups.list()]
    return [
        [(each.uid, each.name, each.role) async for each in session.users.list()],
        [(each.guid, each.name, each.type, each.owner, each.created_at) for each in groups],
        [
            sorted(
                [(each.uid, each.scope, each.joined_at) async for each in session.members.list(group.guid)]
            )
            for group in groups
        ],
    ]


def messages(emulator: Emulator) -> list[tuple[Any, ...]]:
    records = map(json.loads, emulator.store.records(emulator.store.ids()))
    return [
        (each["sender"], each["receiver"], each["sentAt"], each["data"].get("text"), each["muid"])
        for each in records
        if each["category"] in ("message", "custom") and not each.get("deletedAt")
    ]


async def test_a_copy_has_the_users_groups_members_and_messages(
    session: AsyncSession, emulator: Emulator, tmp_path: Path, write: Write
) -> None:
    out = tmp_path / "out"
    async with (
        Emulator(users=6, messages=120, groups=2, seed=3) as source,
        AsyncSession(source.app, sleep=no_wait) as old,
    ):
        for number, role in enumerate(("default", "guide", "x" * 101)):
            source.store.add_user(f"extra-{number}", role=role)
        await export(old, out, Plan(everything=True), tables=["users", "groups", "members"])
        expected, former = await people(old), messages(source)
    records = [raw.decode() for raw in find_raw(out, by_time=True)]
    tables = [out / kind / f"{kind}.ndjson" for kind in ("users", "groups", "members")]
    files = [*tables, write("messages.ndjson", records)]
    result = await run(session, files)
    assert [(note.key, note.code) for note in result.refused] == [("extra-2", "ERR_ROLE_NOT_FOUND")]
    expected[0] = [each for each in expected[0] if each[0] != "extra-2"]
    assert await people(session) == expected
    assert messages(emulator) == former
    assert result.files[3].imported == len(former)
    assert result.not_carried == check(files).not_carried != ()
    assert await run(session, files) == result


@pytest.mark.parametrize(("status", "error"), [(401, AuthenticationError), (500, ServerError)])
async def test_a_service_that_makes_no_role_now_ends_the_run(
    session: AsyncSession, emulator: Emulator, write: Write, status: int, error: type[Exception]
) -> None:
    emulator.weather.add(Status(status, route="roles.create", when=First(1)))
    files = [write("users.ndjson", [user(1, status="offline", role="guide")])]
    with pytest.raises(error):
        await run(session, files)
    assert (await run(session, files)).imported == 1


KINDS = {"users": "uid", "groups": "guid", "members": "memberId", "messages": "muid"}
TAKEN = {
    "users": "ERR_UID_ALREADY_EXISTS", "groups": "ERR_GUID_ALREADY_EXISTS",
    "members": "ERR_ALREADY_JOINED", "messages": "ERR_IMPORT_MUID_ALREADY_EXISTS",
}  # fmt: skip


class BatchService:
    """An app's imports on a real socket; `stored` has the keys of each kind, in the order of their coming."""

    def __init__(self) -> None:
        self.stored: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self.most = 50
        """Records of a request; a larger one is 413."""
        self.refuses_all: set[str] = set()
        """Records because of which a whole request is 400."""
        self.refuses: set[str] = set()
        """Records that are refused one by one."""
        self.habit: Callable[[], str] = lambda: ""
        """What becomes of the next request: `lost`, `halfway`, `500`, `502`, `limit`, or nothing special."""
        self.after: Callable[[], None] = lambda: None
        """Called with every request that was applied, before its reply is sent."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        application = web.Application()
        application.router.add_post("/data_import/{kind}", self._import)
        async with TestServer(application) as server:
            here = App("app-1", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))
            async with AsyncSession(here, sleep=no_wait, dice=lambda: 0.5) as session:
                yield session

    async def _import(self, request: web.Request) -> web.Response:
        kind, habit = request.match_info["kind"], self.habit()
        records = (await request.json())[kind]
        if habit in ("limit", "502"):
            return refusal(
                429 if habit == "limit" else 502, "ERR_TOO_MANY_REQUESTS" if habit == "limit" else ""
            )
        if len(records) > self.most:
            return refusal(413, "")
        if self.refuses_all & records.keys():
            return refusal(400, "ERR_BAD_REQUEST")
        applied = list(records)[: len(records) // 2] if habit == "halfway" else list(records)
        outcomes = {key: self._outcome(kind, key) for key in applied}
        self.after()
        if habit == "500":
            return refusal(500, "")
        if habit == "unreadable":
            return web.json_response({"data": 7})
        if habit in ("lost", "halfway"):
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"data": outcomes})

    def _outcome(self, kind: str, key: str) -> dict[str, Any]:
        if key in self.refuses:
            return {"success": False, "error": {"code": "ERR_UID_NOT_FOUND", "message": "no"}}
        if key in self.stored[kind]:
            return {"success": False, "error": {"code": TAKEN[kind], "message": "there"}}
        self.stored[kind].append(key)
        return {"success": True, "data": {}}


def refusal(status: int, code: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": "no"} if code else {}}, status=status)


def record(kind: str, number: int) -> dict[str, Any]:
    match kind:
        case "users":
            return {"uid": f"k{number}", "name": "N"}
        case "groups":
            return {"guid": f"k{number}", "name": "N", "type": "public"}
        case "members":
            return {"guid": "g", "uid": f"{number}", "memberId": f"k{number}"}
    return message(number, muid=f"k{number}")


def refused(result: ImportResult) -> dict[str, str]:
    return {note.key: note.code for note in result.refused}


def script(*habits: str) -> Callable[[], str]:
    left = list(habits)
    return lambda: left.pop(0) if left else ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 413])
async def test_records_applied_before_a_refused_batch_remain(write: Write, kind: str, status: int) -> None:
    service = BatchService()

    def refuse_from_now_on() -> None:
        if status == 413:
            service.most = 3
        else:
            service.refuses_all = {"k5"}
        service.after = lambda: None

    service.habit, service.after = script("lost"), refuse_from_now_on
    if status == 400:
        service.habit = script("halfway")
    path = write(f"{kind}.ndjson", [record(kind, number) for number in range(10)])
    async with service.session() as session:
        result = await run(session, [path])
    bad = {"k5": "ERR_BAD_REQUEST"} if status == 400 else {}
    assert refused(result) == bad
    assert sorted(service.stored[kind]) == sorted(f"k{n}" for n in range(10) if f"k{n}" not in bad)
    assert result.imported == 10 - len(bad)


async def test_replies_that_can_never_be_read_end_the_import(write: Write) -> None:
    service = BatchService()
    service.habit = lambda: "unreadable"
    path = write("users.ndjson", [record("users", number) for number in range(10)])
    async with service.session() as session:
        with pytest.raises(ReplyUnreadableError):
            await run(session, [path])
        service.habit = script()
        assert (await run(session, [path])).imported == 10


async def test_a_record_not_sent_before_is_refused_if_the_id_exists(write: Write) -> None:
    service = BatchService()
    service.most, service.stored["messages"] = 3, ["k4"]
    path = write("messages.ndjson", [record("messages", number) for number in range(10)])
    async with service.session() as session:
        result = await run(session, [path])
    assert refused(result) == {"k4": "ERR_IMPORT_MUID_ALREADY_EXISTS"}
    assert result.imported == 9


async def test_a_group_that_is_full_has_no_member_that_is_there(write: Write) -> None:
    service = BatchService()
    service.habit = script("502")
    path = write("members.ndjson", [record("members", 0)])

    def full(kind: str, key: str) -> dict[str, Any]:
        return {"success": False, "error": {"code": "ERR_NO_VACANCY", "message": "full"}}

    service._outcome = full  # type: ignore[method-assign]
    async with service.session() as session:
        result = await run(session, [path])
    assert refused(result) == {"k0": "ERR_NO_VACANCY"}


@settings(max_examples=8)
@given(st.integers(0, 2**32), st.sampled_from([*KINDS]))
async def test_every_record_is_applied_once_or_named(
    tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str
) -> None:
    dice, service = Random(seed), BatchService()
    count = dice.randrange(1, 70)
    keys = [f"k{number}" for number in range(count)]
    service.most = dice.choice([1, 2, 7, 49, 50])
    service.refuses_all = set(dice.sample(keys, min(count, dice.randrange(3))))
    service.refuses = set(dice.sample(keys, min(count, dice.randrange(4)))) - service.refuses_all
    trouble = dice.choice([0.0, 0.1, 0.3])
    habits = ["lost", "halfway", "500", "502", "limit", "unreadable"]
    service.habit = lambda: dice.choice(habits) if dice.random() < trouble else ""
    path = tmp_path_factory.mktemp("any") / "records.ndjson"
    path.write_text("".join(f"{json.dumps(record(kind, number))}\n" for number in range(count)))
    async with service.session() as session:
        result = await finished(session, path, kind, service, dice)
    bad = dict.fromkeys(service.refuses_all, "ERR_BAD_REQUEST") | dict.fromkeys(
        service.refuses, "ERR_UID_NOT_FOUND"
    )
    assert refused(result) == bad
    assert service.stored[kind] == [key for key in keys if key not in bad]
    assert result.imported == count - len(bad)
    assert [(each.lines, each.refused) for each in result.files] == [(count, len(bad))]


async def finished(
    session: AsyncSession, path: Path, kind: Any, service: BatchService, dice: Random
) -> ImportResult:
    """Return the result of the run that came to its end, after runs that were ended in a request."""
    for deaths in range(1000):
        work = asyncio.ensure_future(run(session, [path], kind=kind))

        def die(work: "asyncio.Future[ImportResult]" = work, chance: float = 0.2 / (1 + deaths / 5)) -> None:
            if dice.random() < chance:
                work.cancel()

        service.after = die
        try:
            return await work
        except (OutcomeUnknownError, ReplyUnreadableError, asyncio.CancelledError):
            continue
    raise AssertionError("the import has no end")
