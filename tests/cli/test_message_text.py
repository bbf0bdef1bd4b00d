"""Records as readable lines: every kind of message, and records that are not as documented."""

from datetime import timedelta, timezone
from typing import Any

from chatrest._cli.record_formats import iso_time, local_time, message_line, message_text, user_line
from tests.cases import loop_over

ZONE = timezone(timedelta(hours=2))
AT = 1_795_342_260  # 2026-11-22 10:11 UTC


def message(**members: Any) -> dict[str, Any]:
    return {
        "id": "12", "sender": "alice", "receiver": "bob", "receiverType": "user", "category": "message",
        "type": "text", "data": {"text": "hello"}, "sentAt": AT, **members,
    }  # fmt: skip


@loop_over(
    ("members", "line"),
    [
        ({}, "2026-11-22 12:11  alice → bob  hello"),
        ({"sentAt": AT * 1000}, "2026-11-22 12:11  alice → bob  hello"),
        (
            {"editedAt": AT, "data": {"text": "hello", "reactions": [{"reaction": "👍", "count": 2}]}},
            "2026-11-22 12:11  alice → bob  hello  (edited) 👍2",
        ),
        ({"parentId": "7", "replyCount": 1}, "2026-11-22 12:11  alice → bob  hello  (reply to 7) (1 reply)"),
        ({"replyCount": 0, "parentId": None, "editedAt": 0}, "2026-11-22 12:11  alice → bob  hello"),
        ({"receiver": "team", "receiverType": "group"}, "2026-11-22 12:11  alice → #team  hello"),
        ({"deletedAt": AT, "editedAt": AT, "replyCount": 3}, "2026-11-22 12:11  alice → bob  (deleted)"),
        ({"sentAt": None, "sender": None}, "-  ? → bob  hello"),
    ],
)
def test_a_message_is_a_line(members: dict[str, Any], line: str) -> None:
    assert message_line(message(**members), ZONE) == line


@loop_over(
    ("members", "text"),
    [
        ({"data": {"text": "hi <@uid:bob> and <@all:everyone>!"}}, "hi @bob and @everyone!"),
        (
            {
                "type": "image",
                "data": {"text": "my cat", "attachments": [{"name": "cat.png", "url": "https://x/y"}]},
            },
            "my cat [image cat.png]",
        ),
        ({"type": "file", "data": {"url": "https://x.example/a/b.pdf?token=1"}}, "[file b.pdf]"),
        ({"type": "text", "data": {"text": "see", "attachments": [{"name": "a.md"}]}}, "see [file a.md]"),
        ({"type": "audio", "data": {}}, "[audio]"),
        (
            {
                "category": "action",
                "data": {
                    "action": "added",
                    "entities": {"by": {"entity": {"uid": "carol"}}, "on": {"entity": {"uid": "bob"}}},
                },
            },
            "[carol added bob]",
        ),
        (
            {
                "category": "action",
                "data": {
                    "action": "edited",
                    "entities": {"by": {"entity": {"uid": "carol"}}, "on": {"entity": {"id": 9}}},
                },
            },
            "[carol edited message 9]",
        ),
        (
            {
                "category": "action",
                "data": {
                    "action": "joined",
                    "entities": {"by": {"entity": {"uid": "carol"}}, "on": {"entity": {"guid": "team"}}},
                },
            },
            "[carol joined team]",
        ),
        ({"category": "call", "type": "video", "data": {"action": "ongoing"}}, "[video call ongoing]"),
        (
            {"category": "custom", "type": "poll", "data": {"customData": {"question": "?"}}},
            '[poll] {"question":"?"}',
        ),
        (
            {"category": "interactive", "type": "form", "data": {"text": "Fill this", "interactiveData": {}}},
            "[form] Fill this",
        ),
        ({"category": "hologram", "type": "3d", "data": {"beam": 1}}, '[hologram 3d] {"beam":1}'),
    ],
)
def test_every_category_says_something(members: dict[str, Any], text: str) -> None:
    assert message_text(message(**members)) == text


@loop_over("data", [None, 5, [], "x", {"text": 5}, {"attachments": [None]}, {"reactions": 1}])
@loop_over("category", ["message", "action", "call", "custom", "interactive", "other"])
def test_a_record_of_any_shape_is_a_line(data: Any, category: str) -> None:
    line = message_line(message(category=category, data=data, sentAt="x", parentId=[], replyCount="?"), ZONE)
    assert line.startswith("-  alice → bob")


def test_a_record_that_is_no_message_is_its_json() -> None:
    assert message_line({"entityId": "bob", "count": 3}) == '{"entityId":"bob","count":3}'


def test_a_user_is_a_line_of_what_is_known() -> None:
    user = {"uid": "alice", "name": "Alice", "role": "moderator", "lastActiveAt": AT, "deactivatedAt": AT}
    assert user_line(user, ZONE) == "alice  Alice  moderator  last active 2026-11-22 12:11  (deactivated)"
    assert user_line({"uid": "alice", "status": None}, ZONE) == "alice"


@loop_over("stamp", [None, 0, "5", True, 10**40, -(10**17), {}])
def test_what_is_no_time_is_no_error(stamp: Any) -> None:
    assert local_time(stamp, "%Y", ZONE) == ""
    assert iso_time(stamp) in (None, "1970-01-01T00:00:00Z")
