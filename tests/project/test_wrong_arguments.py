"""A wrong argument of any function: `RequestInvalidError` that names it, and nothing is sent."""

import math
from typing import Any

import pytest

from chatrest import App, AsyncManagement, AsyncSession, RequestInvalidError, RetryPolicy, Timeouts
from tests.support.cases import loop_over
from tests.support.scripted_server import KEY, FaultyServer, reply

APP = App("app-1", KEY, "eu", service_domain="chat.example.com")
URL = "https://management.example.com"
SECRET = "m4nagement-s3cret"
KEYS = {"key": KEY, "secret": SECRET}
SECONDS = (0, -1, True, "1", math.nan, math.inf, 10**400)


class WrongType:
    """A value that JSON cannot hold; its repr is the same in every process."""

    def __repr__(self) -> str:
        return "<nothing>"


WRONG_TYPE = WrongType()


def each(table: dict[str, tuple[Any, ...]]) -> Any:
    """Run a test for every value of every name."""
    return loop_over(("name", "value"), [(name, value) for name, values in table.items() for value in values])


def refused(name: str) -> Any:
    return pytest.raises(RequestInvalidError, match=name.removesuffix("s").replace(".", r"\."))


@each(
    {
        "app": (None, "app-1", App("a", "k")),
        "concurrency": (0, -1, 1.5, True, "5", None),
        "max_reply_bytes": (0, -1, None, 1e9, "1"),
        "deadline": SECONDS,
        "retry": (1, "x", 0, False, RetryPolicy),
        "timeouts": (1, 10.0, 0, (), Timeouts),
        "headers": (["a"], {"a b": "c"}, {"a": 1}, {1: "a"}, {"": "x"}, {"a": "b\nc"}, {"a": "\0"}),
        "header": ({"a": "\ud800"}, {"ü": "x"}, {"a:b": "x"}, {"a": None}, {"a": b"x"}),
        "proxy": ("", "ftp://x", 7, "https://u:p@x"),
        "pace": (3, 0, "fast"),
        "priority": ("urgent", None),
        "telemetry": (3, "x", [3]),
        "verify": ("no", 7),
        "check_acting_user": (None, 1, "no"),
        "cursor_key": (b"", "0123456789abcdef", bytearray(16), 7),
        "clock": (3,),
        "sleep": (3,),
        "dice": (3,),
    }
)
def test_a_session_refuses_a_wrong_argument(name: str, value: Any) -> None:
    given = {"app": APP, "headers" if name == "header" else name: value}
    with refused(name) as caught:
        AsyncSession(**given)
    assert isinstance(caught.value, ValueError)
    assert KEY not in str(caught.value)


@each({"deadline": SECONDS, "retry": (1,), "timeouts": (1,), "headers": ("x",), "on_behalf_of": ("", 7)})
def test_a_view_refuses_a_wrong_argument(name: str, value: Any) -> None:
    with refused(name):
        AsyncSession(APP).with_options(**{name: value})


def test_a_view_refuses_a_wrong_app_or_user() -> None:
    for app in ("app-1", None, App("a", "k")):
        with refused("app"):
            AsyncSession(APP).for_app(app)  # type: ignore[arg-type]
    with refused("uid"):
        AsyncSession(APP).as_user(None)  # type: ignore[arg-type]


@each(
    {
        "url": ("", None, "http://example.com", "x", f"{URL}?a", "https://u:p@x", f"{URL}#a", "https://"),
        "key": ("", " ", "a b", "a\nb", "é", None, 7),
        "secret": ("", " ", "a b", "a\nb", "é", None, 7),
        "concurrency": (0, True, "1"),
        "max_reply_bytes": (0, None),
        "deadline": SECONDS,
        "retry": (7, 0),
        "timeouts": (7, 0),
        "verify": (7,),
        "clock": (7,),
        "sleep": (7,),
        "dice": (7,),
    }
)
def test_the_management_interface_refuses_a_wrong_argument(name: str, value: Any) -> None:
    with refused(name) as caught:
        AsyncManagement(**{"url": URL, **KEYS, name: value})
    assert SECRET not in str(caught.value)


@each(
    {
        "method": ("get", "HEAD", "OPTIONS", "", None, "GET\r\nX: y", ["GET"]),
        "path": ("", "a", "//evil.example/a", "/a?b", "/a#b", "/a\\b", "/a\nb", "/\ud800", None, 7),
        "path ": ("/../a", "/a/./b", "/a/..", "/%2e%2e/a", "/.%2E", "https://evil.example/"),
        "query": ([("a", 1)], "a=1", {1: "a"}, {"a": {}}, {"a": b"x"}, {"a": ["x,y"]}, {"a": "\ud800"}),
        "interface": ("management", "", None),
        "json": (WRONG_TYPE, {1j: 2}, {"a": {WRONG_TYPE}}, "\ud800"),
    }
)
async def test_a_request_by_hand_refuses_a_wrong_argument(name: str, value: Any) -> None:
    async with FaultyServer(reply()) as server, server.session() as session:
        given = {"method": "POST", "path": "/a", name.strip(): value}
        with pytest.raises(RequestInvalidError, match=f"(?i){name.strip()}"):
            await session.request(**given)
    assert server.connections == 0
