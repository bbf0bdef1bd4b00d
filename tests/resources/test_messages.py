"""Messages: what each list asks for, and what is sent."""

import json
from typing import Any

import pytest
from msgspec import UNSET

from chatrest.core.decode import Listing
from chatrest.core.endpoint import Call
from chatrest.core.wire import json_body
from chatrest.errors import CursorError, RequestInvalidError
from chatrest.models.message import TextMessage, unknown
from chatrest.models.meta import Meta, Pagination, Position
from chatrest.queries.messages import MessageQuery, NewMessage
from chatrest.queries.users import UserQuery
from chatrest.resources.messages import SEND, Messages


class Session:
    """Answers every call from its list of replies, and keeps the calls."""

    app_id = "app"

    def __init__(self, *replies: Any, acting_user: str | None = None) -> None:
        self.replies, self.acting_user = list(replies), acting_user
        self.calls: list[Call[Any]] = []

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        return self.replies.pop(0)


def page(*ids: int, **meta: Any) -> Listing[Any]:
    return Listing([unknown({"id": each, "sentAt": each}, b"{}", "") for each in ids], Meta(**meta), b"{}")


LISTS: dict[str, tuple[Any, str, str]] = {
    "list_user": (lambda m, **k: m.list_user("a/b", **k), "/users/a%2Fb/messages", "perPage"),
    "list_group": (lambda m, **k: m.list_group("g", **k), "/groups/g/messages", "limit"),
    "list": (lambda m, **k: m.list(**k), "/messages", "limit"),
    "list_thread": (lambda m, **k: m.list_thread("5", **k), "/messages/5/thread", "perPage"),
}


@pytest.mark.parametrize("name", LISTS)
async def test_each_list_asks_its_own_path_in_pages_of_the_largest_size(name: str) -> None:
    ask, path, size = LISTS[name]
    session = Session(page(1))
    query = MessageQuery(search_key="x")
    assert [m.id for m in await ask(Messages(session), query=query, on_behalf_of="eve").collect()] == ["1"]
    [call] = session.calls
    assert (call.endpoint.name, call.endpoint.method, call.endpoint.replay) == (
        f"messages.{name}",
        "GET",
        "safe",
    )
    assert (call.path, call.query, call.on_behalf_of) == (path, {"searchKey": "x"}, "eve")
    assert call.place == (("limit" if name == "list_user" else size, "1000"),)


@pytest.mark.parametrize("name", LISTS)
async def test_each_list_goes_on_from_its_token_and_refuses_those_of_the_others(name: str) -> None:
    ask, *_ = LISTS[name]
    walk = ask(Messages(Session(page(1, 2, cursor=Position("append", 2)), page(3))))
    async for message in walk:
        if message.id == "2":
            break
    session = Session(page(3))
    assert [m.id for m in await ask(Messages(session), cursor=str(walk.cursor)).collect()] == ["3"]
    assert dict(session.calls[0].place)["id"] == "2"
    for other, (ask_other, *_rest) in LISTS.items():
        if other != name:
            with pytest.raises(CursorError):
                ask_other(Messages(Session()), cursor=str(walk.cursor))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "bad", [{"query": UserQuery()}, {"query": {"limit": 5}}, {"on_behalf_of": " eve"}, {"on_behalf_of": ""}]
)
def test_each_list_refuses_a_wrong_argument_before_anything_is_sent(name: str, bad: Any) -> None:
    with pytest.raises(RequestInvalidError):
        LISTS[name][0](Messages(Session()), **bad)


@pytest.mark.parametrize("uid", ["", ".", "..", "a\n", None, 5])
def test_an_id_that_is_no_path_segment_is_refused(uid: Any) -> None:
    messages = Messages(Session())
    for ask in (messages.list_user, messages.list_group, messages.list_thread):
        with pytest.raises(RequestInvalidError):
            ask(uid)


@pytest.mark.parametrize(
    ("acting_user", "acting", "size"),
    [(None, None, "perPage"), ("eve", None, "limit"), (None, "eve", "limit")],
)
async def test_a_users_messages_are_asked_by_limit_with_an_acting_user(
    acting_user: Any, acting: Any, size: str
) -> None:
    """Specification, Endpoints: `limit` works alongside the `onBehalfOf` header."""
    session = Session(page(), acting_user=acting_user)
    await Messages(session).list_user("bob", on_behalf_of=acting).collect()
    assert session.calls[0].place == ((size, "1000"),)


async def test_a_thread_is_walked_by_marks_or_by_page_numbers_as_the_service_shows() -> None:
    session = Session(
        page(1, 2, pagination=Pagination(0, 2, 2, 1, 2)), page(3, pagination=Pagination(0, 1, 2, 2, 2))
    )
    assert [m.id for m in await Messages(session).list_thread("5").collect()] == ["1", "2", "3"]
    assert dict(session.calls[1].place)["page"] == "2"
    session = Session(page(1, 2, next=Position("append", "2", sent_at=20)), page())
    assert [m.id for m in await Messages(session).list_thread("5").collect()] == ["1", "2"]
    assert {"affix": "append", "id": "2", "sentAt": "20"}.items() <= dict(session.calls[1].place).items()


# ── sending ──


async def test_a_text_is_sent_as_the_specification_shows_it() -> None:
    stored = object()
    session = Session(stored)
    assert await Messages(session).send(NewMessage.text("bob", "hello"), on_behalf_of="alice") is stored
    [call] = session.calls
    assert (call.endpoint, call.path, call.on_behalf_of) == (SEND, "/messages", "alice")
    assert (SEND.method, SEND.replay) == ("POST", "never")
    sent = json.loads(json_body(call.json))
    assert {"receiverType": "user", **sent} == {
        "receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hello"},
    }  # fmt: skip


def test_a_body_always_names_its_receivers_type() -> None:
    """Specification, Other operations: `receiverType` is a member of the body, and no default is shown."""
    assert json.loads(json_body(NewMessage.text("bob", "hello")))["receiverType"] == "user"


def test_all_members_travel_under_their_wire_names() -> None:
    message = NewMessage(
        receiver="g",
        receiver_type="group",
        category="custom",
        type="poll",
        data={"customData": {"q": 1}},
        muid="m",
        tags=("a",),
    )
    assert json.loads(json_body(message)) == {
        "receiver": "g", "receiverType": "group", "category": "custom", "type": "poll",
        "data": {"customData": {"q": 1}}, "muid": "m", "tags": ["a"],
    }  # fmt: skip
    text = NewMessage.text("g", "t", receiver_type="group", metadata={"a": 1}, muid="m", tags=["x"])
    assert (text.data, text.muid, text.tags, text.receiver_type) == (
        {"text": "t", "metadata": {"a": 1}},
        "m",
        ["x"],
        "group",
    )
    assert NewMessage.text("b", "t").muid is UNSET


GOOD: dict[str, Any] = {"receiver": "bob", "type": "text", "data": {"text": "t"}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("receiver", value) for value in ("", None, 5, b"bob", ["bob"], "bob\n", "b\x00ob")],
        *[("receiver_type", value) for value in ("", "users", None, 5)],
        *[("category", value) for value in ("", "call", "action", None)],
        *[("type", value) for value in ("", None, 5)],
        *[("data", value) for value in (None, "text", [], {1: "x"}, 5)],
        *[("muid", value) for value in ("", None, 5)],
        *[("tags", value) for value in ("a", [""], [1], {"a"}, None, 5)],
    ],
)
def test_a_wrong_member_is_refused_by_name_with_what_is_allowed(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = .*: allowed is "):
        NewMessage(**{**GOOD, name: value})


@pytest.mark.parametrize("text", ["", None, 5, b"x"])
def test_an_empty_text_is_refused(text: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^text = .*: allowed is a text that is not empty"):
        NewMessage.text("bob", text)


@pytest.mark.parametrize("message", [None, "hello", GOOD, TextMessage])
async def test_only_a_new_message_is_sent(message: Any) -> None:
    session = Session()
    with pytest.raises(RequestInvalidError, match="allowed is a NewMessage"):
        await Messages(session).send(message)
    assert session.calls == []


async def test_a_wrong_acting_user_is_refused_before_anything_is_sent() -> None:
    session = Session()
    with pytest.raises(RequestInvalidError, match="on_behalf_of"):
        await Messages(session).send(NewMessage.text("b", "t"), on_behalf_of="e\n")
    assert session.calls == []


def test_a_receiver_that_cannot_be_sent_is_refused() -> None:
    for receiver in ("\ud800", "bob\x7f", "\x85bob"):
        with pytest.raises(RequestInvalidError, match=r"^receiver = "):
            NewMessage.text(receiver, "t")
