"""A cursor's token: it leads back to exactly its cursor, or to an error."""

import base64
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.core.cursor import Cursor, fingerprint, resumed
from chatrest.errors import CursorError

some = settings(max_examples=80, deadline=None, database=None)
anything = st.text(st.characters(codec=None, categories=None), max_size=12)
cursors = st.builds(
    Cursor,
    query=anything,
    at=st.lists(st.tuples(anything, anything), max_size=4).map(tuple),
    way=st.sampled_from(["append", "prepend", None]),
    last=st.none() | anything,
    skip=st.integers(0, 2**70),
)
CURSOR = Cursor("0123456789abcdef", (("affix", "append"), ("id", "42")), "append", "41", 3)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def is_refused(token: Any) -> bool:
    try:
        Cursor.parse(token)
    except CursorError:
        return True
    return False


@some
@given(
    st.builds(
        Cursor,
        query=st.text(),
        at=st.lists(st.tuples(st.text(), st.text())).map(tuple),
        way=st.sampled_from(["append", "prepend", None]),
        last=st.none() | st.text(),
        skip=st.integers(0),
    )
)
def test_a_token_leads_back_to_its_cursor(cursor: Cursor) -> None:
    token = str(cursor)
    assert Cursor.parse(token) == cursor
    assert set(token) <= set(ALPHABET)
    assert f"{cursor}" == token


def test_an_id_with_a_lone_surrogate_has_a_token_too() -> None:
    """Such ids come out of the patient way of decoding."""
    cursor = Cursor("q", (("id", "\ud800"),), "append", "a\udfff")
    assert Cursor.parse(str(cursor)) == cursor


def test_every_change_of_one_character_is_found() -> None:
    token = str(CURSOR)
    for at, was in enumerate(token):
        for char in ALPHABET + "=+/ \né":
            if char != was:
                assert is_refused(token[:at] + char + token[at + 1 :]), (at, char)


def test_every_flipped_bit_is_found() -> None:
    packed = bytearray(base64.urlsafe_b64decode(str(CURSOR) + "=" * (-len(str(CURSOR)) % 4)))
    for bit in range(len(packed) * 8):
        packed[bit // 8] ^= 1 << bit % 8
        assert is_refused(base64.urlsafe_b64encode(packed).decode().rstrip("="))
        packed[bit // 8] ^= 1 << bit % 8


def test_a_token_cut_or_grown_is_found() -> None:
    token = str(CURSOR)
    for at in range(len(token)):
        assert is_refused(token[:at])
        assert is_refused(token[at + 1 :])
        assert is_refused(token[:at] + token[at + 1 :])
    for more in ("=", "==", "A", "AA", " ", "\n", "\x00", token):
        assert is_refused(token + more)
        assert is_refused(more + token)


@some
@given(anything | st.text(ALPHABET, max_size=80))
def test_any_other_text_is_refused(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize("token", [None, 5, b"abc", str(CURSOR).encode(), ["x"], CURSOR.at])
def test_what_is_no_text_is_refused(token: object) -> None:
    with pytest.raises(CursorError, match="a cursor token is a text"):
        Cursor.parse(token)


def test_a_cursor_is_a_frozen_value() -> None:
    assert hash(CURSOR) == hash(Cursor.parse(str(CURSOR)))
    with pytest.raises(AttributeError):
        CURSOR.skip = 5  # type: ignore[misc]


def test_a_fingerprint_is_the_same_in_any_process() -> None:
    parts = ("users.list", "/users", None, "app", {"b": "1", "a": ["x"]})
    code = f"from chatrest.core.cursor import fingerprint; print(fingerprint(*{parts!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint(*parts) == fingerprint(*parts[:-1], {"a": ["x"], "b": "1"})


@some
@given(st.lists(st.text() | st.none(), max_size=4), st.lists(st.text() | st.none(), max_size=4))
def test_different_parts_have_different_fingerprints(some: list[Any], other: list[Any]) -> None:
    assert (fingerprint(*some) == fingerprint(*other)) == (some == other)


def test_a_token_of_the_same_query_is_taken_up() -> None:
    assert resumed(None, "q") is None
    assert resumed(CURSOR, CURSOR.query) == CURSOR
    assert resumed(str(CURSOR), CURSOR.query) == CURSOR


def test_a_token_of_another_query_is_refused() -> None:
    for cursor in (CURSOR, str(CURSOR)):
        with pytest.raises(CursorError, match="of another query"):
            resumed(cursor, "q")
    with pytest.raises(CursorError, match="damaged"):
        resumed("damaged", CURSOR.query)
    with pytest.raises(CursorError):
        resumed(5, "q")  # type: ignore[arg-type]
