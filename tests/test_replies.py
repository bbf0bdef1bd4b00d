"""From a reply to a result or an error: every status to its class, whatever the body."""

import json
import pickle
from typing import Any

import pytest

from chatrest import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RateLimitError,
    ReplyUnreadableError,
    RetryPolicy,
    ServerError,
)
from tests.cases import loop_over
from tests.faulty import Faulty, reply

pytestmark = pytest.mark.usefixtures("tidy")

ONCE = RetryPolicy(attempts=1)

# ── every status to its class ──

CLASSES: dict[int, type[ApiError]] = {
    301: ApiError, 302: ApiError, 304: ApiError, 307: ApiError, 400: BadRequestError,
    401: AuthenticationError, 402: ApiError, 403: PermissionDeniedError, 404: NotFoundError,
    405: ApiError, 408: ApiError,
    409: ConflictError, 410: ApiError, 413: ApiError, 417: ApiError, 418: ApiError, 422: BadRequestError,
    429: RateLimitError, 500: ServerError, 501: ServerError, 502: ServerError, 503: ServerError,
    504: ServerError, 599: ServerError,
}  # fmt: skip


@loop_over("status", CLASSES)
async def test_a_status_with_the_services_own_body(status: int) -> None:
    record = {
        "message": "the message", "devMessage": "for developers", "source": "chat-api",
        "details": {"uid": ["is wrong"]}, "code": "ERR_SOMETHING",
    }  # fmt: skip
    body = b"" if status == 304 else json.dumps({"error": record}).encode()
    async with (
        Faulty(reply(body, status, x_request_id="abc")) as server,
        server.session(retry=ONCE) as session,
    ):
        with pytest.raises(ApiError) as caught:
            await session.request("GET", "/users/bob")
    error = caught.value
    assert type(error) is CLASSES[status]
    assert (error.status, error.operation, error.attempts) == (status, "GET /users/…", 1)
    assert error.headers["X-REQUEST-ID"] == error.headers["x-request-id"] == "abc"
    if status != 304:
        assert (error.code, error.message) == ("ERR_SOMETHING", "the message")
        assert error.details == {"uid": ["is wrong"]}
        assert str(error).startswith(f"GET /users/…: {status} ERR_SOMETHING: the message")


@loop_over(
    ("code", "kind"),
    [
        ("ERR_ALREADY_JOINED", ConflictError), ("ERR_UID_NOT_FOUND", NotFoundError),
        ("AUTH_ERR_NO_ACCESS", PermissionDeniedError), ("AUTH_ERR_APIKEY_NOT_FOUND", AuthenticationError),
        ("ERR_NEW_AND_STRANGE", ApiError),
    ],
)  # fmt: skip
async def test_the_code_determines_the_class_for_unspecific_statuses(code: str, kind: type[ApiError]) -> None:
    async with (
        Faulty(reply({"error": {"code": code, "message": "m"}}, 417)) as server,
        server.session(retry=ONCE) as session,
    ):
        with pytest.raises(ApiError) as caught:
            await session.request("POST", "/a", json={})
    assert type(caught.value) is kind


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


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_rate_limit_by_its_code_is_repeated_like_a_429(method: Any) -> None:
    limited = reply({"error": {"code": "ERR_TOO_MANY_REQUESTS"}}, 400, retry_after="3")
    async with Faulty(limited, reply()) as server, server.session() as session:
        assert await session.request(method, "/a") == {}
    assert len(server.requests) == 2


async def test_an_unrequested_partial_reply_is_an_error() -> None:
    async with Faulty(reply(b'{"data":[]}', 206)) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError, match="206 Partial Content") as caught:
            await session.request("GET", "/a")
        assert caught.value.operation == "GET /a"
        with pytest.raises(OutcomeUnknownError):
            await session.request("POST", "/a")
    assert len(server.requests) == 6


async def test_a_304_is_an_error_with_its_status() -> None:
    async with Faulty(reply(b"", 304)) as server, server.session() as session:
        with pytest.raises(ApiError, match=r"304: Not Modified \(the request set no condition") as caught:
            await session.request("GET", "/a")
    assert (caught.value.status, len(server.requests)) == (304, 1)


async def test_an_error_that_is_too_large_keeps_its_class() -> None:
    async with Faulty(reply("x" * 5000, 404)) as server, server.session(max_reply_bytes=1000) as session:
        with pytest.raises(NotFoundError) as caught:
            await session.request("GET", "/a")
    assert caught.value.message == "x" * 80


async def test_an_error_can_be_pickled() -> None:
    async with (
        Faulty(reply({"error": {"code": "ERR_X", "details": {"a": 1}}}, 503, retry_after="3")) as server,
        server.session(retry=ONCE) as session,
    ):
        for method in ("GET", "POST"):
            with pytest.raises(ServerError) as caught:
                await session.request(method, "/a")  # type: ignore[arg-type]
            again = pickle.loads(pickle.dumps(caught.value))
            assert (type(again), str(again)) == (type(caught.value), str(caught.value))
            assert (again.status, again.code, again.details) == (503, "ERR_X", {"a": 1})
            assert again.headers["RETRY-AFTER"] == "3"


@pytest.mark.parametrize("body", [b"<html>", b"\xff\xfe", b"{", b'{"a":1} x', b"[" * 100_000, b"NaNN"])
async def test_a_200_that_is_not_json(body: bytes) -> None:
    async with Faulty(reply(body)) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError):
            await session.request("GET", "/a")
        assert session.pools["us"].sent == 5
        with pytest.raises(OutcomeUnknownError):
            await session.request("POST", "/a", json={})
        assert session.pools["us"].sent == 6


@loop_over("data", [{"uid": "bob"}, {"uid": "bob", "authToken": None}, {"id": "x"}, [{"uid": "bob"}]])
async def test_a_success_without_its_token_says_that_the_call_was_applied(data: Any) -> None:
    async with Faulty(reply({"data": data})) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError, match="answered 200, so the call was applied") as caught:
            await session.auth_tokens.create("bob")
    assert caught.value.answered
