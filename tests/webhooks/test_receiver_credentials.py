"""The check of Basic credentials: which headers pass, and that the comparison shows nothing by its time."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from multidict import CIMultiDict

from chatrest import RequestInvalidError
from chatrest.webhooks import authorized, receiver
from tests.support.cases import loop_over
from tests.webhooks.asgi_client import PASSWORD, USERNAME, basic

PRINTABLE = st.text("aZ9ä€é☃:+/=-", min_size=1)


def passes(headers: Any) -> bool:
    return authorized(headers, USERNAME, PASSWORD)


@loop_over(
    "headers",
    [
        {"Authorization": basic()},
        {"AUTHORIZATION": basic()},
        {"authorization": basic().replace("Basic ", "bAsIc   ")},
        {"Authorization": basic(charset="latin-1")},
        CIMultiDict({"Authorization": basic()}),
        [(b"host", b"x"), (b"authorization", basic().encode())],
        [("Authorization", basic())],
    ],
)
def test_the_right_credentials_pass(headers: Any) -> None:
    assert passes(headers) is True


@loop_over(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Basic"},
        {"Authorization": "Basic "},
        {"Authorization": "Basic ===="},
        {"Authorization": basic()[:-1]},
        {"Authorization": basic().replace("Basic", "Bearer")},
        {"Authorization": basic()[6:]},
        {"Authorization": basic(USERNAME, "")},
        {"Authorization": basic(USERNAME, PASSWORD + "x")},
        {"Authorization": basic(USERNAME, PASSWORD.upper())},
        {"Authorization": basic(USERNAME, PASSWORD.replace("ä", "?"))},
        {"Authorization": basic("", f"{USERNAME}:{PASSWORD}")},
        {"Authorization": "Basic " + "A" * 10_000},
        {"Authorization": "Basic ü"},
        {"Proxy-Authorization": basic()},
        CIMultiDict([("Authorization", basic()), ("Authorization", basic())]),
    ],
)
def test_wrong_credentials_do_not(headers: Any) -> None:
    assert passes(headers) is False


def test_a_character_that_latin_1_lacks_is_not_replaced() -> None:
    assert authorized({"Authorization": basic("u", "€uro")}, "u", "€uro")
    assert not authorized({"Authorization": basic("u", "?uro")}, "u", "€uro")


@given(PRINTABLE.filter(lambda text: ":" not in text), PRINTABLE, PRINTABLE)
def test_only_equal_credentials_pass(username: str, password: str, other: str) -> None:
    headers = {"Authorization": basic(username, password)}
    assert authorized(headers, username, password)
    assert authorized(headers, username, other) == (password == other)


def test_digests_of_one_length_are_compared_whether_or_not_there_is_a_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return a == b

    monkeypatch.setattr(receiver, "compare_digest", compare)
    for headers in ({}, {"Authorization": basic()}, {"Authorization": basic(password="x")}):
        compared.clear()
        passes(headers)
        assert [(len(a), len(b)) for a, b in compared] == [(32, 32)] * 2


@loop_over("username", ["", "a:b", "a\n", "\ud800", None])
def test_a_username_that_basic_credentials_cannot_express_is_refused(username: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^username: expected a .*text"):
        authorized({}, username, "p")
