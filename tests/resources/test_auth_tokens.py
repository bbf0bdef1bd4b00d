"""Auth tokens: created once, never repeated."""

from typing import Any

import pytest

from chatrest.core.endpoint import Call
from chatrest.errors import RequestInvalidError
from chatrest.resources.auth_tokens import CREATE, AuthTokens


class Session:
    app_id = "app"
    acting_user = None

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        return call.endpoint.reply(b'{"data":{"uid":"bob","authToken":"t0ken","createdAt":1}}')


@pytest.mark.parametrize(
    ("force", "body"), [({}, {}), ({"force": False}, {}), ({"force": True}, {"force": True})]
)
async def test_a_token_is_asked_for_and_handed_on(force: Any, body: Any) -> None:
    session = Session()
    token = await AuthTokens(session).create("b/ob", **force)
    assert (token.uid, token.auth_token) == ("bob", "t0ken")
    assert "t0ken" not in repr(token)
    [call] = session.calls
    assert (call.endpoint, call.path, call.json, call.on_behalf_of) == (
        CREATE,
        "/users/b%2Fob/auth_tokens",
        body,
        None,
    )


@pytest.mark.parametrize("uid", ["", "..", "a\n", None])
async def test_a_uid_that_is_no_path_segment_is_refused_before_anything_is_sent(uid: Any) -> None:
    session = Session()
    with pytest.raises(RequestInvalidError):
        await AuthTokens(session).create(uid)
    assert session.calls == []
