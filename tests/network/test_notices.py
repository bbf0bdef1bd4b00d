"""Acting users that a service ignored."""

import logging
from typing import Any

import pytest

from chatrest import MessageChanges, NewMessage, RetryPolicy
from tests.scripted_server import Faulty, reply

pytestmark = pytest.mark.usefixtures("tidy")

MESSAGE = {
    "id": "1", "conversationId": "alice_user_bob", "sender": "alice", "receiver": "bob",
    "receiverType": "user", "category": "message", "type": "text", "data": {"text": "hello"},
    "sentAt": 1, "updatedAt": 1,
}  # fmt: skip
HELLO = NewMessage.text("bob", "hello")


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Any:
    """A function that gives the texts of all warnings."""
    caplog.set_level(logging.WARNING, "chatrest")
    return lambda: [record.getMessage() for record in caplog.records]


async def test_an_ordinary_reply_logs_nothing(warnings: Any) -> None:
    async with Faulty(reply({"data": MESSAGE})) as server, server.session() as session:
        await session.messages.send(HELLO, on_behalf_of="alice")
        await session.messages.send(HELLO)
    assert warnings() == []


async def test_an_acting_user_that_was_ignored_is_logged_once_for_each_operation(warnings: Any) -> None:
    answer = reply({"data": {**MESSAGE, "sender": "app_system"}})
    async with Faulty(answer) as server, server.session(retry=RetryPolicy(attempts=1)) as session:
        await session.messages.send(HELLO)
        assert warnings() == []
        await session.messages.send(HELLO, on_behalf_of="alice")
        await session.as_user("alice").messages.send(HELLO)
        await session.messages.update("1", MessageChanges.text("x"), on_behalf_of="alice")
        await session.messages.delete("1", on_behalf_of="alice")
    words = "the service ignored the acting user (onBehalfOf): its reply shows another user"
    names = ("send", "update", "delete")
    assert warnings() == [f"messages.{name}: {words}" for name in names]
