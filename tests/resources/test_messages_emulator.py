"""`session.messages` against the emulator: what is sent can be listed, changed, marked and deleted again."""

from collections.abc import AsyncIterator

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
from chatrest._parameters.messages import MessageChanges, NewBotMessage, NewThreadMessage, ThreadQuery
from chatrest.emulator import Emulator


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
    parents = [await send(session, f"topic {number}") for number in range(5)]
    for number, parent in enumerate(parents):
        emulator.store.add_message("bob", "ann", "re", parentId=parent, sent_at=10**10 + number)
    walk = session.messages.list_threads(ThreadQuery(limit=2), on_behalf_of="ann")
    threads = await walk.collect()
    assert [thread.id for thread in threads] == parents[::-1]
    assert [thread.reply_count for thread in threads] == [1] * 5
    assert threads[0].last_reply
    assert threads[0].last_reply.parent_id == parents[-1]
    rest = session.messages.list_threads(ThreadQuery(limit=2), on_behalf_of="ann").limit(3)
    await rest.collect()
    resumed = session.messages.list_threads(ThreadQuery(limit=2), on_behalf_of="ann", cursor=str(rest.cursor))
    assert [thread.id async for thread in resumed] == parents[1::-1]
    reply = await session.messages.send_thread(
        parents[0], NewThreadMessage.text("again", receiver="bob"), on_behalf_of="ann"
    )
    assert reply.parent_id == parents[0]
    [newest] = await session.messages.list_thread(parents[0]).limit(1).collect()
    assert newest.id == reply.id
    assert (await session.messages.get(parents[0], on_behalf_of="ann")).thread_subscribed is True
    assert (await session.messages.unsubscribe_thread(parents[0], on_behalf_of="ann")).success
    assert not (await session.messages.get(parents[0], on_behalf_of="ann")).thread_subscribed
    assert (await session.messages.subscribe_thread(parents[0], on_behalf_of="bob")).success
    assert len(await session.messages.list_threads_user("bob", on_behalf_of="ann").collect()) == 5
    assert await session.messages.list_threads_group("den").collect() == []
    with pytest.raises(BadRequestError, match="ERR_MESSAGE_THREAD_NESTING"):
        await session.messages.send_thread(reply.id, NewThreadMessage.text("x"), on_behalf_of="ann")


async def test_a_reply_without_a_receiver_goes_to_its_conversation(
    session: AsyncSession,
) -> None:
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


async def test_a_bot_and_its_interactive_message(session: AsyncSession) -> None:
    message = await session.messages.send_bot("bob", NewBotMessage.interactive("ann", "card", {"text": "?"}))
    assert (message.sender, message.category, message.type) == ("bob", "interactive", "card")
    done = await session.messages.mark_interacted(message.id, ["yes"], on_behalf_of="ann")
    assert done.success
    with pytest.raises(NotFoundError, match="ERR_BOT_NOT_FOUND"):
        await session.messages.send_bot("robot", NewBotMessage.text("ann", "x"))
