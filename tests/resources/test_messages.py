"""`session.messages`: what lists ask for, what is sent, and messages on the emulator."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatrest import (
    ActionMessage,
    ApiError,
    AsyncSession,
    BadRequestError,
    MessageQuery,
    NewMessage,
    NotFoundError,
    PermissionDeniedError,
    TextMessage,
)
from chatrest._core.replies.decode import Listing
from chatrest._core.replies.one_record import parse
from chatrest._models.messages import Message, unknown_message
from chatrest._models.meta import Meta, Position
from chatrest._parameters.messages import MessageChanges, NewThreadMessage, ThreadQuery
from chatrest._resources.messages import SEND, Messages
from chatrest.emulator import Emulator
from chatrest.errors import CursorError, ReplyUnreadableError, RequestInvalidError
from tests.resources.operation_calls import MESSAGE, answering, sent
from tests.support.cases import loop_over
from tests.support.session_double import Sender


def page(*ids: int, **meta: Any) -> Listing[Any]:
    return Listing(
        [unknown_message({"id": each, "sentAt": each}, b"{}", "") for each in ids], Meta(**meta), b"{}"
    )


LISTS: dict[str, tuple[Any, str, str]] = {
    # how it is called, the size with an acting user, and without one
    "list_user": (lambda m, **k: m.list_user("a/b", **k), "limit", "perPage"),
    "list_group": (lambda m, **k: m.list_group("g", **k), "limit", "limit"),
    "list": (lambda m, **k: m.list(**k), "limit", "limit"),
    "list_thread": (lambda m, **k: m.list_thread("5", **k), "perPage", "perPage"),
}


@loop_over("name", LISTS)
async def test_each_list_continues_from_own_tokens_and_refuses_others(name: str) -> None:
    ask, *_ = LISTS[name]
    walk = ask(Messages(Sender(page(1, 2, cursor=Position("append", 2)))))
    async for message in walk:
        if message.id == "2":
            break
    session = Sender(page(3), page())
    assert [m.id for m in await ask(Messages(session), cursor=str(walk.cursor)).collect()] == ["3"]
    assert dict(session.calls[0].position)["id"] == "2"
    for other, (ask_other, *_rest) in LISTS.items():
        if other != name:
            with pytest.raises(CursorError):
                ask_other(Messages(Sender()), cursor=str(walk.cursor))


@loop_over("name", LISTS)
@loop_over(("of_view", "of_call"), [(None, None), ("eve", None), (None, "eve")])
async def test_the_size_has_its_own_name_with_an_acting_user(name: str, of_view: Any, of_call: Any) -> None:
    """Specification, Endpoints: `limit` works alongside the `onBehalfOf` header."""
    ask, with_user, without = LISTS[name]
    session = Sender(page(), acting_user=of_view)
    await ask(Messages(session), on_behalf_of=of_call).collect()
    assert session.call.position == ((with_user if of_view or of_call else without, "1000"),)


@loop_over(("operation", "name"), [("list", "limit"), ("list_group", "limit"), ("list_thread", "perPage")])
@loop_over("size", [MessageQuery(per_page=7), MessageQuery(limit=7)])
async def test_a_page_size_goes_under_the_name_that_the_list_knows(
    operation: str, name: str, size: MessageQuery
) -> None:
    send = Sender(b'{"data":[]}')
    list_messages = getattr(Messages(send), operation)
    await list_messages(*([] if operation == "list" else ["5"]), size).collect()
    assert send.asked() == {name: "7"}


@pytest.mark.parametrize("limit", [None, 7])
async def test_counts_name_the_size_as_their_list_does(limit: int | None) -> None:
    sender = answering({"data": [{"entityType": "user", "entityId": "bob", "count": 3}]})
    await Messages(sender).counts(MessageQuery(unread=True, limit=limit))
    assert sender.asked() == {"unread": "true", "count": "true", "limit": str(limit or 1000)}
    with pytest.raises(RequestInvalidError, match="expected uid or guid, not both"):
        await Messages(sender).counts(uid="bob", guid="den")


@pytest.mark.parametrize(
    ("party", "path"), [({"uid": "bob"}, "/users/bob/messages"), ({"guid": "den"}, "/groups/den/messages")]
)
async def test_counts_of_one_conversation_ask_its_list(party: dict[str, str], path: str) -> None:
    sender = answering({"data": [{"entityType": "user", "entityId": "bob", "count": 3}]})
    [count] = await Messages(sender).counts(**party)
    assert (sender.call.path, count.count) == (path, 3)


SEVERAL = NewMessage(multiple_receivers={"uids": ["bob", "eve"]}, type="text", data={"text": "t"}, muid="m1")
SENT = {"success": True, "data": MESSAGE}
EVES = MESSAGE | {"id": "6", "receiver": "eve"}
FAILED = {"success": False, "error": {"code": "ERR_UID_NOT_FOUND"}}
PARTIAL = {"data": {"uids": {"bob": SENT, "eve": FAILED}}}


async def test_a_partial_success_is_an_error_with_every_failure() -> None:
    with pytest.raises(ApiError, match=r"messages.send: 1 of 2 items failed: eve \(ERR_UID_NOT_FOUND\)"):
        await Messages(answering(PARTIAL)).send(SEVERAL)
    outcomes = await Messages(answering(PARTIAL)).send_each(SEVERAL, on_behalf_of="ann")
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["eve"])
    assert outcomes["bob"].to_dict()["data"] == MESSAGE
    assert outcomes["bob"].data == parse(Message, MESSAGE)


async def test_a_receiver_that_the_reply_does_not_mention_counts_as_failed() -> None:
    outcomes = await Messages(answering({"data": MESSAGE})).send_each(SEVERAL)
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["eve"])
    assert "does not mention" in str(outcomes["eve"].message)
    with pytest.raises(ApiError, match="eve"):
        outcomes.check()
    both = await Messages(answering({"data": [MESSAGE, MESSAGE | {"receiver": "eve"}]})).send_each(SEVERAL)
    assert len(both.check().succeeded) == 2


@pytest.mark.parametrize("direction", ["append", "prepend"])
async def test_a_thread_at_the_edge_of_two_pages_is_given_once(direction: str) -> None:
    """Services include the thread that a page was asked from (operations table, cursors.next_variants)."""
    times = [40, 50, 60] if direction == "append" else [60, 50, 40]

    def page(*places: int) -> bytes:
        records = [MESSAGE | {"id": str(times[place])} for place in places]
        position = {"affix": direction, "updatedAt": times[places[-1]]}
        reply = {"data": records, "meta": {"current": {"limit": 2}, "next": position}}
        return bytes(answering(reply).answers[0])  # type: ignore[arg-type]

    sender = Sender(page(0, 1), page(1, 2), page(2))
    walk = Messages(sender).list_threads(ThreadQuery(limit=2))
    assert [int(message.id) async for message in walk] == times
    assert len(sender.calls) == 3


@loop_over("data", [MESSAGE, [MESSAGE], [MESSAGE, EVES], {"uids": {"bob": SENT}}, {"bob": SENT}])
async def test_every_form_of_a_success_gives_the_first_message(data: Any) -> None:
    assert SEND.reply(json.dumps({"data": data}).encode()).to_dict() == MESSAGE
    sender = answering({"data": data})
    assert (await Messages(sender).send(SEVERAL, on_behalf_of="ann")).to_dict() == MESSAGE
    assert sent(sender).body["multipleReceivers"] == {"uids": ["bob", "eve"]}


@loop_over(
    ("data", "words"),
    [
        ({"uids": {"bob": SENT, "eve": {"success": False}}}, "1 of 2 receivers failed: eve"),
        ({"uids": {"bob": {"success": True}}}, "expected one record"),
        ({"uids": {}}, "1 of 1 receivers failed: uids"),
        ([], "expected one record"),
        ("x", "expected one record"),
    ],
)
async def test_a_failure_and_a_reply_without_a_message_are_errors(data: Any, words: str) -> None:
    with pytest.raises(ReplyUnreadableError, match=words):
        SEND.reply(json.dumps({"data": data}).encode())
    with pytest.raises((ReplyUnreadableError, ApiError)):
        await Messages(answering({"data": data})).send(SEVERAL)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        for uid in ("ann", "bob", "cat"):
            emulator.store.add_user(uid)
        emulator.store.add_group("den")
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        yield session


async def send(session: AsyncSession, text: str = "hello", receiver: str = "bob") -> str:
    message = await session.messages.send(NewMessage.text(receiver, text), on_behalf_of="ann")
    return message.id


async def test_a_message_lives_from_sending_to_its_deletion(session: AsyncSession) -> None:
    ann = session.as_user("ann")
    identity = await send(session)
    action = await ann.messages.update(identity, MessageChanges.text("better"))
    assert isinstance(action, ActionMessage)
    assert action.data.action == "edited"
    message = await session.messages.get(identity)
    assert isinstance(message, TextMessage)
    assert (message.data.text, message.edited_by) == ("better", "ann")
    assert message.edited_at == message.updated_at == action.sent_at
    with pytest.raises(PermissionDeniedError, match="ERR_MESSAGE_NOT_A_SENDER"):
        await session.messages.delete(identity, on_behalf_of="bob")
    deletion = await ann.messages.delete(identity)
    assert isinstance(deletion, ActionMessage)
    assert (await session.messages.get(identity)).deleted_by == "ann"
    listed = await ann.messages.list_user("bob").collect()
    assert [item.category for item in listed] == ["action", "action", "message"]
    await ann.messages.delete(identity, permanent=True)
    with pytest.raises(NotFoundError, match="ERR_MESSAGE_ID_NOT_FOUND"):
        await session.messages.get(identity)


async def test_reactions_pins_and_saves(session: AsyncSession) -> None:
    identity = await send(session)
    for uid in ("ann", "bob"):
        message = await session.messages.add_reaction(identity, "👍", on_behalf_of=uid)
    assert isinstance(message, TextMessage)
    assert message.data.reactions
    assert (message.data.reactions[0].count, message.data.reactions[0].reacted_by_me) == (2, True)
    assert [item.uid async for item in session.messages.list_reactions(identity)] == ["ann", "bob"]
    assert len(await session.messages.list_reaction(identity, "👍").limit(1).collect()) == 1
    await session.messages.remove_reaction(identity, "👍", on_behalf_of="ann")
    assert [item.uid async for item in session.messages.list_reaction(identity, "👍")] == ["bob"]
    assert (await session.messages.pin(identity)).pinned_by == "app_system"
    assert not (await session.messages.unpin(identity, on_behalf_of="bob")).pinned_by
    saved = await session.messages.save(identity, on_behalf_of="bob")
    query = MessageQuery(saved=1)
    assert [item.id async for item in session.messages.list(query=query, on_behalf_of="bob")] == [saved.id]
    await session.messages.unsave(identity, on_behalf_of="bob")
    assert await session.messages.list(query=query, on_behalf_of="bob").collect() == []


async def test_threads(emulator: Emulator, session: AsyncSession) -> None:
    messages = session.as_user("ann").messages
    parents = [await send(session, f"topic {number}") for number in range(5)]
    for number, parent in enumerate(parents):
        emulator.store.add_message("bob", "ann", "re", parentId=parent, sent_at=10**10 + number)
    walk = messages.list_threads(ThreadQuery(limit=2)).limit(3)
    threads = await walk.collect()
    rest = await messages.list_threads(ThreadQuery(limit=2), cursor=str(walk.cursor)).collect()
    assert [thread.id for thread in (*threads, *rest)] == parents[::-1]
    assert [thread.reply_count for thread in threads] == [1] * 3
    reply = await messages.send_thread(parents[0], NewThreadMessage.text("again", receiver="bob"))
    [newest] = await messages.list_thread(parents[0]).limit(1).collect()
    assert (newest.id, reply.parent_id) == (reply.id, parents[0])
    assert (await messages.get(parents[0])).thread_subscribed is True
    assert (await messages.unsubscribe_thread(parents[0])).success
    assert not (await messages.get(parents[0])).thread_subscribed
    assert len(await messages.list_threads_user("bob").collect()) == 5


async def test_a_reply_without_a_receiver_goes_to_its_conversation(session: AsyncSession) -> None:
    parent = await session.messages.send(NewMessage.text("bob", "?"), on_behalf_of="ann")
    for uid, other in (("ann", "bob"), ("bob", "ann")):
        view = session.as_user(uid)
        reply = await view.messages.send_thread(parent.id, NewThreadMessage.text("hi"))
        assert (reply.sender, reply.receiver, reply.conversation_id) == (uid, other, parent.conversation_id)
    to_group = NewMessage.text("den", "?", receiver_type="group")
    parent = await session.messages.send(to_group, on_behalf_of="ann")
    reply = await session.messages.send_thread(parent.id, NewThreadMessage.text("hi"), on_behalf_of="ann")
    assert (reply.receiver_type, reply.receiver) == ("group", "den")
    body = {"type": "text", "data": {"text": "t"}}
    with pytest.raises(BadRequestError, match="ERR_EMPTY_RECEIVER"):
        await session.as_user("ann").request("POST", f"/messages/{parent.id}/thread", json=body)


async def test_a_message_to_several_receivers(session: AsyncSession) -> None:
    several = {"uids": ["bob", "cat"], "guids": ["den"]}
    message = NewMessage(multiple_receivers=several, type="text", data={"text": "all"}, muid="m1")
    first = await session.messages.send(message, on_behalf_of="ann")
    assert (first.receiver, first.muid) == ("bob", "m1")
    assert [item.receiver async for item in session.messages.list()] == ["den", "cat", "bob"]
    partial = NewMessage(multiple_receivers={"uids": ["bob", "nobody"]}, type="text", data={"text": "some"})
    outcomes = await session.messages.send_each(partial, on_behalf_of="ann")
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["nobody"])
    with pytest.raises(ApiError, match="nobody"):
        await session.messages.send(partial, on_behalf_of="ann")
