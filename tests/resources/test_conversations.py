"""`session.conversations`: requests that are made of several arguments, and what operations give."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import UNSET

from chatrest import AsyncSession, NewMessage, PermissionDeniedError
from chatrest._parameters.conversations import ConversationPin, ConversationQuery
from chatrest._resources.conversations import Conversations
from chatrest.emulator import Emulator
from chatrest.errors import CursorError
from tests.resources.operation_calls import MESSAGE, Sent, answering, sent
from tests.support.session_double import Sender

CONVERSATION: dict[str, Any] = {
    "conversationId": "ann_user_bob", "conversationType": "user", "unreadMessageCount": "3", "createdAt": 1,
    "updatedAt": 2, "lastMessage": MESSAGE, "conversationWith": {"uid": "bob", "name": "Bob"}, "tags": ["x"],
    "pinnedAt": 5, "pinnedBy": "ann",
}  # fmt: skip
RECORD = {"data": CONVERSATION}
DONE = {"data": {"success": True, "Message": "read"}}


async def test_the_deprecated_operations_name_their_replacements() -> None:
    reader, remover = answering(RECORD, acting_user="ann"), answering(DONE, acting_user="ann")
    with pytest.warns(
        DeprecationWarning, match=r"conversations.get is deprecated: use conversations.get_user"
    ) as caught:
        conversation = await Conversations(reader).get("a/b")
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(DeprecationWarning, match=r"conversations.delete .* conversations.reset_user"):
        deletion = await Conversations(remover).delete("a/b")
    assert (conversation.conversation_id, deletion.success) == ("ann_user_bob", True)
    assert sent(reader) == Sent("GET", "/conversations/a%2Fb", "safe")
    assert sent(remover) == Sent("DELETE", "/conversations/a%2Fb", "idempotent")


def page(*numbers: int, **more: Any) -> Any:
    return {"data": [CONVERSATION | {"conversationId": str(number)} for number in numbers], **more}


def pages(*replies: Any) -> Sender:
    return Sender(*(answering(reply).answers[0] for reply in replies))


async def test_the_cursored_list_goes_by_positions_where_there_are_any() -> None:
    query = ConversationQuery(use_cursored_index=1)
    sender = pages(
        page(1, 2, cursor={"updatedAt": 40, "affix": "append"}),
        page(3, cursor={"updatedAt": 50, "affix": "append"}),
        page(cursor={"updatedAt": 50, "affix": "append"}),
    )
    assert len(await Conversations(sender).list(query).collect()) == 3
    assert sender.asked() == {
        "useCursoredIndex": "1", "affix": "append", "updatedAt": "50", "perPage": "1000"
    }  # fmt: skip
    numbered = pages(page(1), page(2), page())
    assert len(await Conversations(numbered).list(query).collect()) == 2
    assert numbered.asked()["page"] == "3"
    unreadable = pages(page(1, cursor={"updatedAt": {"at": 5}, "affix": "append"}))
    with pytest.raises(CursorError, match=r"updatedAt"):
        await Conversations(unreadable).list(query).collect()


async def test_the_views_of_several_users_are_several_items() -> None:
    views = [
        CONVERSATION | {"conversationWith": {"uid": uid}, "unreadMessageCount": count}
        for uid, count in (("bob", "1"), ("ann", "1"), ("ann", "2"))
    ]
    sender = pages({"data": views}, page())
    assert len(await Conversations(sender).list().collect()) == 3


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
