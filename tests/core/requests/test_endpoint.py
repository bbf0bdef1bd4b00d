"""An operation as a value: its path, its acting user, and paths given by hand."""

from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given, strategies as st

from chatrest import Message
from chatrest._core.replies.decode import many
from chatrest._core.requests.endpoint import Call, Endpoint, any_path, check_acting_user, segment
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

GET: Endpoint[Any] = Endpoint(
    name="groups.get", method="GET", path="/groups/{guid}/members/{uid}", reply=bytes
)
hostile = st.text() | st.sampled_from(
    [
        "a/b", "../x", "%2e%2e", "a?b#c", "a;b", "{uid}", "%", "a b", "a+b", "漢字", "...", "\\", "a%2Fb",
        "😀", "é",
    ]
)  # fmt: skip
controls = "".join(map(chr, [*range(32), *range(127, 160)]))


@given(hostile)
def test_any_text_is_one_segment_that_round_trips(uid: str) -> None:
    if uid in ("", ".", "..") or set(uid) & set(controls):
        with pytest.raises(RequestInvalidError, match=r"^uid = "):
            segment("uid", uid)
        return
    quoted = segment("uid", uid)
    assert unquote(quoted, errors="strict") == uid
    assert urlsplit(f"https://h/users/{quoted}/messages").path.split("/") == ["", "users", quoted, "messages"]
    assert set(quoted) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%")
    assert quoted not in (".", "..")


@loop_over("uid", ["", ".", "..", "a\nb", "\x00", "\x7f", "a\x85", None, 5, b"bob", ["bob"], "\ud800"])
def test_a_value_that_is_not_one_segment_is_refused(uid: object) -> None:
    with pytest.raises(RequestInvalidError, match=r"^uid = "):
        segment("uid", uid)


def test_an_endpoint_called_with_its_arguments_is_a_call() -> None:
    call = GET(guid="a/b", uid="{guid}", query={"x": 1}, body={"y": 2}, on_behalf_of="eve")
    assert call == Call(GET, "/groups/a%2Fb/members/%7Bguid%7D", {"x": 1}, {"y": 2}, "eve")
    assert GET(guid="g", uid="u") == Call(GET, "/groups/g/members/u")


@loop_over(
    ("path", "words"),
    [
        ({"guid": "g"}, "lacks uid$"),
        ({}, "lacks guid, uid$"),
        ({"guid": "g", "uid": "u", "id": "5"}, "has no id$"),
        ({"guid": "g", "uuid": "u"}, "lacks uid and has no uuid$"),
    ],
)
def test_a_path_parameter_that_is_missing_or_superfluous_is_an_error(path: Any, words: str) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^groups\.get: the path /groups/.* {words}"):
        GET(**path)


@loop_over(
    "template",
    ["", "/", "users", "/users/", "//users", "/users/{uid", "/users/uid}", "/users/{}", "/users/{u id}",
     "/users/x{uid}", "/users?x", "/users/..", "/users/{uid}/{uid}", "/users/{0}", "/users\n"],
)  # fmt: skip
def test_a_wrong_template_is_refused_when_the_endpoint_is_made(template: str) -> None:
    with pytest.raises(ValueError, match=r"^x\.y: "):
        Endpoint("x.y", "GET", template, bytes)


@loop_over(
    ("template", "parameters"),
    [
        ("/users", ()), ("/{guid}", ("guid",)), ("/a/{b}/c_d/{eF2}/g-h", ("b", "eF2")),
        ("/a/{b}/{c}", ("b", "c")),
    ],
)  # fmt: skip
def test_a_template_has_any_number_of_parameters_anywhere(template: str, parameters: tuple[str, ...]) -> None:
    endpoint: Endpoint[Any] = Endpoint("x.y", "GET", template, bytes)
    assert endpoint.parameters == parameters
    filled = endpoint(**{name: f"<{name}>" for name in parameters}).path
    assert unquote(filled) == template.replace("{", "<").replace("}", ">")


@loop_over(
    ("method", "replay", "fits"),
    [("GET", "safe", True), ("GET", "never", False), ("GET", "idempotent", False), ("POST", "safe", True),
     ("PUT", "unstated", False), ("DELETE", "unstated", False), ("POST", "never", True),
     ("PUT", "idempotent", True)],
)  # fmt: skip
def test_the_repeat_rule_fits_the_method(method: Any, replay: Any, fits: bool) -> None:
    assert Endpoint("x.y", "GET", "/x", bytes).replay == "safe"
    if fits:
        assert Endpoint("x.y", method, "/x", bytes, replay).replay == replay
    else:
        with pytest.raises(ValueError, match=f"a {method} whose replay is {replay}"):
            Endpoint("x.y", method, "/x", bytes, replay)


def test_a_list_of_messages_states_the_expected_records() -> None:
    with pytest.raises(ValueError, match=r"messages\.list_bot: a list of messages without a comparison"):
        Endpoint("messages.list_bot", "GET", "/bots/{uid}/messages", many(Message))
    with pytest.raises(ValueError, match="'/messages' does not name one group"):
        Endpoint("messages.list", "GET", "/messages", many(Message), comparison="group")


@loop_over("uid", ["bob", "b b", "漢字", "a/b", "a;b", "é"])
def test_an_acting_user_is_taken_unchanged(uid: str) -> None:
    assert check_acting_user(uid) == uid


@loop_over(
    "uid",
    [
        "", " ", " bob", "bob ", "bob\t", "\u00a0bob", "b\nob", "b\r\nx: y", "\x00", "..", "\ud800", 5,
        True, b"bob",
    ],
)  # fmt: skip
def test_an_acting_user_that_a_header_would_change_is_refused(uid: object) -> None:
    with pytest.raises(RequestInvalidError, match=r"^on_behalf_of = "):
        check_acting_user(uid)


@loop_over(
    ("path", "quoted"),
    [
        ("/users", "/users"), ("/users/a b", "/users/a%20b"), ("/users/a%20b", "/users/a%20b"),
        ("/users/漢", f"/users/{quote('漢')}"), ("/groups/a@b/x:y", "/groups/a@b/x:y"), ("/a/...", "/a/..."),
        ("/a/.b", "/a/.b"), ("/users/", "/users/"), ("/", "/"), ('/a"<>|', "/a%22%3C%3E%7C"),
    ],
)  # fmt: skip
def test_a_path_by_hand_is_quoted(path: str, quoted: str) -> None:
    assert any_path(path) == quoted
    assert any_path(quoted) == quoted


@given(st.text(max_size=20).map("/".__add__))
def test_any_path_stays_below_the_base(path: str) -> None:
    try:
        quoted = any_path(path)
    except RequestInvalidError:
        return
    parts = urlsplit(f"https://host/v3{quoted}")
    assert (parts.netloc, parts.query, parts.fragment) == ("host", "", "")
    assert parts.path.startswith("/v3/")
    assert not {unquote(part) for part in parts.path.split("/")} & {".", ".."}
    assert quoted.isascii()


@loop_over(
    ("path", "words"),
    [
        ("", "expected one '/'"), ("//evil.com", "expected one '/'"),
        ("https://evil.com/", "expected one '/'"), ("/../x", "no segment"), ("/./a", "no segment"),
        ("/a/.%2e", "no segment"), ("/..%2f..%2fx", "no segment"), ("/a/x%2F..", "no segment"),
        ("/a/..%5cx", "no segment"), ("/a/%2e%2e%5C", "no segment"), ("/a/50%", "two hexadecimal digits"),
        ("/a/%zz", "two hexadecimal digits"), ("/a/%0d%0ab", "control characters"),
        ("k3y", "expected one '/'"), ("/k3y?x", "or backslash"), ("/k3y#x", "or backslash"),
        ("/k3y\\x", "or backslash"), ("/k3y\n", "control characters"), ("/k3y/\ud800", "lone surrogate"),
        ("/k3y\x00", "control characters"), (b"/k3y", r"path = \[bytes\]: expected a text"),
        (5, "path = 5: expected a text"), ("users/k3y/a", "path: expected .*not shown: it may hold a key"),
    ],
)  # fmt: skip
def test_the_error_of_a_path_names_the_fault_and_hides_the_value(path: Any, words: str) -> None:
    """DELETE /apikeys/{apiKey}: a path may hold a key."""
    with pytest.raises(RequestInvalidError, match=words) as caught:
        any_path(path)
    assert "k3y" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_an_encoded_slash_or_percent_that_hides_nothing_is_taken() -> None:
    for path in ("/users/a%2Fb", "/users/a%5Cb", "/users/50%25", "/users/...%2F.x"):
        assert any_path(path) == path


def test_an_acting_user_is_refused_by_the_name_of_its_argument() -> None:
    with pytest.raises(RequestInvalidError, match=r"^uid = ' x'"):
        check_acting_user(" x", "uid")
    with pytest.raises(RequestInvalidError, match=r"^uid = '\.\.'"):
        check_acting_user("..", "uid")
