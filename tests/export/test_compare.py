"""What is on disk, by id."""

from contextlib import closing

import pytest

from chatrest.core.rows import Row, row_of
from chatrest.export.compare import Index
from chatrest.export.workspace import StoredRow


def row(id: str, text: str = "", sent_at: int = 5) -> Row:
    return row_of(b'{"id":"%b","text":"%b","sentAt":%d}' % (id.encode(), text.encode(), sent_at))


def loaded(*rows: tuple[Row, int]) -> Index:
    index = Index()
    index.load(StoredRow(*each) for each in rows)
    return index


def test_new_and_changed_rows_are_told_apart() -> None:
    index = loaded((row("1"), 1), (row("2"), 1), (row("x"), 2))
    rows = [row("1"), row("2", "edited"), row("3"), row("x", "edited"), row("y")]
    new, changed = index.compare(rows)
    assert [each.id for each in new] == ["3", "y"]
    assert [each.id for each in changed] == ["2", "x"]
    index.put(1, [*new, *changed])
    assert index.compare(rows) == ([], [])
    index.close()


def test_rows_without_an_id_are_told_apart_by_their_bytes() -> None:
    one, other = row_of(b'{"n":1}'), row_of(b'{"n":2}')
    index = loaded((one, 1))
    assert index.compare([one, other]).new == [other]
    index.close()


def test_what_was_loaded_first_counts() -> None:
    index = loaded((row("1", "a"), 1))
    index.load([StoredRow(row("1", "b"), 2)])
    assert index.compare([row("1", "a")]) == ([], [])
    index.close()


def test_ids_that_are_not_on_disk() -> None:
    index = loaded((row("1"), 1), (row("3"), 1))
    assert index.unknown([1, 2, 3, 4]) == [2, 4]
    assert index.unknown([]) == []
    index.close()


STORED = [
    *((row(str(n), sent_at=n * 10), 1 + n % 2) for n in range(1, 11)),
    (row("x", sent_at=50), 1),
    (row_of(b'{"id":"6666"}'), 1),
]


@pytest.mark.parametrize(
    ("source", "after", "last", "since", "shown", "expected"),
    [
        (1, 0, 100, 0, [], [2, 4, 6, 8, 10]),
        (1, 2, 8, 0, [6], [4, 8]),
        (1, 0, 100, 60, [], [6, 8, 10]),
        (1, 0, 10**6, 0, [2, 4, 6, 8, 10], []),  # a message that tells no time is not missing
        (3, 0, 100, 0, [], []),
    ],
)
def test_ids_that_a_source_wrote_and_that_are_not_shown(
    source: int, after: int, last: int, since: int, shown: list[int], expected: list[int]
) -> None:
    with closing(loaded(*STORED)) as index:
        assert index.missing(source, after, last, since, frozenset(shown)) == expected


def test_what_another_list_shows_is_not_missing_before_or_after() -> None:
    with closing(loaded(*((row(str(n)), 1) for n in range(1, 6)))) as index:
        assert index.show([2]) == 0
        assert index.missing(1, 0, 100, 0, frozenset({1})) == [3, 4, 5]
        assert index.missing(1, 0, 100, 0, frozenset({1})) == [], "they were named already"
        assert index.show([2, 3, 4]) == 2
        assert list(index.missing_spans(1)) == [(1, 5, 5)]


@pytest.mark.parametrize(
    ("apart", "expected"),
    [(1, [(1, 2, 2), (1, 6, 7), (2, 90, 90)]), (4, [(1, 2, 7), (2, 90, 90)])],
)
def test_missing_ids_are_one_span_where_few_rows_of_their_source_lie_between(
    apart: int, expected: list[tuple[int, int, int]]
) -> None:
    with closing(loaded(*((row(str(n)), 1) for n in range(1, 9)), (row("90"), 2))) as index:
        index.missing(1, 0, 100, 0, frozenset({1, 3, 4, 5, 8}))
        index.missing(2, 0, 100, 0, frozenset())
        assert list(index.missing_spans(apart)) == expected
