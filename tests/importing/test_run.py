"""Imports against the emulator: order, refusals, repeated batches, and what the result says."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, AuthenticationError, OutcomeUnknownError, RequestInvalidError
from chatrest.emulator import (
    Emulator,
    First,
    LostReply,
    OutgoingReply,
    Status,
)
from chatrest.export.formats.compression import compression
from chatrest.importing import ImportProgress, ImportResult, check, run
from tests.importing.conftest import MEMBER, Write, message, muids, user

USERS = [user(number) for number in range(120)]
GROUP = {"guid": "den", "name": "Den", "type": "public", "owner": "u0"}


class Fixed(LostReply, frozen=True):
    """A service that gives one reply."""

    data: Any

    def reply(self, now: float) -> Any:
        return OutgoingReply(200, json.dumps(self.data).encode(), {"Content-Type": "application/json"})


def notes(result: ImportResult) -> list[tuple[str, int, str, str]]:
    return [(note.file, note.line, note.key, note.code) for note in result.refused]


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


async def test_every_refusal_is_named_by_its_line(session: AsyncSession, write: Write) -> None:
    users = [user(0), "{", "", user(1, role="nobody"), {"uid": "u2"}, "[]", user(3, height=2), user(4)]
    result = await run(session, [write("users.ndjson", users)])
    assert notes(result) == [
        ("users.ndjson", 2, "", "invalid"), ("users.ndjson", 4, "u1", "ERR_ROLE_NOT_FOUND"),
        ("users.ndjson", 5, "", "invalid"), ("users.ndjson", 6, "", "invalid"),
        ("users.ndjson", 7, "", "invalid"),
    ]  # fmt: skip
    assert [(each.imported, each.refused) for each in result.files] == [(2, 5)]
    assert str(result.refused[2]) == "users.ndjson:5: invalid: user: 'name' is missing"
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
async def test_an_error_that_is_about_no_record_stops_the_run_which_goes_on_later(
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
    assert "receiver_type = 'app'" in note.message


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (user(1), "users"), (GROUP, "groups"), (MEMBER, "members"), (message(1), "messages"),
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
        ("members", {"guid": "g", "uid": "u", "bannedAt": 5}),
        ("bans.ndjson", {"guid": "g", "uid": "u", "name": "U"}),
    ],
)
def test_other_tables_of_an_export_are_not_taken_for_a_kind(write: Write, name: str, record: Any) -> None:
    with pytest.raises(RequestInvalidError, match="no record shows its kind"):
        check([write(name, [record])])


def test_wrong_arguments_are_named(write: Write, tmp_path: Path) -> None:
    path = write("file.ndjson", [{}])
    with pytest.raises(RequestInvalidError, match="no record shows its kind"):
        check([path])
    with pytest.raises(RequestInvalidError, match=r"kind \(lines:1: the line is not JSON: .*\); give the"):
        check([write("lines", ["hi", "there"])])
    with pytest.raises(RequestInvalidError, match="kind = 'calls': expected users, groups"):
        check([path], kind="calls")  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match="there is no"):
        check([tmp_path / "nothing"])
    for wrong in (5, [5, path], None, b"file.ndjson"):
        with pytest.raises(RequestInvalidError, match=r"^files = .*: expected a path, or a list of paths$"):
            check(wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match="expected at least one file"):
        check([])
    table = tmp_path / "out" / "part=00" / "users" / "users.ndjson"
    table.parent.mkdir(parents=True)
    table.touch()
    for out, kind in ((str(tmp_path / "out"), "a folder"), ("s3://bucket/chat", "an address")):
        with pytest.raises(RequestInvalidError) as error:
            check(out)
        assert str(error.value) == (
            f"files: '{out}' is {kind}: expected files of lines. An export is imported with `chatrest cat "
            f"{out} --sort time > messages.ndjson`, and then `chatrest import "
            f"{f'{table} ' if kind == 'a folder' else ''}messages.ndjson`"
        )
