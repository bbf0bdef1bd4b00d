"""What is on disk, by id."""

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


def test_ids_that_a_source_wrote_and_that_are_not_shown() -> None:
    rows = [(row(str(n), sent_at=n * 10), 1 + n % 2) for n in range(1, 11)]
    index = loaded(*rows, (row("x", sent_at=50), 1), (row_of(b'{"id":"6666"}'), 1))
    assert index.missing(1, 0, 100, 0, frozenset()) == [2, 4, 6, 8, 10]
    assert index.missing(1, 2, 8, 0, frozenset({6})) == [4, 8]
    assert index.missing(1, 0, 100, 60, frozenset()) == [6, 8, 10]
    assert index.missing(1, 0, 10**6, 0, frozenset({2, 4, 6, 8, 10})) == []  # who tells no time is not missed
    assert index.missing(3, 0, 100, 0, frozenset()) == []
    index.close()
