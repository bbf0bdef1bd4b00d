"""What the journal knows of files: their blocks, and how many rows of which source they have."""

import sqlite3

import pytest

from chatrest.export.journal import Block, DataFile, Journal


def block(part: int, start: int, source: int = 1, rows: int = 1, first: int = 1, last: int = 1) -> Block:
    return Block(part, start, 10, source, rows, first, last, 5, 6, b"digest")


def test_a_file_is_open_until_it_is_whole(journal: Journal) -> None:
    assert journal.open_part("2020-09", "part") is None
    part = journal.add_part("parts/a.ndjson", "2020-09", "part")
    assert part == DataFile(part.number, "parts/a.ndjson", "2020-09", "part", 0, "open", None)
    assert journal.open_part("2020-09", "part") == part
    assert journal.open_part("2020-09", "history") is journal.open_part("2020-10", "part") is None
    journal.keep_part(part._replace(size=50, state="whole", digest=b"d"))
    assert journal.open_part("2020-09", "part") is None
    other = journal.add_part("b.ndjson", "2020-09", "part")
    spool = journal.add_part("c.ndjson", "2020-09", "spool")
    assert journal.parts() == [part._replace(size=50, state="whole", digest=b"d"), other, spool]
    assert journal.parts("spool") == [spool]
    assert journal.parts("history") == []


def test_names_that_differ_in_capitals_alone_are_one_name(journal: Journal) -> None:
    journal.add_part("user-Bob.ndjson", "x", "part")
    assert journal.has_part("USER-bob.ndjson")
    assert not journal.has_part("user-bobby.ndjson")
    with pytest.raises(sqlite3.IntegrityError):
        journal.add_part("user-bob.ndjson", "y", "part")


def test_frames_lie_in_their_parts_in_order_and_go_with_them(journal: Journal) -> None:
    one, other = (journal.add_part(name, name, "part") for name in "ab")
    blocks = [block(one.number, start, first=start + 1, last=start + 10) for start in (20, 0, 10)]
    journal.add_blocks([*blocks, block(other.number, 0, source=2, rows=5)])
    assert journal.blocks(one.number) == sorted(blocks)
    journal.drop_blocks(one.number, 10)
    assert [each.start for each in journal.blocks(one.number)] == [0]
    journal.drop_part(one.number)
    assert journal.blocks(one.number) == []
    assert journal.parts() == [other]
    assert len(journal.blocks(other.number)) == 1


def test_rows_are_counted_by_their_source_in_the_files_that_are_asked_for(journal: Journal) -> None:
    part, spool = journal.add_part("a", "a", "part"), journal.add_part("b", "b", "spool")
    journal.add_blocks(
        [block(part.number, 0, 1, 3), block(part.number, 9, 1, 4), block(part.number, 20, 0, 5)]
    )
    journal.add_blocks([block(spool.number, 0, 1, 50)])
    assert journal.rows(["part"]) == {1: 7, 0: 5}
    assert journal.rows(["part", "spool"]) == {1: 57, 0: 5}
    assert journal.rows(["history"]) == journal.rows([]) == {}


@pytest.mark.parametrize(
    ("source", "first", "last", "has"),
    [(1, 5, 9, True), (1, 1, 5, True), (1, 9, 99, True), (1, 6, 7, True), (1, 1, 4, False),
     (1, 10, 19, False), (2, 5, 9, False), (2, 21, 21, True), (1, 22, 99, True), (1, 23, 99, False)],
)  # fmt: skip
def test_a_source_may_have_rows_where_a_frame_of_it_or_of_nobody_reaches(
    journal: Journal, source: int, first: int, last: int, has: bool
) -> None:
    journal.add_blocks([block(1, 0, 1, first=5, last=9), block(1, 10, 0, first=20, last=22)])
    assert journal.has_rows(source, first, last) is has
