"""A view with a user's login token: the token goes in place of the app's key, and nowhere else."""

import pickle

import pytest

from chatrest import App, AsyncSession, ChatRestError, NewMessage, RequestInvalidError
from tests.cases import loop_over
from tests.scripted_server import KEY, Faulty, ReceivedRequest, reply

pytestmark = pytest.mark.usefixtures("tidy")

TOKEN = "bob_17000000000abcdef"
SENT = {
    "id": "1", "conversationId": "a", "sender": "bob", "receiverType": "user", "receiver": "ann",
    "category": "message", "type": "text", "data": {"text": "hi"}, "sentAt": 1, "updatedAt": 1,
}  # fmt: skip


def credentials(request: ReceivedRequest) -> tuple[str | None, str | None, str | None]:
    return request.header("authtoken"), request.header("apikey"), request.header("onbehalfof")


async def test_a_message_is_sent_as_the_user_with_its_token() -> None:
    async with Faulty(reply({"data": SENT})) as server, server.session() as session:
        bob = session.as_user("bob", auth_token=TOKEN)
        message = await bob.messages.send(NewMessage.text("ann", "hi"))
        assert message.sender == "bob"
        await bob.messages.send(NewMessage.text("ann", "hi"), on_behalf_of="bob")
        await session.messages.send(NewMessage.text("ann", "hi"))
    assert list(map(credentials, server.requests)) == [
        (TOKEN, None, None),
        (TOKEN, None, None),
        (None, KEY, None),
    ]


async def test_a_view_knows_of_a_token_beside_the_key() -> None:
    async with Faulty() as server, server.session() as session:
        beside = session.with_options(headers={"AuthToken": "another"})
        views = (session, beside, beside.as_user("bob"), beside.as_user("bob", auth_token=TOKEN))
        assert [view.sender.has_reader_token for view in views] == [False, True, True, False]


async def test_the_token_replaces_a_header_of_the_callers_and_stays_with_its_user_and_app() -> None:
    async with Faulty(reply({"data": SENT})) as server, server.session() as session:
        bob = session.with_options(headers={"authtoken": "another"}).as_user("bob", auth_token=TOKEN)
        await bob.messages.get("1")
        assert credentials(server.requests[-1]) == (TOKEN, None, None)
        other = App("app-2", "other-key-0123456789", base_url=session.app.base_url)
        bob = session.as_user("bob", auth_token=TOKEN)
        views = (bob.for_app(other), bob.as_user("carol"), bob.with_options(on_behalf_of="carol"))
        for view in views:
            await view.messages.get("1")
            assert credentials(server.requests[-1])[:2] == (None, view.app.api_key)
        await bob.with_options(deadline=5.0).messages.get("1")
        assert credentials(server.requests[-1]) == (TOKEN, None, None)


async def test_a_call_for_another_user_is_refused_before_it_is_sent() -> None:
    async with Faulty(reply({"data": SENT})) as server, server.session() as session:
        bob = session.as_user("bob", auth_token=TOKEN)
        with pytest.raises(RequestInvalidError, match=r"on_behalf_of = 'carol'.*login token of 'bob'"):
            await bob.messages.send(NewMessage.text("ann", "hi"), on_behalf_of="carol")
    assert not server.requests


@loop_over("token", ["", "a b", "a\r\nb", 7, "\ud800"])
async def test_a_token_that_cannot_be_a_header_is_refused(token: str) -> None:
    async with Faulty(reply()) as server, server.session() as session:
        with pytest.raises(RequestInvalidError, match=r"^auth_token: expected 1 or more") as caught:
            session.as_user("bob", auth_token=token)
        assert repr(token) not in str(caught.value) or token == ""


async def test_no_error_repr_or_cursor_holds_the_token() -> None:
    error_body = {"error": {"code": "ERR_X", "message": f"bad token {TOKEN}"}}
    async with Faulty(reply(error_body, 401, x_echo=TOKEN)) as server, server.session() as session:
        bob: AsyncSession = session.as_user("bob", auth_token=TOKEN)
        walk = bob.messages.list_user("ann")
        with pytest.raises(ChatRestError) as caught:
            await walk.collect()
        shown = [repr(bob), repr(walk), str(walk.cursor), repr(walk.cursor), str(caught.value)]
        shown += [repr(vars(caught.value)), repr(bob.sender), repr(bob._options), repr(session.pools)]
    assert TOKEN not in "".join(shown)
    assert TOKEN.encode() not in pickle.dumps(caught.value)
