"""The bytes of each record: exact, once, in the walk's order, one line."""

import json

import pytest
from hypothesis import given, strategies as st

from chatrest import Cursor, Page
from chatrest.cli.lines import lines_of
from chatrest.core.decode import MESSAGE, USER, Many
from chatrest.core.turn import Rules, Trail, turn
from chatrest.models.meta import Meta

RULES = Rules(key=lambda item: str(item.id), size=1000, size_name="limit")
COMMON = {
    "conversationId": "a_user_b", "sender": "a", "receiverType": "user", "receiver": "b",
    "type": "text", "sentAt": 1, "updatedAt": 1,
}  # fmt: skip


def record(id: object, text: str = "hello", category: str = "message") -> bytes:
    body = {"id": id, **COMMON, "category": category, "data": {"text": text}}
    return json.dumps(body, ensure_ascii=False).encode()


def page(*records: bytes, way: str = "append") -> Page:
    """The page as a walk gives it."""
    body = b'{"data": [' + b" ,\n".join(records) + b'], "meta": {"cursor": {"affix": "%b"}}}' % way.encode()
    taken = turn(Cursor("q"), Many(MESSAGE)(body), RULES, Trail())
    return Page(taken.items, Meta(), body, Cursor("q"))


def test_records_come_as_served_in_the_walks_order() -> None:
    served = [record(str(number), "x" * number) for number in (2, 10, 1)]
    assert lines_of(page(*served)) == [served[2], served[0], served[1]]
    assert lines_of(page(*served, way="prepend")) == [served[1], served[0], served[2]]


def test_a_repeat_stays_dropped_and_the_first_one_counts() -> None:
    first, second = record("1", "first"), record("1", "second")
    assert lines_of(page(first, second)) == [first]


@pytest.mark.parametrize(
    "odd",
    [
        record(7),
        record("8", category="something-new"),
        record(None),
        record("not a number"),
        b'{"id": "9", "sentAt": NaN}',
        b'"no object at all"',
        b'{"id": "10", "text": "\\ud800"}',
        record("11").replace(b"hello", b"\\ud83d"),
        record("12").replace(b"hello", b"\xff"),
        record("13").replace(b'"sentAt": 1', b'"sentAt": "1"'),
        b'{"id": true}',
        b"[]",
        b"{}",
    ],
)
def test_an_odd_record_is_its_own_line_and_harms_no_other(odd: bytes) -> None:
    before, after = record("1"), record("99")
    assert sorted(lines_of(page(before, odd, after))) == sorted([before, odd, after])


def test_a_record_over_several_lines_is_one_line_of_the_same_json() -> None:
    pretty = json.dumps(json.loads(record("1", "two\nlines")), indent=2).replace("\n", "\r\n").encode()
    [line] = lines_of(page(pretty))
    assert b"\n" not in line
    assert b"\r" not in line
    assert len(line) == len(pretty)
    assert json.loads(line) == json.loads(pretty)


def test_users_go_by_uid() -> None:
    body = b'{"data":[{"uid":"b","name":"B","more":1.50},{"uid":"a","name":"A"}]}'
    users = Page(Many(USER)(body).items, Meta(), body, Cursor("q"))
    assert lines_of(users, "uid") == [b'{"uid":"b","name":"B","more":1.50}', b'{"uid":"a","name":"A"}']


ids = st.one_of(
    st.integers(), st.text(max_size=5), st.integers(1, 99).map(str), st.none(), st.booleans(), st.floats()
)


@given(st.lists(st.tuples(ids, st.text(max_size=9)), max_size=12))
def test_whatever_the_ids_are_a_line_is_a_record_and_none_is_made_up(made: list[tuple[object, str]]) -> None:
    served = [json.dumps({"id": i, **COMMON, "category": "message", "data": {"text": t}}) for i, t in made]
    shown = page(*(text.encode() for text in served))
    lines = lines_of(shown)
    assert len(lines) == len(shown.items)
    assert {*lines} <= {text.encode() for text in served}
