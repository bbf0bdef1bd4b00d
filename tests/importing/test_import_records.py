"""Records as a service shows them can be imported: unknown members, numbers as ids, values out of place."""

from collections.abc import Callable
from typing import Any

import pytest

from chatrest.importing import ImportResult, check
from chatrest.importing.import_records import record_of
from tests.importing.conftest import MEMBER, STORED, Write, message, user


def carried(result: ImportResult) -> dict[str, int]:
    return {each.description: each.count for each in result.not_carried}


Check = Callable[..., ImportResult]


@pytest.fixture
def checked(write: Write) -> Check:
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
    checked: Check, shown: dict[str, Any]
) -> None:
    result = checked(shown, shown | {"new": None})
    assert (result.ok, result.imported) == (True, 2)
    assert carried(result) == {f"the member 'new' of {result.files[0].kind}": 1}


@pytest.mark.parametrize(
    "written",
    [user(1, new=1), user(1, statusMessage="away"), message(1, parentId="5"), message(1, metadata={})],
)
def test_an_unknown_member_of_a_written_record_is_refused(checked: Check, written: dict[str, Any]) -> None:
    result = checked(written)
    unknown = [name for name in ("new", "statusMessage", "parentId", "metadata") if name in written]
    assert f": unknown field {unknown[0]!r}; expected " in result.refused[0].message


def test_an_optional_member_of_a_written_record_may_be_empty(checked: Check) -> None:
    assert checked(user(1, avatar="", tags=[], link=None)).ok
    assert [note.message for note in checked({"uid": "u1", "name": ""}).refused] == [
        "user: name = '': expected a non-empty text (valid Unicode)"
    ]


@pytest.mark.parametrize("kind", ["members", "bans"])
def test_a_banned_user_is_imported_as_banned(kind: Any) -> None:
    shown = record_of(kind, MEMBER | {"bannedAt": 5, "name": "U"})
    assert getattr(shown.record, "is_banned") is True  # noqa: B009, of one of the four classes
    assert shown.omissions == (f"the member 'bannedAt' of {kind}",)


def test_a_line_of_bans_without_a_time_is_a_ban() -> None:
    written: Any = record_of("bans", MEMBER).record
    assert written.is_banned is True


def test_messages_that_cannot_be_made_again_are_skipped_and_counted(checked: Check) -> None:
    action = STORED | {"category": "action", "type": "message", "data": {"action": "edited"}}
    odd, deleted, edited = {"category": "c" * 500}, {"deletedAt": 5}, {"editedAt": 5}
    result = checked(action, STORED | deleted, STORED | odd, STORED | edited)
    assert (result.imported, result.skipped, result.ok) == (1, 3, True)
    assert carried(result) == {
        "deleted messages": 1, "the member 'editedAt' of messages": 1, "messages of the category action": 1,
        f"messages of the category {'c' * 100}": 1,
    }  # fmt: skip


def test_empty_members_are_not_reported_as_lost(checked: Check) -> None:
    empty = {"reactions": [], "mentions": {}, "attachments": [], "entities": {"sender": {}}}
    none = {"editedAt": 0, "parentId": "", "quotedMessage": None, "receipts": {"data": [[]]}, "tags": []}
    assert carried(checked(STORED | none | {"data": {"text": "x", **empty}})) == {}


def test_contents_that_look_like_empty_receipts_are_imported() -> None:
    custom = STORED | {"category": "custom", "type": "poll", "data": {"customData": {"data": []}}}
    record: Any = record_of("messages", custom).record
    assert record.data == {"customData": {"data": []}}


@pytest.mark.parametrize(("role", "made"), [("guide", "guide"), (["guide"], ""), ({"guide": 1}, ""), (7, "")])
def test_an_absent_role_is_not_created(role: Any, made: str) -> None:
    assert record_of("users", user(1, status="offline", role=role)).role == made


def test_numbers_that_stand_for_ids_become_texts(checked: Check) -> None:
    numbers = {"sender": 5, "receiver": 6, "muid": 7}
    assert checked(STORED | numbers).ok
    assert checked(user(1, status="offline") | {"uid": 5, "deactivatedAt": 0}).not_carried == ()


def test_a_deactivated_user_is_imported_active_to_send_messages(checked: Check) -> None:
    deactivated = user(1, status="offline", deactivatedAt=5)
    assert carried(checked(deactivated)) == {"deactivations of users": 1}
    assert record_of("users", deactivated).record == record_of("users", user(1)).record
    assert record_of("users", user(1, deactivatedAt=5)).record != record_of("users", user(1)).record


def test_a_record_with_a_wrong_required_member_is_refused(checked: Check) -> None:
    for wrong in ({"sentAt": "yesterday"}, {"data": "text"}, {"receiverType": "app"}, {"sender": ""}):
        result = checked(STORED | wrong | {"tags": 5})
        assert [note.code for note in result.refused] == ["invalid"]
        assert next(iter(wrong)) in result.refused[0].message.replace("_t", "T").replace("_a", "A")
    dropped = checked(STORED | {"tags": 5, "readAt": "yesterday", "deliveredAt": 7})
    assert carried(dropped) == {
        "the member 'readAt' of messages where its value is wrong": 1,
        "the member 'tags' of messages where its value is wrong": 1,
    }


def test_a_wrong_time_is_shown_as_in_the_line(checked: Check) -> None:
    for value, fault in ((True, " = true"), ("soon", ' = "soon"'), (-1, " = -1"), (None, "' is missing")):
        [note] = checked(STORED | {"sentAt": value}).refused
        assert f"sentAt{fault}: expected a whole number of seconds since 1970, or a text" in note.message


def test_very_many_omissions_are_few_lines(checked: Check) -> None:
    omissions = checked(*({**STORED, f"new{n:03}": 1, "often": 1} for n in range(150))).not_carried
    assert (len(omissions), omissions[0].count) == (101, 150)
    assert (omissions[-1].description, omissions[-1].count) == ("other members", 51)


def test_the_same_line_has_the_same_muid() -> None:
    keys = [record_of("messages", STORED | {"id": number}).key for number in (1, 2, 1)]
    assert keys[0] == keys[2] != keys[1]
