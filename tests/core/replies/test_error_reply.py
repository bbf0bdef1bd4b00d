"""The errors of replies that are not successes."""

import json
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from chatrest._core.replies.error_reply import error_member, error_of_reply
from chatrest.errors import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    RateLimitError,
    ServerError,
)
from tests.support.cases import loop_over

KEY = "0123456789abcdef0123456789abcdef01234567"
NOW = 1_700_000_000.0


def error_for(status: int, body: Any = b"", headers: dict[str, str] | None = None) -> ApiError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_of_reply(status, headers or {}, raw, "users.list", [KEY], NOW)


def test_the_services_own_words_are_in_the_error() -> None:
    details = {"uid": ["The uid must be a string."]}
    body = {
        "error": {
            "message": "Bad.", "devMessage": "dev", "source": "chat-api", "details": details,
            "code": "ERR_BAD_REQUEST",
        }
    }  # fmt: skip
    error = error_for(400, body, {"Date": "x"})
    assert type(error) is BadRequestError
    assert (error.status, error.code, error.message, error.details) == (
        400, "ERR_BAD_REQUEST", "Bad.", details,
    )  # fmt: skip
    assert (dict(error.headers), error.operation, error.attempts) == ({"Date": "x"}, "users.list", 1)
    assert str(error) == "users.list: 400 ERR_BAD_REQUEST: Bad. (uid: The uid must be a string.)"


@loop_over("details", [None, {}, [], "text", {"uid": "text"}, {"uid": [1, None]}, {"uid": {"a": ["b"]}}])
def test_details_of_another_shape_are_not_in_the_text(details: object) -> None:
    error = error_for(400, {"error": {"message": "Bad.", "code": "ERR_BAD_REQUEST", "details": details}})
    assert str(error) == "users.list: 400 ERR_BAD_REQUEST: Bad."


@loop_over(
    ("status", "body", "kind", "code", "message"),
    [
        (
            417,
            {"error": {"code": "ERR_ALREADY_JOINED", "message": "m"}},
            ConflictError,
            "ERR_ALREADY_JOINED",
            "m",
        ),
        (
            417,
            {"error": {"code": "ERR_GUID_NOT_FOUND"}},
            NotFoundError,
            "ERR_GUID_NOT_FOUND",
            '{"error": {"code": "ERR_GUID_NOT_FOUND"}}',
        ),
        (401, {"error": {"code": "X", "message": "", "devMessage": "dev"}}, AuthenticationError, "X", "dev"),
        (404, {"error": "no such thing"}, NotFoundError, None, "no such thing"),
        (404, {"error": {"code": 5, "message": "m"}}, NotFoundError, None, "m"),
        (
            500,
            {"error": {"code": None, "message": None}},
            ServerError,
            None,
            '{"error": {"code": null, "message": null}}',
        ),
        (500, {"message": "outside"}, ServerError, None, '{"message": "outside"}'),
        (500, [1], ServerError, None, "[1]"),
        (500, {"error": None}, ServerError, None, '{"error": null}'),
        (
            502,
            b"<html><style>p{}</style><title>Bad</title><script>x<y</script><p>Gate &amp; way</p>",
            ServerError,
            None,
            "Bad Gate &amp; way",
        ),
        (503, b"plain\n  text", ServerError, None, "plain text"),
        (500, b"caf\xe9 \xff", ServerError, None, "caf\ufffd \ufffd"),
        (503, b"", ServerError, None, "Service Unavailable"),
        (503, b"<html></html>", ServerError, None, "Service Unavailable"),
        (599, b"", ServerError, None, "no reason given"),
        (418, b"", ApiError, None, "I'm a Teapot"),
    ],
)
def test_an_error_has_all_details_that_the_body_shows(
    status: int, body: Any, kind: type, code: str | None, message: str
) -> None:
    error = error_for(status, body)
    assert type(error) is kind
    assert (error.status, error.code, error.message) == (status, code, message)
    assert str(error).startswith(f"users.list: {status}")


@loop_over(
    "body",
    [b"\xef\xbb\xbf%b", b" %b\n", b'{"error":{"code":"ERR_ALREADY_JOINED","message":"\\ud800"}}',
     b'{"error":{"code":"ERR_ALREADY_JOINED","message":"\xe9"}}'],
)  # fmt: skip
def test_odd_bytes_do_not_remove_the_code_of_an_error(body: bytes) -> None:
    """A message may repeat what the caller sent: its class must not depend on that."""
    usual = b'{"error":{"code":"ERR_ALREADY_JOINED","message":"m"}}'
    assert type(error_for(417, body.replace(b"%b", usual))) is ConflictError


@loop_over("message", [5, ["m"], {"text": "m"}, None, ""])
def test_a_message_that_is_no_text_is_passed_over(message: object) -> None:
    body = {"error": {"code": "ERR_ALREADY_JOINED", "message": message, "devMessage": "for developers"}}
    assert error_for(417, body).message == "for developers"


def test_an_error_of_an_agent_is_read_at_the_root() -> None:
    body: dict[str, Any] = {"statusCode": 400, "message": "name is too long", "error": "Bad Request"}
    error = error_for(400, body)
    assert (type(error), error.code, error.message) == (BadRequestError, None, "name is too long")
    assert error_for(400, {**body, "message": ["a is no b", "c"]}).message == "a is no b; c"
    assert error_for(404, {**body, "message": ""}).message == "Bad Request"


@loop_over(
    ("status", "hint"),
    [(304, "set no condition"), (103, "interim status"), (199, "interim status")]
    + [(status, "redirects are not followed") for status in (301, 302, 307, 308)],
)
def test_a_status_that_is_no_reply_to_the_request_is_explained(status: int, hint: str) -> None:
    assert hint in str(error_for(status, b""))


def test_a_long_body_is_cut_short() -> None:
    assert len(error_for(500, b"x" * 100_000).message) <= 300
    assert len(error_for(400, {"error": {"message": "x" * 100_000}}).message) <= 300
    assert len(str(error_for(500, b"<" * 50_000))) < 500


@loop_over(
    "body",
    [
        {"error": {"message": f"key {KEY} is wrong", "code": "X"}}, {"error": f"{KEY}"},
        {"error": {"message": "m", "details": {KEY: [f"a {KEY} b", {"x": [KEY]}], "n": 5}}},
        {"error": {"message": "Bad.", "details": {KEY: [f"of {KEY}"], "b": ["\ud800"]}}},
        {"error": {"message": KEY.upper(), "details": KEY}}, {"error": {"code": KEY, "message": "m"}},
        f"<p>bad key <b>{KEY}</b></p>".encode(), f"apikey={KEY}".encode(), {"error": {"devMessage": KEY}},
        b"x" * 290 + KEY.encode(), b"<i>" * 100 + KEY.encode(), {"error": {"message": "y" * 290 + KEY}},
    ],
)  # fmt: skip
def test_no_error_repeats_the_key(body: Any) -> None:
    error = error_for(401, body)
    shown = f"{error} {error!r} {error.message} {error.details} {error.code} {vars(error)}".lower()
    assert KEY not in shown
    assert KEY[:12] not in shown


def test_not_even_a_piece_of_a_key_that_was_cut_off_is_shown() -> None:
    for before in range(5960, 6001, 5):
        assert KEY[:8] not in str(error_for(500, b" " * before + KEY.encode()))


@loop_over(
    "body",
    [
        {"error": {"message": "m", "details": {"wsChannel": {"secret": "s3cr3t"}}}},
        {"oops": {"wsChannel": {"secret": "s3cr3t"}}},
        [{"wsChannel": {"secret": 't0p"s3cr3t'}}],
        {"error": {"message": '{"secret":"t0p-s3cr3t"}'}},
    ],
)
def test_the_secret_of_a_channel_is_hidden_by_name(body: Any) -> None:
    error = error_for(400, body)
    assert "s3cr3t" not in f"{error} {vars(error)}"


@given(
    st.integers(100, 599),
    st.binary(max_size=80) | st.text(max_size=40).map(str.encode),
    st.dictionaries(st.text(max_size=6), st.text(max_size=6), max_size=2),
)
def test_any_reply_becomes_an_error_and_never_fails(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    for each in (body, b'{"error":' + body + b"}", b'{"error":"' + body + b'"}'):
        error = error_of_reply(status, headers, each, "op", [KEY], NOW)
        assert error.status == status
        assert error.message


def test_the_error_member_is_found_where_there_is_one() -> None:
    assert error_member(b'{"error":{"code":"X"}}') == {"code": "X"}
    assert error_member(b'{"error":"text"}') == {"message": "text"}
    for body in (
        b"",
        b"{}",
        b'{"error":5}',
        b'{"error":[]}',
        b"[]",
        b"<html>",
        b"[" * 5000,
        b'{"data":{"error":{}}}',
    ):
        assert error_member(body) is None


def test_a_rate_limit_and_a_503_tell_their_wait_and_other_errors_have_none() -> None:
    error = error_for(
        429, {"error": {"code": "ERR_TOO_MANY_REQUESTS", "message": "m"}}, {"Retry-After": "12"}
    )
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 12
    assert error_for(429).retry_after is None
    assert error_for(503, b"", {"Retry-After": "12"}).retry_after == 12
    assert error_for(500, b"", {"Retry-After": "12"}).retry_after is None


@loop_over("depth", [49, 60, 600, 900, 1100, 100_000])
@loop_over(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_body_nested_however_deep_becomes_an_error(depth: int, opening: bytes, closing: bytes) -> None:
    nested = opening * depth + b"1" + closing * depth
    for body in (nested, b'{"error":{"code":"X","message":"m","details":' + nested + b"}}"):
        error = error_for(400, body)
        assert len(f"{error!r} {vars(error)}") < 10_000
    if depth < 1000:
        assert (error.code, error.message) == ("X", "m")
        assert ("nested too deeply" in str(error.details)) == (depth > 50)


@loop_over(
    "body", [b'{"message":"no %s"}', b'[{"a":"%s"}]', b'"%s"', b'{"%s":1}', b'{"cut off":"%s"', b"<p>%s"]
)
def test_a_key_that_escapes_hide_is_not_error_for(body: bytes) -> None:
    key = "k3y/with=slashes+more"
    for escaped in (
        json.dumps(key).strip('"').replace("/", "\\/"),
        "".join(f"\\u{ord(char):04x}" for char in key),
        quote(key, safe=""),
        "".join(f"&#{ord(char)};" for char in key),
    ):
        error = error_of_reply(400, {}, body % escaped.encode(), "op", [key], NOW)
        assert "slashes" not in f"{error} {vars(error)}"
        assert escaped not in f"{error} {vars(error)}"


def test_control_characters_are_replaced() -> None:
    error = error_for(400, b'{"error":{"code":"A\\ud800","message":"b\xe9"}}')
    assert (error.code, error.message) == ("A\ufffd", "b\ufffd")
    assert str(error).encode()


@loop_over(
    ("status", "error", "kind"),
    [
        (400, {"code": "ERR_UID_ALREADY_EXISTS", "message": "no"}, ConflictError),
        (417, {"code": "ERR_GUID_ALREADY_EXISTS"}, ConflictError),
        (400, {"code": "ERR_BAD_REQUEST", "details": {"uid": ["The uid is already taken."]}}, ConflictError),
        (400, {"code": "ERR_BAD_REQUEST", "details": {"uid": "already exists"}}, ConflictError),
        (422, {"details": [{"field": "uid", "message": "This uid exists already"}]}, ConflictError),
        (400, {"message": "User with UID bob already exists"}, ConflictError),
        (400, {"code": "ERR_BAD_REQUEST", "details": {"uid": ["The uid is too long."]}}, BadRequestError),
        (500, {"code": "ERR_UID_ALREADY_EXISTS"}, ServerError),
        (401, {"message": "the key already exists"}, AuthenticationError),
    ],
)  # fmt: skip
def test_an_already_exists_code_is_a_conflict(
    status: int, error: dict[str, Any], kind: type[ApiError]
) -> None:
    assert type(error_for(status, {"error": error})) is kind


@loop_over(
    ("status", "code", "is_unserved"),
    [
        (404, None, True), (404, "ERR_ROUTE_NOT_FOUND", True), (400, "ERR_ROUTE_NOT_FOUND", True),
        (404, "ERR_ENDPOINT_NOT_FOUND", True), (404, "ERR_STRANGE", True),
        (404, "ERR_UID_NOT_FOUND", False), (400, "ERR_MESSAGE_NOT_FOUND", False),
        (404, "ERR_NEW_THING_NOT_FOUND", False), (417, "ERR_GUID_NOT_FOUND", False),
    ],
)  # fmt: skip
def test_an_unserved_operation_has_a_distinct_error(status: int, code: str | None, is_unserved: bool) -> None:
    error = error_for(status, {"error": {"code": code, "message": "m"}} if code else b"<h1>Not found</h1>")
    assert type(error) is NotFoundError
    assert error.is_unserved is is_unserved
    assert ("the service may not serve this operation" in str(error)) is is_unserved


def test_a_missing_login_token_names_where_to_give_it() -> None:
    error = error_for(401, {"error": {"code": "ERR_NO_AUTH", "message": "no"}})
    assert type(error) is AuthenticationError
    assert "CHATREST_HEADERS" in str(error)
    assert "authtoken" in str(error)


@pytest.mark.parametrize("status", [403, 502])
def test_the_error_of_a_proxy_page_has_the_status_and_80_characters(status: int) -> None:
    page = b"<html><style>p{}</style><h1>Blocked by policy</h1>" + b"<p>lorem ipsum</p>" * 100
    error = error_for(status, page)
    assert str(error).startswith(f"users.list: {status}: Blocked by policy lorem ipsum")
    assert len(error.message) == 80


def test_the_error_of_a_cut_body_has_the_first_members() -> None:
    body = (
        b'{"error":{"message":"no \\"such\\" user","code":"ERR_UID_NOT_FOUND","details":[' + b"{}," * 30_000
    )
    error = error_for(404, body)
    assert (error.code, error.message, error.details) == ("ERR_UID_NOT_FOUND", 'no "such" user', None)
    record = error_member(body)
    assert record is not None
    assert record["code"] == "ERR_UID_NOT_FOUND"


@pytest.mark.parametrize("filler", [b"[", b'"a":', b"\\", b'{"error":', b"<", b'"', b"\xff", b"%41"])
def test_a_hostile_body_of_an_error_is_read_once_and_soon(filler: bytes) -> None:
    body = b'{"error":{"message":"' + filler * 1_000_000
    before = time.process_time()
    for _ in range(3):
        assert error_for(500, body).status == 500
    assert time.process_time() - before < 30  # minutes, where a pattern backtracks
