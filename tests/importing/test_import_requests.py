"""Reactions, friends, bans and blocks: in which requests they are sent, and what is said of each of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, AuthenticationError, RequestInvalidError
from chatrest.emulator import Emulator, Fault, Latency, LostReply, Outgoing, Status
from chatrest.export import Plan, export
from chatrest.export.folder.tables import Table
from chatrest.importing import ImportResult, check, run
from chatrest.importing.entities import read_written
from chatrest.importing.import_requests import rounds
from chatrest.importing.shown_records import REACTIONS
from tests.faulty import no_wait
from tests.importing.conftest import Write

TABLES: tuple[Table, ...] = ("users", "groups", "members")


@pytest.fixture
async def people(emulator: Emulator) -> Emulator:
    """An app with ten users, a group and the messages 1 and 2."""
    for number in range(10):
        emulator.store.add_user(f"u{number}")
    emulator.store.people.add_group({"guid": "den", "name": "Den", "type": "public", "createdAt": 5})
    for _ in range(2):
        emulator.store.add_message("u0", "u1", "hi")
    return emulator


def notes(result: ImportResult) -> list[tuple[int, str, str]]:
    return [(note.line, note.key, note.code) for note in result.refused]


def posts(emulator: Emulator, end: str) -> list[str]:
    """Return the paths of the POST requests that end so."""
    return [each.path for each in emulator.requests if each.method == "POST" and each.path.endswith(end)]


def friend(uid: str, other: str) -> dict[str, Any]:
    return {"friendOf": uid, "uid": other}


def reaction(message_id: str, emoji: str, uid: str) -> dict[str, Any]:
    return {"messageId": message_id, "reaction": emoji, "uid": uid}


async def test_records_written_by_hand_are_imported_and_each_refusal_is_named(
    session: AsyncSession, people: Emulator, write: Write
) -> None:
    files = [
        write("r", [reaction("1", "👍", "u0"), reaction("1", "👍", "u9"), reaction("7", "x", "u0"),
                    reaction("1", "..", "u0"), reaction("1", "b", "nobody"), reaction("1", "a/b", "u1")]),
        write("f", [friend("u0", "u1"), friend("u0", "u0"), friend("u1", "u0"), friend("gone", "u0")]),
        write("b", [{"blockedBy": "u0", "uid": "u3"}, {"blockedBy": "u0", "uid": "a,b"}]),
        write("bans.ndjson", [{"guid": "den", "uid": "u2", "joinedAt": 7}, {"guid": "no", "uid": "u2"}]),
    ]  # fmt: skip
    result = await run(session, files)
    assert notes(result) == [
        (2, "1/👍/u9", "ERR_MESSAGE_NO_ACCESS"), (3, "7/x/u0", "ERR_MESSAGE_ID_NOT_FOUND"),
        (4, "1/../u0", "invalid"), (5, "1/b/nobody", "ERR_UID_NOT_FOUND"),
        (2, "u0/u0", "ERR_CANNOT_FORM_SELF_RELATION"), (4, "gone/u0", "ERR_UID_NOT_FOUND"),
        (2, "no_member_u2", "ERR_GUID_NOT_FOUND"), (2, "u0/a,b", "invalid"),
    ]  # fmt: skip
    reactions = [(each.reaction, each.uid) async for each in session.messages.list_reactions("1")]
    assert reactions == [("👍", "u0"), ("a/b", "u1")]
    assert [each.uid async for each in session.friends.list("u1")] == ["u0"]
    assert [each.uid async for each in session.blocked_users.list("u0")] == ["u3"]
    assert [each.uid async for each in session.banned_users.list("den")] == ["u2"]
    assert [(each.kind, each.imported, each.existing) for each in result.files] == [
        ("reactions", 2, 0), ("friends", 1, 1), ("bans", 1, 0), ("blocks", 1, 0),
    ]  # fmt: skip


async def test_a_request_is_for_many_users_of_one(
    session: AsyncSession, people: Emulator, write: Write
) -> None:
    for number in range(10, 130):
        people.store.add_user(f"u{number}")
    lines = [friend(f"u{number % 3}", f"u{number}") for number in range(3, 130)]
    assert (await run(session, [write("f", lines)])).ok
    assert [each.uid async for each in session.friends.list("u1")] == [f"u{n}" for n in range(4, 130, 3)]
    assert sorted(path[-11:] for path in posts(people, "/friends")) == [
        "/u0/friends",
        "/u1/friends",
        "/u2/friends",
    ]


def test_the_sides_of_a_friendship_are_not_sent_at_once() -> None:
    lines = [friend("a", "b"), friend("a", "c"), friend("b", "a"), friend("b", "c"), friend("c", "b")]
    records = [read_written("friends", line) for line in lines]
    sent = [[[each.key for each in request] for [request] in lists] for lists in rounds("friends", records)]
    assert sent == [[["a/b", "a/c"], ["b/c"]], [["b/a"], ["c/b"]]]


class RefusesAll(LostReply, frozen=True, kw_only=True):
    """A service that refuses a whole request because of one record in it."""

    code: str

    def fits(self, request: Any) -> bool:
        return super().fits(request) and b'"u5"' in request.body

    def reply(self, now: float) -> Outgoing:
        return Status(400, code=self.code).reply(now)


async def test_a_service_that_refuses_all_friends_for_one_that_is_there(
    session: AsyncSession, people: Emulator, write: Write
) -> None:
    people.weather.add(RefusesAll(code="ERR_ALREADY_FRIEND", route="friends.add"))
    result = await run(session, [write("f", [friend("u0", f"u{number}") for number in range(1, 10)])])
    assert (result.ok, result.files[0].imported, result.files[0].existing) == (True, 8, 1)


@pytest.mark.parametrize(
    "refusal",
    [
        Status(404, code="ERR_ROUTE_NOT_FOUND", route="blocked_users.block"),
        Status(401, code="ERR_NO_AUTH", route="blocked_users.block"),
    ],
)
async def test_what_a_service_does_not_take_at_all_is_named_and_counted(
    session: AsyncSession, people: Emulator, write: Write, refusal: Status
) -> None:
    people.weather.add(refusal)
    blocks = [{"blockedBy": f"u{n % 9}", "uid": "u9", "blockedAt": 5, "status": ""} for n in range(900)]
    result = await run(session, [write("b", blocks), write("f", [friend("u0", "u1")])])
    assert (result.ok, result.skipped, result.imported) == (True, 900, 1)
    words = f"blocks (the service refuses blocked_users.block: {refusal.status} {refusal.code})"
    assert {each.what: each.count for each in result.not_carried} == {words: 900}
    assert len(posts(people, "/blockedusers")) <= 16


class IgnoresActingUser(Fault, frozen=True):
    """A service that makes each reaction for the app."""

    def changed(self, reply: Outgoing, request: Any, number: int) -> Outgoing:
        body = reply.body.replace(b'"reactedByMe":true', b'"reactedByMe":false')
        headers = {**reply.headers, "Content-Length": str(len(body))}
        return Outgoing(reply.status, body, headers)


async def test_a_service_that_makes_reactions_for_another_user_is_asked_once(
    session: AsyncSession, people: Emulator, write: Write
) -> None:
    people.weather.add(IgnoresActingUser(route="messages.add_reaction"))
    lines = [reaction(str(1 + n % 2), "👍", f"u{n // 2 % 2}") for n in range(2, 100)]
    result = await run(session, [write("r", lines)])
    assert (result.ok, result.imported) == (True, 0)
    assert [each.what for each in result.not_carried] == [
        "reactions (the service makes them for another user)"
    ]
    assert len(posts(people, "")) == 1


async def test_a_key_that_is_refused_ends_the_import(
    session: AsyncSession, people: Emulator, write: Write
) -> None:
    people.weather.add(Status(401, route="friends.add"))
    files = [write("f", [friend("u0", "u1")])]
    with pytest.raises(AuthenticationError):
        await run(session, files)
    people.weather.clear()
    assert (await run(session, files)).imported == 1


# ── reactions to messages that got other ids ──


@pytest.fixture
async def target() -> AsyncIterator[Emulator]:
    """An app with messages of its own, so that no copy has the id of its message."""
    async with Emulator(users=0, messages=0, groups=0) as target:
        for uid in ("own-1", "own-2"):
            target.store.add_user(uid)
        for _ in range(5):
            target.store.add_message("own-1", "own-2", "hello")
        yield target


@pytest.fixture
async def into(target: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(target.app, sleep=no_wait, dice=lambda: 0.5) as into:
        yield into


@pytest.fixture
async def reacted(people: Emulator, session: AsyncSession) -> Emulator:
    """An app with two messages of one second, and three reactions."""
    for number, emoji, uid in (("1", "👍", "u0"), ("2", "👍", "u1"), ("2", "🎉", "u0")):
        await session.messages.add_reaction(number, emoji, on_behalf_of=uid)
    return people


COPIED = {"6": [("👍", "u0")], "7": [("👍", "u1"), ("🎉", "u0")]}


async def exported(session: AsyncSession, out: Path, *tables: Table) -> Path:
    assert (await export(session, out, Plan(everything=True), tables=[*TABLES, *tables])).complete
    return out


async def reactions(session: AsyncSession) -> dict[str, list[tuple[str, str]]]:
    """Return who reacted to the copies of the messages."""
    return {
        number: [(each.reaction, each.uid) async for each in session.messages.list_reactions(number)]
        for number in COPIED
    }


@pytest.mark.usefixtures("reacted")
async def test_tables_that_are_exported_after_an_import_are_imported_by_its_next_run(
    session: AsyncSession, into: AsyncSession, tmp_path: Path
) -> None:
    out = await exported(session, tmp_path / "out")
    first = await run(into, [out])
    assert {each.what: each.count for each in first.not_carried}[REACTIONS] == 2
    await exported(session, out, "reactions", "friends")
    result = await run(into, [out])
    assert await reactions(into) == COPIED
    assert [(each.kind, each.imported, each.existing) for each in result.files] == [
        ("users", 10, 0), ("groups", 1, 0), ("members", 0, 0), ("messages", 2, 0), ("reactions", 3, 0),
        ("friends", 0, 0), ("users", 0, 0),
    ]  # fmt: skip


@pytest.mark.usefixtures("reacted")
async def test_reactions_alone_find_the_messages_of_another_import(
    session: AsyncSession, into: AsyncSession, tmp_path: Path
) -> None:
    out = await exported(session, tmp_path / "out", "reactions")
    await run(into, [out], journal=tmp_path / "first")
    for uid in ("u0", "u1"):
        for number in COPIED:
            await into.messages.remove_reaction(number, "👍", on_behalf_of=uid)
    assert (await run(into, [out], kind="reactions", journal=tmp_path / "second")).ok
    assert await reactions(into) == {number: sorted(each) for number, each in COPIED.items()}


async def test_a_reaction_that_arrived_before_a_death_is_not_sent_again(
    reacted: Emulator, session: AsyncSession, target: Emulator, into: AsyncSession, tmp_path: Path
) -> None:
    out = await exported(session, tmp_path / "out", "reactions")
    work = asyncio.ensure_future(run(into, [out]))
    route = "messages.add_reaction"
    target.weather.add(Latency(0.01, route=route))
    while target.weather.struck["latency"] < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    before = posts(target, "")
    assert (await run(into, [out])).ok
    assert await reactions(into) == COPIED
    again = posts(target, "")[len(before) :]
    assert len({*again} & {*before}) == 0


async def test_reactions_to_what_is_not_imported_are_skipped_and_counted(
    reacted: Emulator, session: AsyncSession, into: AsyncSession, tmp_path: Path
) -> None:
    reacted.store.add_message(
        "u0", "u1", category="call", type="audio", data={"reactions": [{"reaction": "x"}]}
    )
    await session.messages.add_reaction("3", "👍", on_behalf_of="u0")
    reacted.store.add_message("gone", "u1", "hi")
    await session.messages.add_reaction("4", "👍", on_behalf_of="u1")
    out = await exported(session, tmp_path / "out", "reactions")
    result = await run(into, [out])
    assert [(note.key, note.code) for note in result.refused if note.file == "out/reactions"] == [
        ("4/👍/u1", "no message")
    ]
    assert [each.skipped for each in result.files if each.kind == "reactions"] == [1]
    counts = {each.what: each.count for each in result.not_carried}
    assert counts["reactions to messages of the category call"] == 1
    table = out / "reactions" / "reactions.ndjson"
    [first, *_] = check([table]).refused
    assert "import the folder of the export" in first.message


async def test_a_kind_that_the_export_does_not_have_is_named(
    people: Emulator, session: AsyncSession, tmp_path: Path
) -> None:
    out = await exported(session, tmp_path / "out")
    with pytest.raises(RequestInvalidError, match="has no such table: export it --with blocks"):
        check([out], kind="blocks")


async def test_exports_whose_messages_have_the_same_muid_do_not_mix_their_reactions(
    target: Emulator, into: AsyncSession, tmp_path: Path
) -> None:
    outs = []
    for name, emoji in (("a", "🅰️"), ("b", "🅱️")):
        async with Emulator(users=0, messages=0, groups=0) as app, AsyncSession(app.app) as session:
            for uid in (f"{name}1", f"{name}2"):
                app.store.add_user(uid)
            app.store.add_message(f"{name}1", f"{name}2", name, muid="same")
            await session.messages.add_reaction("1", emoji, on_behalf_of=f"{name}2")
            outs.append(await exported(session, tmp_path / name, "reactions"))
    result = await run(into, outs)
    assert [note.code for note in result.refused] == ["ERR_IMPORT_MUID_ALREADY_EXISTS", "no message"]
    assert [each.uid async for each in into.messages.list_reactions("6")] == ["a2"]
