"""What the database sink reads back of its own file, and counts in it."""

import json
from typing import Any

import pytest

from chatrest.core.replies.rows import row_of
from chatrest.export.message_ids import key_of
from chatrest.export.workspace import LAST
from tests.databases import ALICE, ALL, AT, Export, page, record, some


def test_ids_and_times_choose_what_is_read(opened: Export) -> None:
    opened.commit(page(*(record(number, at=AT + number) for number in (5, 1, 3, 2, 4))))
    opened.commit(page(b'{"id":"x","sentAt":1}', b'{"note":"nothing"}', b'{"id":"6"}'), ALICE)
    always = {"x", key_of(row_of(b'{"note":"nothing"}')), "6"}
    assert set(opened.ids(first=2, last=3)) == {"2", "3"} | always
    assert set(opened.ids(since=AT + 4)) == {"4", "5"} | always
    assert set(opened.ids(first=5, last=LAST, since=AT + 2)) == {"5"} | always
    assert len(opened.ids()) == len(set(opened.ids())) == 8
    sources = {row.id: source for row, source in opened.sink.scan()}
    assert sources["1"] == 1
    assert sources["6"] == sources["x"] == 2


@pytest.mark.parametrize("members", [{}, {"sentAt": None}, {"id": None}, {"sentAt": AT}])
def test_more_than_is_read_at_once(opened: Export, members: dict[str, Any]) -> None:
    raws = [
        json.dumps(json.loads(record(number, f"{number}", at=AT + number // 7)) | members).encode()
        for number in range(1, 1801)
    ]
    opened.commit(page(*raws))
    for where in ({}, {"since": 1}, {"first": 1}):
        found = [bytes(row.raw) for row, _ in opened.sink.scan(**where)]
        assert sorted(found) == sorted(raws)


def test_reading_does_not_stand_in_the_way_of_writing(opened: Export) -> None:
    opened.commit(some(1, 1200))
    reading = opened.sink.scan()
    next(reading)
    opened.commit(some(2000))
    opened.finished()
    assert len(list(reading)) == 1209


def test_counts_are_by_source(opened: Export) -> None:
    assert opened.sink.counts() == {}
    opened.commit(some(1))
    opened.commit(some(5), ALICE)
    assert opened.sink.counts() == {1: 10, 2: 4}
    assert opened.ask("SELECT number, source, messages FROM sources") == [
        (1, ALL.key, 10),
        (2, ALICE.key, 4),
    ]
