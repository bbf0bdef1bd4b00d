"""Credentials in a call's own path, query and body: no error shows them where the service repeats them."""

import pickle
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote

import pytest

from chatrest import AsyncSession, ChatRestError
from chatrest._parameters.notifications import PushTokenQuery
from tests.cases import loop_over
from tests.scripted_server import Faulty, reply

pytestmark = pytest.mark.usefixtures("tidy")

TOKEN = "alice_1700/abc+def"
Call = Callable[[AsyncSession], Awaitable[Any]]
PUSH: Final = PushTokenQuery(auth_token=TOKEN)
CALLS: dict[str, Call] = {
    "path": lambda session: session.auth_tokens.get("alice", TOKEN),
    "delete": lambda session: session.auth_tokens.delete("alice", TOKEN),
    "by hand": lambda session: session.request("GET", f"/users/alice/auth_tokens/{quote(TOKEN, safe='')}"),
    "by hand, body": lambda session: session.request("POST", "/a", json={"x": [{"authToken": TOKEN}]}),
    "by hand, query": lambda session: session.request("GET", "/a", query={"authToken": TOKEN}),
    "query": lambda session: session.notifications.list_push_tokens(
        PushTokenQuery(auth_token=TOKEN)
    ).collect(),
}
BODIES = {
    "prose": {"error": {"code": "ERR_X", "message": f"The token {TOKEN} is not one of alice's"}},
    "details": {"error": {"code": "ERR_X", "message": "no", "details": {"uid": [f"unknown: {TOKEN}"]}}},
    "shape": {"data": [{TOKEN: 1}, {TOKEN: 2}]},
}


@loop_over("call", CALLS.values())
@loop_over("body", BODIES.values())
@loop_over("status", [404, 500])
async def test_a_token_that_the_service_repeats_is_in_no_error(call: Call, body: Any, status: int) -> None:
    async with Faulty(reply(body, status, x_echo=TOKEN)) as server, server.session() as session:
        with pytest.raises(ChatRestError) as caught:
            await call(session)
    error = caught.value
    shown = [str(error), repr(error), repr(error.args), repr(vars(error)), repr(error.__cause__)]
    assert TOKEN not in "".join(shown)
    assert TOKEN.encode() not in pickle.dumps(error)
    assert dict(getattr(error, "headers", {"X-Echo": "[hidden]"}))["X-Echo"] == "[hidden]"


async def test_a_success_of_another_shape_does_not_repeat_a_token() -> None:
    async with Faulty(reply(BODIES["shape"])) as server, server.session() as session:
        with pytest.raises(ChatRestError) as caught:
            await session.auth_tokens.get("alice", TOKEN)
    assert TOKEN not in str(caught.value)
