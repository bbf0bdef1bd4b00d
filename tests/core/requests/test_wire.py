"""From a call to a request: address, headers, body."""

import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import UNSET, UnsetType, field, structs
from rich.pretty import pretty_repr

from chatrest import File
from chatrest._core.requests.endpoint import Call, Endpoint
from chatrest._core.requests.wire import (
    Headers,
    Request,
    check_headers,
    form,
    json_body,
    request,
    with_headers,
)
from chatrest._parameters.checked import Body as CheckedBody, Bool, Filter, Json, Text, Texts
from chatrest._parameters.files import Upload
from chatrest.app import App
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

APP = App("a", "k3y", service_domain="chat.example.com")
LIST: Endpoint[Any] = Endpoint("x.list", "GET", "/users/{uid}/messages", bytes)
SEND: Endpoint[Any] = Endpoint("x.send", "POST", "/users/{uid}/messages", bytes, "never")


def made(call: Call[Any], headers: Headers | None = None) -> Request:
    return request(call, APP.chat_url, headers or Headers(apikey="k3y"))


def test_a_request_is_method_address_headers_and_body() -> None:
    listing = LIST(uid="a/b", query={"limit": 5, "tags": ["x", "y"]}, on_behalf_of="eve")
    call = structs.replace(listing, position=(("id", "9"),))
    sent = made(call)
    assert (sent.method, sent.body) == ("GET", None)
    assert sent.url == "https://a.api-us.chat.example.com/v3/users/a%2Fb/messages?limit=5&tags=x,y&id=9"
    assert sent.headers == {"apikey": "k3y", "onBehalfOf": "eve"}


def test_no_query_has_no_question_mark_and_no_user_no_header() -> None:
    sent = made(LIST(uid="b"))
    assert sent.url == "https://a.api-us.chat.example.com/v3/users/b/messages"
    assert sent.headers == {"apikey": "k3y"}


@loop_over("body", [{}, [], {"a": None}, "x", 0, False])
def test_a_body_is_json_with_that_content_type(body: Any) -> None:
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
def test_a_value_that_json_lacks_is_refused(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match="cannot be sent as JSON"):
        json_body(value)


def test_absent_extra_headers_give_none() -> None:
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


def test_the_first_wrong_header_is_named_by_number() -> None:
    with pytest.raises(RequestInvalidError, match=r"^headers: the name of header 1: expected letters"):
        check_headers({"a b": "s3cret", "apikey": "s3cret"})
    with pytest.raises(
        RequestInvalidError, match=r"^headers: the value of header 2: expected a text without"
    ):
        check_headers({"X-A": "x", "s3cret": "x\n", "a b": "x"})


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
def test_a_number_that_json_lacks_is_refused_at_any_depth(number: float) -> None:
    """msgspec writes null for it, and something else than was asked would be stored."""
    for value in (number, [[number]], {"a": (1, {"b": number})}, Body(number), {"a": [Body({"x": number})]}):
        with pytest.raises(RequestInvalidError, match="NaN and Infinity"):
            json_body(value)


def test_a_null_that_was_meant_is_sent() -> None:
    for value in ({"a": None}, "null", Body(), [1.5, None], {"a": msgspec.Raw(b"null")}, {1: None}):
        assert b"null" in json_body(value)


def test_a_request_shows_only_method_and_host() -> None:
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


class Terms(CheckedBody, frozen=True, kw_only=True, rename="camel"):
    """A body of every kind of part."""

    category: Text
    is_small: Bool | UnsetType = UNSET
    all_terms: Texts | UnsetType = UNSET
    meta: Json | UnsetType = UNSET
    file: Upload | UnsetType = UNSET


class Version(Filter, frozen=True, kw_only=True):
    x_version: int | None = field(default=2, name="X-Version")


UPLOAD: Endpoint[Any] = Endpoint(
    "terms.create", "POST", "/terms", bytes, "never", body=Terms, media="multipart", headers=Version
)


def parts_of(kind: str, body: bytes) -> list[tuple[str | None, str | None, str, bytes]]:
    """The parts of a form as a parser that is not ours reads them: name, file name, type, content."""
    message: Any = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    assert not message.defects
    return [
        (
            part["Content-Disposition"].params["name"],
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    ]


def test_each_member_of_a_form_that_is_given_is_a_part() -> None:
    file = File(b"a\r\n\x00,b", name="größe.png")
    body = Terms(category="wörd", is_small=False, all_terms=["a,b", "c"], meta={"n": [1]}, file=file)
    sent = made(UPLOAD(body=body))
    assert sent.body is not None
    assert b'name="file"; filename="gr\xc3\xb6\xc3\x9fe.png"' in sent.body
    [*texts, (name, _, content_type, content)] = parts_of(sent.headers["Content-Type"], sent.body)
    assert [(name, content) for name, _, _, content in texts] == [
        ("category", "wörd".encode()), ("isSmall", b"false"), ("allTerms", b"a,b"), ("allTerms", b"c"),
        ("meta", b'{"n":[1]}'),
    ]  # fmt: skip
    assert (name, content_type, content) == ("file", "image/png", b"a\r\n\x00,b")
    assert [part[0] for part in parts_of(*form(Terms(category="word")))] == ["category"]


@loop_over("content", [b"chatrest-0", b"\r\n--chatrest-0--\r\n--chatrest-1"])
def test_the_boundary_of_a_form_is_in_no_file(content: bytes) -> None:
    assert parts_of(*form({"a": File(content), "b": 2.5}))[0][3] == content


def test_quotes_in_the_name_of_a_form_are_escaped() -> None:
    [(name, *_)] = parts_of(*form({'a"\r\nb': 1}))
    assert name == "a%22%0D%0Ab"


@pytest.mark.parametrize("value", [b"bytes", object(), None, "\ud800"])
def test_a_value_that_a_form_cannot_have_is_refused(value: object) -> None:
    with pytest.raises(RequestInvalidError, match=r"^a = .*: expected a text, a number|a lone surrogate"):
        form({"a": value})


@pytest.mark.parametrize(("version", "expected"), [(2, {"X-Version": "2"}), (None, {})])
def test_the_headers_of_a_call_are_sent(version: int | None, expected: dict[str, str]) -> None:
    sent = made(UPLOAD(body=Terms(category="word"), headers=Version(x_version=version)))
    assert {**sent.headers, "Content-Type": ""} == {"apikey": "k3y", "Content-Type": "", **expected}


def test_a_header_that_chatrest_writes_itself_is_refused() -> None:
    call = UPLOAD(body=Terms(category="word"), headers={"apikey": "x"})
    with pytest.raises(RequestInvalidError, match=r"^headers: chatrest writes the header 'apikey' itself$"):
        made(call)
