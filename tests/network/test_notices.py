"""Notices beside replies: deprecated operations, and acting users that a service ignored."""

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


@pytest.mark.parametrize(
    ("headers", "rest"),
    [
        ({"deprecation": "@1688169599"}, " since 2023-06-30"),
        ({"deprecation": "@1688169599;x=1"}, " since 2023-06-30"),
        ({"deprecation": "true"}, ""),
        ({"deprecation": "Fri, 30 Jun 2023 23:59:59 GMT"}, " since 2023-06-30"),
        ({"deprecation": "@99999999999999"}, ""),
        ({"sunset": "Sun, 30 Jun 2024 23:59:59 GMT"}, ", and may be gone from 2024-06-30 on"),
        ({"sunset": "soon"}, ""),
        (
            {"deprecation": "@0", "sunset": "Sun, 30 Jun 2024 23:59:59 GMT"},
            " since 1970-01-01, and may be gone from 2024-06-30 on",
        ),
    ],
)
async def test_a_deprecated_operation_is_logged(headers: dict[str, str], rest: str, warnings: Any) -> None:
    async with Faulty(reply(b'{"data":[]}', **headers)) as server, server.session() as session:
        await session.users.list().collect()
    assert warnings() == [f"users.list: the service says that this operation is deprecated{rest}"]


async def test_it_is_logged_once_for_each_operation_of_a_session(warnings: Any) -> None:
    answer = reply(b'{"data":[]}', deprecation="@1688169599")
    async with Faulty(answer) as server:
        async with server.session() as session:
            for _ in range(2):
                await session.users.list().collect()
                await session.as_user("alice").members.list("g").collect()
        async with server.session() as session:
            await session.users.list().collect()
    assert [text.partition(":")[0] for text in warnings()] == ["users.list", "members.list", "users.list"]


async def test_the_headers_of_an_error_count_too(warnings: Any) -> None:
    answer = reply(b"{}", 404, sunset="Sun, 30 Jun 2024 23:59:59 GMT")
    async with Faulty(answer) as server, server.session() as session:
        with pytest.raises(Exception, match="404"):
            await session.users.list().collect()
    assert len(warnings()) == 1


async def test_a_value_of_the_peer_is_never_logged(warnings: Any) -> None:
    answer = reply(b'{"data":[]}', deprecation="s3cret", sunset="s3cret")
    async with Faulty(answer) as server, server.session() as session:
        await session.users.list().collect()
    assert "s3cret" not in "".join(warnings())


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
