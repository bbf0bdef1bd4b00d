"""The bodies and filters of messages: members, their wire names, and what is refused."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from chatrest import UserQuery, times
from chatrest._core.requests.wire import json_body
from chatrest._parameters.messages import (
    InteractionGoal,
    Interactions,
    MessageChanges,
    MessageQuery,
    MultipleReceivers,
    NewAttachment,
    NewBotMessage,
    NewMessage,
    NewThreadMessage,
)
from chatrest._parameters.users import GroupChanges, UserChanges
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


def test_a_body_always_names_its_receivers_type() -> None:
    """Specification, Other operations: `receiverType` is a member of the body, and no default is shown."""
    assert json.loads(json_body(NewMessage.text("bob", "hello")))["receiverType"] == "user"


@loop_over("text", ["", None, 5, b"x"])
def test_an_empty_text_is_refused(text: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^text = .*: expected a non-empty text"):
        NewMessage.text("bob", text)


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_a_relative_time_is_read_when_the_filter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "clock", NOON.timestamp)
    week = MessageQuery(from_timestamp=timedelta(days=7))
    assert week == MessageQuery(from_timestamp="7d") == MessageQuery(from_timestamp=NOON - timedelta(days=7))


def test_a_window_between_moments_does_not_end_before_the_begin() -> None:
    assert MessageQuery(from_timestamp=date(2026, 1, 2), to_timestamp=NOON).to_timestamp == 1_767_355_200
    day = date(2026, 1, 2)  # as an end its last second
    assert MessageQuery(from_timestamp=NOON, to_timestamp=day).to_timestamp == 1_767_312_000 + 86_399
    assert UserQuery(created_at_from="2026-01-02").created_at_from == 1_767_312_000
    assert MessageQuery(from_timestamp=NOON + timedelta(microseconds=999_999)).from_timestamp == 1_767_355_200
    words = r"to_timestamp = 2026-01-01: the window ends .* expected 2026-01-02T12:00:00Z or later"
    with pytest.raises(RequestInvalidError, match=words):
        MessageQuery(from_timestamp=NOON, to_timestamp=date(2026, 1, 1))


TEXT: dict[str, Any] = {"type": "text", "data": {"text": "t"}}
KINDS = (NewMessage, NewBotMessage, NewThreadMessage)


def body(value: Any) -> Any:
    return json.loads(json_body(value))


@loop_over("kind", KINDS)
@loop_over("several", [{"uids": ["a"], "guids": ["g"]}, MultipleReceivers(uids=("a",), guids=["g"])])
def test_several_receivers_take_the_place_of_one(kind: Any, several: Any) -> None:
    message = kind(multiple_receivers=several, **TEXT)
    assert message.multiple_receivers == MultipleReceivers(uids=["a"], guids=["g"])
    assert body(message) == {
        "receiverType": "user", "multipleReceivers": {"uids": ["a"], "guids": ["g"]}, **TEXT
    }  # fmt: skip


@loop_over("kind", KINDS)
@loop_over("several", [{}, {"uids": []}, {"uid": ["a"]}, ["a"], {"uids": ["a,b"]}, 5])
def test_receivers_of_none_are_refused(kind: Any, several: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^multiple_receivers( = .*)?: .*expected "):
        kind(multiple_receivers=several, **TEXT)


@pytest.mark.parametrize("kind", [NewMessage, NewBotMessage])
def test_a_message_without_a_receiver_is_refused(kind: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^receiver is not given: expected a uid or guid"):
        kind(**TEXT)
    with pytest.raises(RequestInvalidError, match=r"^expected at least one receiver"):
        MultipleReceivers()
    assert MultipleReceivers(guids=["g"]).guids == ("g",)


def test_a_text_travels_with_its_options_under_their_wire_names() -> None:
    message = NewMessage.text("bob", "t", quoted_message_id="7", muid="m", tags=["x"], metadata={"a": 1})
    assert body(message) == {
        "receiver": "bob", "receiverType": "user", "type": "text", "quotedMessageId": "7", "muid": "m",
        "tags": ["x"], "data": {"text": "t", "metadata": {"a": 1}},
    }  # fmt: skip
    reply = NewThreadMessage.text("t", receiver="g", receiver_type="group", metadata={"a": 1}, tags=None)
    assert body(reply) == {
        "receiver": "g", "receiverType": "group", "type": "text",
        "data": {"text": "t", "metadata": {"a": 1}},
    }  # fmt: skip


def test_files_of_a_message() -> None:
    file = NewAttachment(
        url="https://a.example/1.png", name="1", mime_type="image/png", extension="png", size=9
    )
    message = NewMessage.media("bob", "image", [file], text="caption", muid="m")
    assert body(message) == {
        "receiver": "bob", "receiverType": "user", "category": "message", "type": "image", "muid": "m",
        "data": {"text": "caption", "attachments": [{
            "url": "https://a.example/1.png", "name": "1", "mimeType": "image/png", "extension": "png",
            "size": "9",
        }]},
    }  # fmt: skip
    assert NewAttachment(url="u", size="10").size == "10"


@loop_over("size", [-1, "x", "", 1.5, True])
def test_a_size_that_is_no_number_of_bytes_is_refused(size: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^size = .*: expected a whole number of bytes"):
        NewAttachment(url="u", size=size)


def test_content_of_the_apps_own() -> None:
    message = NewMessage.custom("bob", "poll", {"question": "?"}, metadata={"a": 1})
    assert body(message) == {
        "receiver": "bob", "receiverType": "user", "category": "custom", "type": "poll",
        "data": {"customData": {"question": "?"}, "metadata": {"a": 1}},
    }  # fmt: skip


def test_an_interactive_message_of_a_bot() -> None:
    goal = InteractionGoal(type="allOf", element_ids=["a", "b"])
    message = NewBotMessage.interactive(
        "g", "form", {"title": "t"}, goal=goal, allow_sender_interaction=False, receiver_type="group"
    )
    assert body(message) == {
        "receiver": "g", "receiverType": "group", "category": "interactive", "type": "form",
        "data": {
            "interactiveData": {"title": "t"}, "allowSenderInteraction": False,
            "interactionGoal": {"type": "allOf", "elementIds": ["a", "b"]},
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "goal"), [("form", "anyAction"), ("card", "anyAction"), ("scheduler", "anyOf")]
)
def test_a_goal_that_a_type_does_not_know_is_refused(kind: Any, goal: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^interaction_goal = '{goal}': expected 'a.* for the"):
        NewBotMessage.interactive("bob", kind, {}, goal=InteractionGoal(type=goal))
    data = {"interactiveData": {}, "interactionGoal": {"type": goal}}
    with pytest.raises(RequestInvalidError, match=r"^interaction_goal = "):
        NewBotMessage(receiver="bob", category="interactive", type=kind, data=data)
    assert NewBotMessage(receiver="bob", category="custom", type=kind, data=data).data == data


def test_a_goal_of_a_mapping_is_one_of_the_documented_ones() -> None:
    data = {"interactiveData": {}, "interactionGoal": {"type": "someAction"}}
    with pytest.raises(
        RequestInvalidError, match=r"^interaction_goal = 'someAction': expected .* or 'none' for"
    ):
        NewBotMessage(receiver="bob", category="interactive", type="customInteractive", data=data)


def test_an_interactive_message_quotes_nothing() -> None:
    with pytest.raises(
        RequestInvalidError, match=r"^quoted_message_id = '5': expected none in the category 'interactive'"
    ):
        NewBotMessage.interactive("bob", "card", {}, quoted_message_id="5")
    assert NewBotMessage.text("bob", "t", quoted_message_id="5").quoted_message_id == "5"


@pytest.mark.parametrize(
    ("category", "kind"), [("message", "poll"), ("interactive", "text"), ("interactive", "poll")]
)
def test_a_type_of_another_category_is_refused(category: Any, kind: str) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^type = '{kind}': expected "):
        NewBotMessage(receiver="bob", category=category, type=kind, data={})


def test_a_message_has_at_most_65536_bytes_of_json() -> None:
    longest = 65_536 - len(json_body(NewMessage.text("bob", "x"))) + 1
    assert len(json_body(NewMessage.text("bob", "x" * longest))) == 65_536
    with pytest.raises(RequestInvalidError, match=r"^data: the message has 65537 bytes of JSON; expected at"):
        NewMessage.text("bob", "x" * (longest + 1))
    with pytest.raises(RequestInvalidError, match=r"^data: the message has "):
        NewMessage.text("bob", "ü" * longest)


def test_a_value_that_is_no_json_is_refused_when_sent() -> None:
    message = NewMessage(receiver="bob", type="text", data={"text": object()})
    with pytest.raises(RequestInvalidError, match="cannot be sent as JSON"):
        json_body(message)


def test_changes_of_a_message() -> None:
    assert body(MessageChanges.text("new", metadata={"a": 1})) == {
        "data": {"text": "new", "metadata": {"a": 1}}
    }  # fmt: skip
    assert body(MessageChanges.text("new")) == {"data": {"text": "new"}}
    assert body(MessageChanges(tags=[])) == {"tags": []}
    assert body(Interactions(interactions=["a"])) == {"interactions": ["a"]}


@pytest.mark.parametrize("given", [{}, {"data": None, "tags": None}])
def test_an_update_without_a_change_is_refused(given: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^expected at least one change, in data or tags"):
        MessageChanges(**given)


@pytest.mark.parametrize("changes", [UserChanges(), GroupChanges()])
def test_changes_of_nothing_are_an_empty_object(changes: Any) -> None:
    assert body(changes) == {}


def test_a_message_filter_begins_with_the_27_parameters_of_the_specification() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(MessageQuery)]
    assert (names[0], names[26], len(set(names[:27]))) == ("searchKey", "tags", 27)


@loop_over(
    ("name", "value"),
    [
        *((name, uid) for name in ("sender", "id") for uid in ("bob\n", "\rbob", "b\x00ob", "bob\x7f")),
        *((name, "\ud800") for name in ("search_key", "id", "category", "sender")),  # it has no UTF-8
        *((name, -(10**5000)) for name in ("limit", "from_timestamp", "search_key")),
        ("mentioned_uids", ["b\x1fob"]), ("tags", ["\ud800"]),
        *(("tags", value) for value in (object(), iter(["a"]), {1, "a"}, lambda: None)),
    ],
)  # fmt: skip
def test_a_value_of_any_kind_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = .*: expected "):
        MessageQuery(**{name: value})
