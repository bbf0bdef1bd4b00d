"""Auth tokens: created once, never repeated."""

from typing import Any

import pytest

from chatrest.core.wire import json_body
from chatrest.errors import RequestInvalidError
from chatrest.resources.users import AUTH_TOKENS_CREATE, AuthTokens
from tests.sending import Sender

REPLY = b'{"data":{"uid":"bob","authToken":"t0ken","createdAt":1}}'


@pytest.mark.parametrize(
    ("force", "body"),
    [({}, b"{}"), ({"force": False}, b'{"force":false}'), ({"force": True}, b'{"force":true}')],
)
async def test_a_token_is_asked_for_and_handed_on(force: Any, body: bytes) -> None:
    sender = Sender(REPLY)
    token = await AuthTokens(sender).create("b/ob", **force)
    assert (token.uid, token.auth_token) == ("bob", "t0ken")
    assert "t0ken" not in repr(token)
    call = sender.call
    assert (call.endpoint, call.path, call.acting_user) == (
        AUTH_TOKENS_CREATE,
        "/users/b%2Fob/auth_tokens",
        None,
    )
    assert json_body(call.body) == body


@pytest.mark.parametrize("uid", ["", "..", "a\n", None])
async def test_a_uid_that_is_no_path_segment_is_refused_before_anything_is_sent(uid: Any) -> None:
    sender = Sender(REPLY)
    with pytest.raises(RequestInvalidError):
        await AuthTokens(sender).create(uid)
    assert sender.calls == []
