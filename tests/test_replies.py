"""Replies of odd kinds over a socket, and the errors that calls end with."""

from typing import Any

import pytest

from chatrest import (
    ApiError,
    BadRequestError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    ReplyUnreadableError,
    RetryPolicy,
    ServerError,
)
from tests.cases import loop_over
from tests.scripted_server import Faulty, reply

pytestmark = pytest.mark.usefixtures("tidy")

ONCE = RetryPolicy(attempts=1)


@loop_over(
    ("status", "code", "kind"),
    [
        (400, "ERR_MESSAGE_NOT_FOUND", NotFoundError), (400, "ERR_NOT_A_MEMBER", PermissionDeniedError),
        (500, "ERR_BAD_REQUEST", BadRequestError), (400, "ERR_OPERATION_FAILED", ServerError),
    ],
)  # fmt: skip
@loop_over("method", ["GET", "POST"])
async def test_a_known_code_overrides_the_status_and_is_final(
    status: int, code: str, kind: type[ApiError], method: Any
) -> None:
    async with Faulty(reply({"error": {"code": code}}, status)) as server, server.session() as session:
        with pytest.raises(ApiError) as caught:
            await session.request(method, "/a")
    assert type(caught.value) is kind
    assert len(server.requests) == 1


async def test_an_unrequested_partial_reply_is_an_error() -> None:
    async with Faulty(reply(b'{"data":[]}', 206)) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError, match="206 Partial Content") as caught:
            await session.request("GET", "/a")
        assert caught.value.operation == "GET /a"
        with pytest.raises(OutcomeUnknownError):
            await session.request("POST", "/a")
    assert len(server.requests) == 6


async def test_an_error_that_is_too_large_keeps_its_class() -> None:
    async with Faulty(reply("x" * 5000, 404)) as server, server.session(max_reply_bytes=1000) as session:
        with pytest.raises(NotFoundError) as caught:
            await session.request("GET", "/a")
    assert caught.value.message == "x" * 80


@loop_over("data", [{"uid": "bob"}, {"uid": "bob", "authToken": None}, {"id": "x"}, [{"uid": "bob"}]])
async def test_a_success_without_its_token_says_that_the_call_was_applied(data: Any) -> None:
    async with Faulty(reply({"data": data})) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError, match="answered 200, so the call was applied") as caught:
            await session.auth_tokens.create("bob")
    assert caught.value.answered
