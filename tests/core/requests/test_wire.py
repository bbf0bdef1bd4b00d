"""From a call to a request: address, headers, body."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import structs
from rich.pretty import pretty_repr

from chatrest._core.requests.endpoint import Call, Endpoint
from chatrest._core.requests.wire import Headers, Request, check_headers, json_body, request, with_headers
from chatrest.app import App
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over

APP = App("a", "k3y", service_domain="chat.example.com")
LIST: Endpoint[Any] = Endpoint("x.list", "GET", "/users/{uid}/messages", bytes)
SEND: Endpoint[Any] = Endpoint("x.send", "POST", "/users/{uid}/messages", bytes, "never")


def made(call: Call[Any], headers: Headers | None = None) -> Request:
    return request(call, APP.chat_url, headers or Headers(apikey="k3y"), "comma")


def test_a_request_is_method_address_headers_and_body() -> None:
    listing = LIST(uid="a/b", query={"limit": 5, "tags": ["x", "y"]}, on_behalf_of="eve")
    call = structs.replace(listing, position=(("id", "9"),))
    sent = made(call)
    assert (sent.method, sent.body) == ("GET", None)
    assert sent.url == "https://a.api-us.chat.example.com/v3/users/a%2Fb/messages?limit=5&tags=x,y&id=9"
    assert sent.headers == {"apikey": "k3y", "onBehalfOf": "eve"}


def test_without_a_query_there_is_no_question_mark_and_without_a_user_no_header() -> None:
    sent = made(LIST(uid="b"))
    assert sent.url == "https://a.api-us.chat.example.com/v3/users/b/messages"
    assert sent.headers == {"apikey": "k3y"}


@loop_over("body", [{}, [], {"a": None}, "x", 0, False])
def test_a_body_is_json_and_says_so(body: Any) -> None:
    sent = made(SEND(uid="b", body=body))
    assert sent.body is not None
    assert json.loads(sent.body) == body
    assert sent.headers["Content-Type"] == "application/json"


def test_a_request_changes_no_headers_of_the_session() -> None:
    headers = Headers(apikey="k3y")
    made(SEND(uid="b", body={}, on_behalf_of="eve"), headers)
    assert headers == {"apikey": "k3y"}


def cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@loop_over(
    "value", [object(), {"a": object()}, "\ud800", {1j: 1}, cycle(), {"x": float("nan")}, [float("inf")]]
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match="cannot be sent as JSON"):
        json_body(value)


def test_no_extra_headers_are_none() -> None:
    assert check_headers(None) == {}
    extra = {"X-Trace": "a b\tc", "X_1": "é"}
    assert check_headers(extra) == extra
    assert check_headers(extra) is not extra


@loop_over(
    "name",
    [
        "apikey", "APIKEY", "onBehalfOf", "key", "Secret", "Host", "content-length", "Transfer-Encoding",
        "Content-Type", "accept-encoding", "Connection",
    ],
)  # fmt: skip
def test_headers_that_chatrest_writes_itself_are_refused(name: str) -> None:
    with pytest.raises(RequestInvalidError, match="chatrest writes the header"):
        check_headers({name: "x"})


@loop_over(
    "headers",
    [
        {"": "x"}, {"a b": "x"}, {"a\r\nb": "x"}, {"é": "x"}, {5: "x"}, {"a": "x\r\ny: z"}, {"a": "\x00"},
        {"a": "\x7f"}, {"a": 5}, [("a", "b")], "a: b", {"a": "\ud800"},
    ],
)  # fmt: skip
def test_headers_that_are_not_well_formed_are_refused(headers: Any) -> None:
    with pytest.raises(RequestInvalidError, match="header"):
        check_headers(headers)


@given(st.dictionaries(st.text(max_size=6), st.text(max_size=8), max_size=2))
def test_headers_that_are_taken_cannot_break_out_of_their_line(headers: dict[str, str]) -> None:
    try:
        taken = check_headers(headers)
    except RequestInvalidError:
        return
    for name, value in taken.items():
        line = f"{name}: {value}"
        assert name.isascii()
        assert not set(line) & set("\r\n\0")
        assert line.encode().decode() == line


class Body(msgspec.Struct):
    a: Any = None


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_has_not_is_refused_wherever_it_stands(number: float) -> None:
    """msgspec writes null for it, and something else than was asked would be stored."""
    for value in (number, [[number]], {"a": (1, {"b": number})}, Body(number), {"a": [Body({"x": number})]}):
        with pytest.raises(RequestInvalidError, match="NaN and Infinity"):
            json_body(value)


def test_a_null_that_was_meant_is_sent() -> None:
    for value in ({"a": None}, "null", Body(), [1.5, None], {"a": msgspec.Raw(b"null")}, {1: None}):
        assert b"null" in json_body(value)


def test_a_request_shows_its_method_and_host_alone() -> None:
    sent = Request("GET", "https://h/v3", {"apikey": "k3y"}, b"s3cr3t")
    assert repr(sent) == "<Request GET h>"
    assert pretty_repr(sent) == "Request(method='GET', host='h')"


def test_added_headers_replace_none_whatever_their_case() -> None:
    sent = Request("GET", "https://h/v3", {"apikey": "k3y", "X-Trace": "first"}, b"body")
    more = with_headers(sent, Headers({"x-trace": "second", "X-More": "a", "x-more": "b"}))
    assert more.headers == {"apikey": "k3y", "X-Trace": "first", "X-More": "a"}
    assert structs.replace(more, headers=sent.headers) == sent
    assert sent.headers == {"apikey": "k3y", "X-Trace": "first"}
    assert "k3y" not in repr(more.headers)
