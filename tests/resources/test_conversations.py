"""`session.conversations`: requests that are made of several arguments, and what operations give."""

from typing import Any

import pytest

from chatrest._core.replies.decode import parse
from chatrest._models.messages import Message
from chatrest._parameters.conversations import ConversationQuery
from chatrest._resources.conversations import Conversations
from chatrest.errors import CursorError
from tests.resources.operation_calls import MESSAGE, Sent, answering, sent
from tests.session_double import Sender

CONVERSATION: dict[str, Any] = {
    "conversationId": "ann_user_bob", "conversationType": "user", "unreadMessageCount": "3", "createdAt": 1,
    "updatedAt": 2, "lastMessage": MESSAGE, "conversationWith": {"uid": "bob", "name": "Bob"}, "tags": ["x"],
    "pinnedAt": 5, "pinnedBy": "ann",
}  # fmt: skip
RECORD = {"data": CONVERSATION}
DONE = {"data": {"success": True, "Message": "read"}}


async def test_a_conversation_may_come_in_an_array_or_with_a_count_as_a_number() -> None:
    sender = answering({"data": [CONVERSATION | {"unreadMessageCount": 3}]}, acting_user="ann")
    conversation = await Conversations(sender).get_user("bob")
    assert conversation.unread_message_count == 3
    assert conversation.conversation_with.uid == "bob"  # type: ignore[union-attr]
    assert conversation.last_message == parse(Message, MESSAGE)
    assert conversation.to_dict()["lastMessage"] == MESSAGE


async def test_the_deprecated_operations_name_their_replacements() -> None:
    reader, remover = answering(RECORD, acting_user="ann"), answering(DONE, acting_user="ann")
    with pytest.warns(
        DeprecationWarning, match=r"conversations.get is deprecated: use conversations.get_user"
    ):
        conversation = await Conversations(reader).get("a/b")
    with pytest.warns(DeprecationWarning, match=r"conversations.delete .* conversations.reset_user"):
        deletion = await Conversations(remover).delete("a/b")
    assert (conversation.conversation_id, deletion.success) == ("ann_user_bob", True)
    assert sent(reader) == Sent("GET", "/conversations/a%2Fb", "safe")
    assert sent(remover) == Sent("DELETE", "/conversations/a%2Fb", "idempotent")


# ── lists ──


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
