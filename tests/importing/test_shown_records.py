"""Records as a service shows them can be imported: unknown members, numbers as ids, values out of place."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator, Fault, OutgoingReply
from chatrest.export import Plan, export
from chatrest.importing import ImportResult, check, run
from chatrest.importing.shown_records import read_line
from tests.importing.conftest import Write, message, user
from tests.scripted_server import no_wait

STORED: dict[str, Any] = {
    "id": 7, "conversationId": "u0_user_u1", "sender": "u0", "receiver": "u1", "receiverType": "user",
    "category": "message", "type": "text", "sentAt": 1000, "updatedAt": 1000, "data": {"text": "hi"},
}  # fmt: skip


class OtherWords(Fault, frozen=True, kw_only=True):
    """A service of the same wire, written by others: more members, fewer times, and numbers as ids."""

    def changed(self, reply: OutgoingReply, request: Any, number: int) -> OutgoingReply:
        document = json.loads(reply.body)
        if isinstance(document.get("data"), list):
            document["data"] = [_in_other_words(record) for record in document["data"]]
        body = json.dumps(document).encode()
        return OutgoingReply(reply.status, body, {**reply.headers, "Content-Length": str(len(body))})


def _in_other_words(record: dict[str, Any]) -> dict[str, Any]:
    if "conversationWith" in record:
        return record
    if "sentAt" in record:
        data = record["data"]
        metadata = {**(data.get("metadata") or {}), "@injected": {"extensions": {}}, "chatMessage": 1}
        data |= {"metadata": metadata, "reactions": [], "caption": "c", "resource": "r"}
        return record | {"id": int(record["id"]), "metadata": {"a": 1}, "resource": None}
    if "membersCount" in record:
        own = {name: value for name, value in record.items() if name not in ("conversationId", "updatedAt")}
        return own | {"hasJoined": False, "banner": ""}
    own = {name: value for name, value in record.items() if name not in ("createdAt", "updatedAt")}
    return own | {"wsChannel": {"secret": "s3cr3t"}, "statusMessage": "away", "lastActiveAt": "yesterday"}


@pytest.fixture
async def source() -> AsyncIterator[Emulator]:
    async with Emulator(users=6, messages=120, groups=2, seed=3) as emulator:
        emulator.weather.add(OtherWords())
        yield emulator


def carried(result: ImportResult) -> dict[str, int]:
    return {each.what: each.count for each in result.not_carried}


def stored(emulator: Emulator) -> list[dict[str, Any]]:
    return [json.loads(record) for record in emulator.store.records(emulator.store.ids())]


# ── an export ──


@pytest.mark.parametrize("format", ["ndjson", "parquet"])
async def test_an_export_of_a_service_with_other_members_is_imported(
    session: AsyncSession, emulator: Emulator, source: Emulator, tmp_path: Path, format: Any
) -> None:
    out = tmp_path / "out"
    async with AsyncSession(source.app, sleep=no_wait, dice=lambda: 0.5) as old:
        await export(old, out, Plan(everything=True, format=format), tables=("users", "groups", "members"))
    checked = check([out])
    result = await run(session, [out])
    assert (result.ok, checked.ok) == (True, True), result.refused
    originals = [
        record
        for record in stored(source)
        if record["category"] in ("message", "custom") and not record.get("deletedAt")
    ]
    copies = [record for record in stored(emulator) if record["category"] != "action"]
    assert [each["data"].get("text") for each in copies] == [each["data"].get("text") for each in originals]
    assert {each["data"]["metadata"]["chatMessage"] for each in copies} == {1}
    assert result.files[3].imported == len(originals)
    assert {name: count for name, count in carried(result).items() if name.startswith("the member ")} == {
        "the member 'metadata' of messages": len(originals),
        "the member 'data.caption' of messages": len(originals),
        "the member 'wsChannel' of users": 6,
        "the member 'wsChannel' of members": result.files[2].lines,
        "the member 'banner' of groups": 2,
        "the member 'lastActiveAt' of users where its value is wrong": 6,
    }
    assert carried(result)["status messages of users"] == 6
    assert carried(checked) == carried(result)
    assert "s3cr3t" not in repr(result)


async def test_the_counts_are_those_of_all_runs(
    session: AsyncSession, source: Emulator, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def stop(_: object) -> None:
        raise InterruptedError

    async with AsyncSession(source.app, sleep=no_wait, dice=lambda: 0.5) as old:
        await export(old, out, Plan(everything=True), tables=("users", "groups", "members"))
    for _ in range(3):
        with pytest.raises(InterruptedError):
            await run(session, [out], progress=stop)
    assert carried(await run(session, [out])) == carried(check([out]))


# ── a file that is given by hand ──


CheckedStruct = Callable[..., ImportResult]


@pytest.fixture
def checked(write: Write) -> CheckedStruct:
    """The result of checking a file with these lines."""

    def check_lines(*records: Any) -> ImportResult:
        return check([write("lines.ndjson", records)])

    return check_lines


@pytest.mark.parametrize(
    "shown",
    [
        {"uid": "u", "name": "U", "status": "offline", "new": 1},
        {"uid": "u", "name": "U", "updatedAt": 5, "new": 1},
        {"guid": "g", "name": "G", "type": "public", "membersCount": 1, "new": 1},
        {"guid": "g", "name": "G", "type": "public", "hasJoined": False, "new": 1},
        {"guid": "g", "uid": "u", "status": "offline", "name": "U", "new": 1},
        STORED | {"new": 1},
    ],
)
def test_an_unknown_member_of_a_shown_record_is_dropped_and_counted(
    checked: CheckedStruct, shown: dict[str, Any]
) -> None:
    result = checked(shown, shown | {"new": None})
    assert (result.ok, result.imported) == (True, 2)
    assert carried(result) == {f"the member 'new' of {result.files[0].kind}": 1}


@pytest.mark.parametrize(
    "written",
    [user(1, new=1), user(1, statusMessage="away"), message(1, parentId="5"), message(1, metadata={})],
)
def test_an_unknown_member_of_a_written_record_is_refused(
    checked: CheckedStruct, written: dict[str, Any]
) -> None:
    result = checked(written)
    unknown = [name for name in ("new", "statusMessage", "parentId", "metadata") if name in written]
    assert f": unknown field {unknown[0]!r}; expected " in result.refused[0].message


def test_messages_that_cannot_be_made_again_are_skipped_and_counted(checked: CheckedStruct) -> None:
    action = STORED | {"category": "action", "type": "message", "data": {"action": "edited"}}
    odd, deleted, edited = {"category": "c" * 500}, {"deletedAt": 5}, {"editedAt": 5}
    result = checked(action, STORED | deleted, STORED | odd, STORED | edited)
    assert (result.imported, result.skipped, result.ok) == (1, 3, True)
    assert carried(result) == {
        "deleted messages": 1, "marks of edits": 1, "messages of the category action": 1,
        f"messages of the category {'c' * 100}": 1,
    }  # fmt: skip


def test_what_is_empty_was_not_lost(checked: CheckedStruct) -> None:
    empty = {"reactions": [], "mentions": {}, "attachments": [], "entities": {"sender": {}}}
    none = {"editedAt": 0, "parentId": "", "quotedMessage": None, "receipts": {"data": [[]]}, "tags": []}
    assert carried(checked(STORED | none | {"data": {"text": "x", **empty}})) == {}


def test_numbers_that_stand_for_ids_become_texts(checked: CheckedStruct) -> None:
    numbers = {"sender": 5, "receiver": 6, "muid": 7}
    assert checked(STORED | numbers).ok
    assert checked(user(1, status="offline") | {"uid": 5, "deactivatedAt": 0}).ok


def test_a_record_is_refused_where_what_it_needs_is_wrong(checked: CheckedStruct) -> None:
    for wrong in ({"sentAt": "yesterday"}, {"data": "text"}, {"receiverType": "app"}, {"sender": ""}):
        result = checked(STORED | wrong | {"tags": 5})
        assert [note.code for note in result.refused] == ["invalid"]
        assert next(iter(wrong)) in result.refused[0].message.replace("_t", "T").replace("_a", "A")
    dropped = checked(STORED | {"tags": 5, "readAt": "yesterday", "deliveredAt": 7})
    assert carried(dropped) == {
        "the member 'readAt' of messages where its value is wrong": 1,
        "the member 'tags' of messages where its value is wrong": 1,
    }


def test_very_many_omissions_are_few_lines(checked: CheckedStruct) -> None:
    omissions = checked(*({**STORED, f"new{n:03}": 1, "often": 1} for n in range(150))).not_carried
    assert (len(omissions), omissions[0].count) == (101, 150)
    assert (omissions[-1].what, omissions[-1].count) == ("other members", 51)


def test_the_same_line_has_the_same_muid() -> None:
    keys = [read_line("messages", STORED | {"id": number}).key for number in (1, 2, 1)]
    assert keys[0] == keys[2] != keys[1]
