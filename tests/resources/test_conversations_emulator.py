"""`session.conversations` and `session.calls` against the emulator: what messages make, and what users
change.
"""

from collections.abc import AsyncIterator

import pytest
from msgspec import UNSET

from chatrest import AsyncSession, BadRequestError, NewMessage, PermissionDeniedError
from chatrest._parameters.conversations import ConversationPin, ConversationQuery
from chatrest.emulator import Emulator

USERS = ("ann", "bob", "cat", "dan", "eva", "fay", "gus")


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        for uid in USERS:
            emulator.store.add_user(uid)
        emulator.store.add_group("den")
        for uid in ("ann", "bob"):
            emulator.store.members.add("den", uid)
        yield emulator


@pytest.fixture
async def ann(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        for uid in USERS[1:]:
            await session.messages.send(NewMessage.text("ann", f"I am {uid}"), on_behalf_of=uid)
        yield session.as_user("ann")


async def test_a_reset_conversation_is_accessible_again_with_the_next_message(ann: AsyncSession) -> None:
    assert (await ann.conversations.reset_user("cat", preserve_order=True)).success
    assert (await ann.conversations.get_user("cat")).last_message is UNSET
    assert (await ann.conversations.reset_user("bob")).success
    with pytest.raises(PermissionDeniedError, match="ERR_CONVERSATION_NOT_ACCESSIBLE"):
        await ann.conversations.get_user("bob")
    with pytest.warns(DeprecationWarning, match="conversations.get"), pytest.raises(PermissionDeniedError):
        await ann.conversations.get("ann_user_bob")
    message = await ann.messages.send(NewMessage.text("ann", "again"), on_behalf_of="bob")
    conversation = await ann.conversations.get_user("bob")
    assert conversation.last_message
    assert conversation.last_message.id == message.id


async def test_tags_and_resets_of_a_group(ann: AsyncSession) -> None:
    message = NewMessage.text("den", "hi", receiver_type="group")
    await ann.messages.send(message, on_behalf_of="bob")
    assert (await ann.conversations.update_group("den", ["x"])).tags == ("x",)
    [tagged] = await ann.conversations.list(ConversationQuery(tags=["x"], with_tags=True)).collect()
    assert (tagged.conversation_id, tagged.tags) == ("group_den", ("x",))
    assert (await ann.conversations.reset_group("den", preserve_order=True)).success
    assert await ann.messages.list_group("den").collect() == []
    assert (await ann.conversations.get_group("den")).last_message is UNSET
    await ann.conversations.reset_user("bob")
    ids = {each.conversation_id async for each in ann.conversations.list()}
    assert ("ann_user_bob" in ids, "group_den" in ids) == (False, True)
    with pytest.raises(PermissionDeniedError, match="ERR_CONVERSATION_NOT_ACCESSIBLE"):
        await ann.conversations.get_group("den", on_behalf_of="cat")


async def test_pins_of_a_user_and_of_the_app(ann: AsyncSession) -> None:
    pinned = await ann.conversations.pin_user("cat")
    assert (pinned.pinned_by, pinned.conversation_id) == ("ann", "ann_user_cat")
    [first, *_] = await ann.conversations.list().collect()
    assert first.conversation_id == "ann_user_cat"
    await ann.conversations.pin_group("den")
    assert not (await ann.conversations.unpin_group("den")).pinned_by
    await ann.conversations.replace_pinned([ConversationPin(guid="den"), ConversationPin(uid="bob")])
    assert [pin.conversation_id async for pin in ann.conversations.list_pinned()] == ["group_den", "bob"]
    with pytest.raises(PermissionDeniedError, match="ERR_SYSTEM_PINNED_CONVERSATION"):
        await ann.conversations.pin_group("den")
    for uid in ("dan", "eva", "fay", "gus"):
        await ann.conversations.pin_user(uid)
    assert not (await ann.conversations.unpin_user("gus")).pinned_by
    await ann.conversations.pin_user("ann")
    with pytest.raises(BadRequestError, match="ERR_PINNED_CONVERSATIONS_LIMIT_EXCEEDED"):
        await ann.conversations.pin_user("gus")
