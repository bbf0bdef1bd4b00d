"""`session.messages`: requests that are made of several arguments, lists, and what operations give."""

from typing import Any

import pytest

from chatrest._core.replies.decode import parse
from chatrest._models.messages import Message
from chatrest._parameters.messages import (
    MessageQuery,
    NewMessage,
    ThreadQuery,
)
from chatrest._resources.messages import Messages
from chatrest.errors import ApiError, ReplyUnreadableError
from tests.resources.operation_calls import MESSAGE, answering, sent
from tests.session_double import Sender

# ── lists ──


@pytest.mark.parametrize("limit", [None, 7])
async def test_counts_name_the_size_as_their_list_does(limit: int | None) -> None:
    sender = answering({"data": [{"entityType": "user", "entityId": "bob", "count": 3}]})
    await Messages(sender).counts(MessageQuery(unread=True, limit=limit))
    assert sender.asked() == {"unread": "true", "count": "true", "limit": str(limit or 1000)}


# ── several receivers ──

SEVERAL = NewMessage(multiple_receivers={"uids": ["bob", "eve"]}, type="text", data={"text": "t"}, muid="m1")
PARTIAL = {
    "data": {
        "uids": {
            "bob": {"success": True, "data": MESSAGE},
            "eve": {"success": False, "error": {"code": "ERR_UID_NOT_FOUND"}},
        }
    }
}
COMPLETE = {"data": {"uids": {uid: {"success": True, "data": MESSAGE} for uid in ("bob", "eve")}}}


async def test_a_partial_success_is_an_error_with_every_failure() -> None:
    with pytest.raises(ApiError, match=r"messages.send: 1 of 2 items failed: eve \(ERR_UID_NOT_FOUND\)"):
        await Messages(answering(PARTIAL)).send(SEVERAL)
    outcomes = await Messages(answering(PARTIAL)).send_each(SEVERAL, on_behalf_of="ann")
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["eve"])
    assert outcomes["bob"].to_dict()["data"] == MESSAGE
    assert outcomes["bob"].data == parse(Message, MESSAGE)


async def test_a_message_to_several_gives_the_first_of_its_reply() -> None:
    for reply in (COMPLETE, {"data": MESSAGE}, {"data": [MESSAGE, MESSAGE | {"receiver": "eve"}]}):
        sender = answering(reply)
        message = await Messages(sender).send(SEVERAL, on_behalf_of="ann")
        assert message.to_dict() == MESSAGE
        assert sent(sender).body == {
            "receiverType": "user", "multipleReceivers": {"uids": ["bob", "eve"]}, "type": "text",
            "data": {"text": "t"}, "muid": "m1",
        }  # fmt: skip


async def test_a_receiver_that_the_reply_does_not_mention_counts_as_failed() -> None:
    outcomes = await Messages(answering({"data": MESSAGE})).send_each(SEVERAL)
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["eve"])
    assert "does not mention" in str(outcomes["eve"].message)
    with pytest.raises(ApiError, match="eve"):
        outcomes.check()
    both = await Messages(answering({"data": [MESSAGE, MESSAGE | {"receiver": "eve"}]})).send_each(SEVERAL)
    assert len(both.check().succeeded) == 2


@pytest.mark.parametrize(
    "reply", [{"data": []}, {"data": {}}, {"data": {"uids": {"bob": {"success": True}}}}]
)
async def test_a_reply_without_any_message_is_unreadable(reply: Any) -> None:
    with pytest.raises(ReplyUnreadableError):
        await Messages(answering(reply)).send(SEVERAL)


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
