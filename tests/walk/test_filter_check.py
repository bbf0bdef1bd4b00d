"""Walks over lists of services that ignore a filter or the acting user, on a real socket."""

import logging
from typing import Any

import pytest

from chatrest import ActingUserIgnoredError, App, AsyncSession, MessageQuery
from chatrest._core.send import AsRows
from chatrest._resources.conversations import Conversations
from chatrest._resources.messages import Messages
from tests.support.scripted_server import FaultyServer, reply
from tests.support.small_service import START, SmallService, talk
from tests.walk.service_model import items_of

pytestmark = pytest.mark.usefixtures("tidy")


APP = App("app-1", "k" * 20, base_url="https://chat.example")


def ignored(page: Any) -> list[str]:
    """The repairs of a page that are about what the service ignored."""
    return [line for line in page.repairs if "ignored" in line]


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Any:
    """A function that gives the texts of all warnings."""
    caplog.set_level(logging.WARNING, "chatrest")
    return lambda: [record.getMessage() for record in caplog.records]


async def test_an_ignored_filter_is_one_warning_and_all_records_are_returned(warnings: Any) -> None:
    service = SmallService(talk(60))
    query = MessageQuery(affix="append", to_timestamp=START + 40)
    async with service.session() as session:
        walk = session.messages.list_user("bob", query, on_behalf_of="ann")
        pages = [page async for page in walk.pages()]
        await walk.at(walk.cursor).collect()
        assert [item.id for page in pages for item in page.items] == [str(number) for number in range(1, 61)]
        assert [ignored(page) for page in pages] == [
            [],
            ["to_timestamp: the service ignored it, 10 of this page's records do not fit"],
            ["to_timestamp: the service ignored it, 10 of this page's records do not fit"],
        ]
        assert len(warnings()) == 1
        assert "messages.list_user: the service ignored to_timestamp:" in warnings()[0]
        await session.messages.list_user("bob", query, on_behalf_of="ann").collect()
        assert len(warnings()) == 2


async def test_an_empty_list_of_a_user_with_themself_explains_the_inbox(warnings: Any) -> None:
    service = SmallService(talk(60))
    async with service.session() as session:
        view = session.as_user("eve")
        walk = view.messages.list_user("eve")
        assert [*await walk.collect(), *await walk.collect()] == []
        [text] = warnings()
        assert text.startswith(
            "messages.list_user: it lists the messages between the acting user and the same"
        )
        assert text.endswith("; session.messages.list() has all messages of the acting user")
        assert await view.messages.list_user("dan").collect() == []
    assert len(warnings()) == 1


async def test_an_honest_server_causes_no_warning(warnings: Any) -> None:
    service = SmallService(talk(60))
    service.window = lambda record, since, until: (since or 0) < record["sentAt"] <= (until or 1 << 60)
    async with service.session() as session:
        for uid, acting_user in (("bob", "ann"), ("ann", None), ("ann", "ann")):
            query = MessageQuery(affix="append", from_timestamp=START + 5, to_timestamp=START + 50)
            walk = session.messages.list_user(uid, query, on_behalf_of=acting_user)
            assert len(await walk.collect()) == 45
    assert warnings() == []


@pytest.mark.parametrize("as_rows", [False, True])
async def test_messages_of_other_users_are_an_error_before_anything_is_given(
    as_rows: bool, warnings: Any
) -> None:
    service = SmallService([*talk(25), *talk(25, first=26)])
    for record in service.records[25:]:
        record["sender"], record["receiver"] = "carl", "dora"
    async with service.session() as session:
        messages = Messages(AsRows(session.sender)) if as_rows else session.messages
        walk = messages.list(MessageQuery(affix="append"), on_behalf_of="ann")
        items: list[str] = []
        for _ in range(2):  # the walk stays where it was
            with pytest.raises(ActingUserIgnoredError, match="a message between 'carl' and 'dora'") as caught:
                await items_of(walk, into=items)
        assert items == [str(number) for number in range(1, 26)]
        assert caught.value.operation == "messages.list"
        assert warnings() == []


async def test_a_session_may_warn_of_wrong_filters(warnings: Any) -> None:
    service = SmallService(talk(5))
    async with service.session() as session:
        with pytest.raises(ActingUserIgnoredError):
            await session.as_user("carl").messages.list_user("bob").collect()
        session.sender._client.check_acting_user = False
        walk = session.as_user("carl").messages.list_user("bob")
        [page] = [page async for page in walk.pages()]
    assert len(page.items) == 5
    assert ignored(page) == ["on_behalf_of: the service ignored it, 5 of this page's records do not fit"]
    assert len(warnings()) == 1


def test_the_option_is_that_of_the_session() -> None:
    assert AsyncSession(APP).sender.check_acting_user is True
    assert AsyncSession(APP, check_acting_user=False).for_app(APP).sender.check_acting_user is False


@pytest.mark.parametrize("as_rows", [False, True])
async def test_conversations_of_others_are_an_error(as_rows: bool) -> None:
    conversation = {"conversationId": "alice_user_bob", "conversationWith": {"uid": "bob"}}
    async with FaultyServer(reply({"data": [conversation]})) as server, server.session() as session:
        lists = Conversations(AsRows(session.sender)) if as_rows else session.conversations
        assert len(await lists.list(on_behalf_of="alice").collect()) == 1
        for uid in ("bob", "carol"):
            with pytest.raises(ActingUserIgnoredError, match="'alice_user_bob' of other users"):
                await lists.list(on_behalf_of=uid).collect()


async def test_a_single_conversation_of_others_is_a_warning(warnings: Any) -> None:
    conversation = {"conversationId": "alice_user_bob", "conversationWith": {"uid": "bob"}}
    async with FaultyServer(reply({"data": conversation})) as server, server.session() as session:
        await session.conversations.get_user("bob", on_behalf_of="alice")
        assert warnings() == []
        await session.conversations.get_user("bob", on_behalf_of="carol")
    assert [text.partition(":")[0] for text in warnings()] == ["conversations.get_user"]
