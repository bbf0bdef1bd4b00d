"""A cursor's token: it leads back to exactly its cursor, or to an error."""

import base64
import json
import pickle
import subprocess
import sys
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from chatrest._core.paging.cursor import Cursor, CursorKey, beginning, fingerprint, resumed
from chatrest._core.requests.dialects import BY_ID, BY_NEXT, BY_PAGE, Paging
from chatrest.errors import CursorError
from tests.support.cases import loop_over

texts = st.text(st.characters(codec=None, categories=None), max_size=12)
cursors = st.builds(
    Cursor,
    query=texts,
    position=st.lists(st.tuples(texts, texts), max_size=4).map(tuple),
    direction=st.sampled_from(["append", "prepend", None]),
    last=st.none() | texts,
    given_here=st.integers(0, 2**70),
    is_inside=st.booleans(),
    last_time=st.none() | st.integers(),
    by_id=st.booleans(),
    delivered=st.integers(0),
)
CURSOR = Cursor("0123456789abcdef", (("affix", "append"), ("id", "42")), "append", "41", 3)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def is_refused(token: Any) -> bool:
    try:
        Cursor.parse(token)
    except CursorError:
        return True
    return False


@given(cursors, st.none() | st.binary(min_size=8, max_size=40))
def test_a_token_decodes_to_the_same_cursor(cursor: Cursor, key: bytes | None) -> None:
    cursor = cursor.signed(None if key is None else CursorKey(key))
    token = str(cursor)
    assert Cursor.parse(token) == cursor
    assert key is None or key not in token.encode()
    assert set(token) <= set(ALPHABET)
    assert f"{cursor}" == token


def test_every_change_of_one_character_is_found() -> None:
    token = str(CURSOR)
    for place, was in enumerate(token):
        for char in ALPHABET + "=+/ \né":
            if char != was:
                assert is_refused(token[:place] + char + token[place + 1 :]), (place, char)


def test_a_token_cut_or_grown_is_found() -> None:
    token = str(CURSOR)
    for place in range(len(token)):
        assert is_refused(token[:place])
        assert is_refused(token[place + 1 :])
        assert is_refused(token[:place] + token[place + 1 :])
    for more in ("=", "==", "A", "AA", " ", "\n", "\x00", token):
        assert is_refused(token + more)
        assert is_refused(more + token)


@given(texts | st.text(ALPHABET, max_size=80))
def test_any_other_text_is_refused(text: str) -> None:
    assert is_refused(text)


@loop_over("token", [None, 5, b"abc", str(CURSOR).encode(), ["x"], CURSOR.position])
def test_a_token_that_is_not_a_text_is_refused(token: object) -> None:
    with pytest.raises(CursorError, match="expected a token as text"):
        Cursor.parse(token)


def test_a_fingerprint_is_the_same_in_any_process() -> None:
    parts = ("users.list", "/users", None, "app", {"b": "1", "a": ["x"]})
    code = f"from chatrest._core.paging.cursor import fingerprint; print(fingerprint(*{parts!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint(*parts) == fingerprint(*parts[:-1], {"a": ["x"], "b": "1"})


@given(st.lists(st.text() | st.none(), max_size=4), st.lists(st.text() | st.none(), max_size=4))
def test_different_parts_have_different_fingerprints(parts: list[Any], others: list[Any]) -> None:
    assert (fingerprint(*parts) == fingerprint(*others)) == (parts == others)


START = Cursor(CURSOR.query)


def test_a_token_of_another_query_is_refused() -> None:
    for cursor in (CURSOR, str(CURSOR)):
        with pytest.raises(CursorError, match="of another query"):
            resumed(cursor, Cursor("q"), BY_ID, None)
    with pytest.raises(CursorError, match="damaged"):
        resumed("damaged", START, BY_ID, None)
    with pytest.raises(CursorError):
        resumed(5, START, BY_ID, None)  # type: ignore[arg-type]


@loop_over(
    ("asked", "position", "direction"),
    [
        ((), (), None),
        ((("id", "5"), ("tags", "a"), ("affix", "prepend")), (("id", "5"), ("affix", "prepend")), "prepend"),
        ((("affix", "append"),), (("affix", "append"),), "append"),
        ((("page", "3"), ("role", "x")), (("page", "3"),), None),
    ],
)
def test_a_walk_begins_at_the_position_of_the_query(asked: Any, position: Any, direction: Any) -> None:
    assert beginning("q", asked, BY_ID) == Cursor("q", position, direction)
    assert not beginning("q", asked, BY_PAGE).by_id


def forged(position: Any = (), direction: Any = "append", *rest: Any, query: str = CURSOR.query) -> str:
    """A token such as anybody can make who has seen a few."""
    content = json.dumps([query, position, direction, *rest, *FORGED[len(rest) :]], separators=(",", ":"))
    payload = b"\x01" + content.encode()
    checksum = crc32(payload).to_bytes(4)
    return base64.urlsafe_b64encode(checksum + payload).decode().rstrip("=")


FORGED: list[Any] = [None, 0, False, None, True, 0]
"""The parts after the direction: last, given_here, is_inside, last_time, by_id, delivered."""


def test_a_forged_token_is_read_as_any_other() -> None:
    """Or else the tests below would prove nothing."""
    assert resumed(forged([["id", "7"]]), START, BY_ID, None).position == (("id", "7"),)


def begun(**asked: str) -> Cursor:
    return beginning(CURSOR.query, tuple(asked.items()), BY_ID)


@loop_over(
    ("token", "start"),
    [
        # a filter
        (forged([["fromTimestamp", "0"]]), begun()),
        (forged([["id", "9"], ["fromTimestamp", "0"]]), begun(id="5")),
        (forged([["toTimestamp", "1"]]), begun()),
        (forged([["searchKey", "x"]]), begun()),
        (forged([["onBehalfOf", "eve"]]), begun()),
        (forged([["", "x"]]), begun()),
        (forged([["ID", "1"]]), begun()),
        (forged([["id&fromTimestamp", "0"]]), begun()),
        # a size
        (forged([["limit", "1001"]]), begun()),
        (forged([["limit", "0"]]), begun()),
        (forged([["limit", "-1"]]), begun()),
        (forged([["perPage", "1e9"]]), begun()),
        (forged([["perPage", "9" * 99]]), begun()),
        (forged([["perPage", ""]]), begun()),
        # another direction
        (forged([["affix", "prepend"]], "prepend"), begun(affix="append")),
        (forged([["affix", "prepend"]], "append"), begun(affix="append")),
        (forged([["affix", "prepend"]], "append"), begun()),
        (forged([["affix", "append"]], "append"), begun(affix="prepend")),
        (forged([["affix", "sideways"]], "append"), begun()),
        (forged([["id", "9"]], None), begun(affix="append")),
        # behind the query's own beginning
        (forged([["id", "4"]]), begun(id="5", affix="append")),
        (forged([["id", "0"]]), begun(id="5", affix="append")),
        (forged([["id", "-7"]]), begun(id="5", affix="append")),
        (forged([["id", "x"]]), begun(id="5", affix="append")),
        (forged([["id", "٩"]]), begun(id="5", affix="append")),
        (forged([["id", ""]]), begun(id="5", affix="append")),
        (forged([["id", "6"]], "prepend"), begun(id="5", affix="prepend")),
        (forged([["id", "4"]], "append"), begun(id="5")),
        (forged([["id", "9"]], "append", "4"), begun(id="5", affix="append")),
        (forged([["page", "2"]]), begun(page="3")),
        (forged([["page", "-3"]]), begun()),
        (forged([["page", "0"]]), begun()),
        (forged([["page", "x"]]), begun()),
        # a name twice: a server may take the first of them, or the last
        (forged([["id", "9"], ["id", "1"]]), begun(id="5")),
        (forged([["id", "9"]], "append", None, -1), begun()),
        (forged([["id", "9"]], "append", None, 0, False, None, True, -1), begun()),
    ],
)
def test_a_forged_token_only_continues_the_same_list(token: str, start: Cursor) -> None:
    with pytest.raises(CursorError, match=r"the cursor token (leads out of its list|is damaged)"):
        resumed(token, start, BY_ID, None)


@loop_over(
    ("name", "paging"), [("page", BY_NEXT), ("limit", BY_PAGE), ("perPage", BY_NEXT), ("updatedAt", BY_PAGE)]
)
def test_a_position_is_sent_only_by_names_of_the_dialect(name: str, paging: Paging) -> None:
    token = forged([[name, "5"]])
    if name in paging.position_names:
        assert resumed(token, START, paging, None).position == ((name, "5"),)
    else:
        with pytest.raises(CursorError, match=f"'{name}' is no name by which this list is paged"):
            resumed(token, START, paging, None)


@given(
    st.lists(
        st.tuples(st.sampled_from(["id", "affix", "limit", "page", "sentAt", "tags"]), texts), max_size=3
    )
)
def test_a_forged_position_is_sent_by_known_names_and_moves_forward(pairs: Any) -> None:
    start = begun(id="50", affix="append")
    try:
        position = dict(resumed(forged(pairs), start, BY_ID, None).position)
    except CursorError:
        return
    assert position.keys() <= BY_ID.position_names
    assert position.get("affix", "append") == "append"
    assert int(position.get("id", "50")) >= 50
    assert 1 <= int(position.get("limit", "1")) <= 1000


@pytest.mark.parametrize("direction", ["append", "prepend"])
def test_a_walk_from_an_id_without_a_direction_can_be_resumed(direction: Any) -> None:
    place = "9" if direction == "append" else "2"
    cursor = Cursor(CURSOR.query, (("affix", direction), ("id", place)), direction, place)
    assert resumed(str(cursor), begun(id="5"), BY_ID, None) == cursor


@loop_over(
    "content",
    ['["q"]', '{"query":"q"}', "null", "[]", '["q",[["id",5]]]', '["q",[["id"]]]', '["q",5]', '["q",[],"x"]',
     '["q",[],null,null,NaN]', "[" * 5000, '["q",[],null,null,' + "9" * 5000 + "]"],
)  # fmt: skip
def test_a_forged_token_of_another_shape_is_damaged(content: str) -> None:
    payload = b"\x01" + content.encode()
    packed = crc32(payload).to_bytes(4) + payload
    assert is_refused(base64.urlsafe_b64encode(packed).decode().rstrip("="))


KEY = CursorKey(b"k" * 32)


def test_a_session_with_a_key_accepts_only_tokens_signed_with_it() -> None:
    signed = str(CURSOR.signed(KEY))
    assert resumed(signed, START, BY_ID, KEY) == CURSOR
    for number in range(1000):  # also a signature that would begin as a payload does
        key = CursorKey(b"%d" % number)
        assert resumed(str(CURSOR.signed(key)), START, BY_ID, key) == CURSOR
    other = str(CURSOR.signed(CursorKey(b"other")))
    for token in (str(CURSOR), other, forged([["id", "42"]]), str(Cursor(CURSOR.query))):
        with pytest.raises(CursorError, match="not signed with this session's cursor_key"):
            resumed(token, START, BY_ID, KEY)


def test_every_flipped_bit_of_a_signed_token_is_refused() -> None:
    token = str(CURSOR.signed(KEY))
    packed = bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    for bit in range(len(packed) * 8):
        packed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CursorError):
            resumed(base64.urlsafe_b64encode(packed).decode().rstrip("="), START, BY_ID, KEY)
        packed[bit // 8] ^= 1 << bit % 8


def test_a_signature_does_not_go_with_another_place() -> None:
    moved = structs.replace(CURSOR.signed(KEY), position=(("id", "1"),))
    with pytest.raises(CursorError, match="not signed"):
        resumed(str(moved), START, BY_ID, KEY)


def test_a_session_without_a_key_takes_a_signed_token_too() -> None:
    assert resumed(str(CURSOR.signed(KEY)), START, BY_ID, None) == CURSOR


def test_no_repr_shows_a_key_or_a_signature() -> None:
    assert "shared" not in repr(CursorKey(b"shared"))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(CursorKey(b"shared"))
    shown = dict(CURSOR.signed(KEY).__rich_repr__())
    assert (shown["last"], shown["given_here"]) == ("41", 3)
    assert not {"mac", "query"} & shown.keys()
