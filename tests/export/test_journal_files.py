"""What the journal knows of files: their blocks, and how many rows of which source they have."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.export.id_set import IdSet
from chatrest.export.journal import Block, DataFile, Journal, Journal, UnreadableError
from tests.journals import by_hand


def block(part: int, start: int, source: int = 1, rows: int = 1, first: int = 1, last: int = 1) -> Block:
    return Block(part, start, 10, source, rows, first, last, 5, 6, b"digest", IdSet([first, last]))


def test_a_file_is_open_until_it_is_whole(journal: Journal) -> None:
    assert journal.open_file("2020-09", "part") is None
    part = journal.add_file("parts/a.ndjson", "2020-09", "part")
    assert part == DataFile(part.number, "parts/a.ndjson", "2020-09", "part", 0, "open", None)
    assert journal.open_file("2020-09", "part") == part
    assert journal.open_file("2020-09", "history") is journal.open_file("2020-10", "part") is None
    journal.keep_file(part._replace(size=50, state="whole", digest=b"d"))
    assert journal.open_file("2020-09", "part") is None
    other = journal.add_file("b.ndjson", "2020-09", "part")
    spool = journal.add_file("c.ndjson", "2020-09", "spool")
    assert journal.files() == [part._replace(size=50, state="whole", digest=b"d"), other, spool]
    assert journal.files("spool") == [spool]
    assert journal.files("history") == []


def test_names_that_differ_in_capitals_alone_are_one_name(journal: Journal) -> None:
    journal.add_file("user-Bob.ndjson", "x", "part")
    assert journal.has_file("USER-bob.ndjson")
    assert not journal.has_file("user-bobby.ndjson")
    with pytest.raises(sqlite3.IntegrityError):
        journal.add_file("user-bob.ndjson", "y", "part")


def test_frames_lie_in_their_parts_in_order_and_go_with_them(journal: Journal) -> None:
    one, other = (journal.add_file(name, name, "part") for name in "ab")
    blocks = [block(one.number, start, first=start + 1, last=start + 10) for start in (20, 0, 10)]
    journal.add_blocks([*blocks, block(other.number, 0, source=2, rows=5)])
    assert journal.blocks(one.number) == sorted(blocks)
    journal.drop_blocks(one.number, 10)
    assert [each.start for each in journal.blocks(one.number)] == [0]
    journal.drop_file(one.number)
    assert journal.blocks(one.number) == []
    assert journal.files() == [other]
    assert len(journal.blocks(other.number)) == 1


def test_rows_are_counted_by_their_source_in_the_files_that_are_asked_for(journal: Journal) -> None:
    part, spool = journal.add_file("a", "a", "part"), journal.add_file("b", "b", "spool")
    journal.add_blocks(
        [block(part.number, 0, 1, 3), block(part.number, 9, 1, 4), block(part.number, 20, 0, 5)]
    )
    journal.add_blocks([block(spool.number, 0, 1, 50)])
    assert journal.rows(["part"]) == {1: 7, 0: 5}
    assert journal.rows(["part", "spool"]) == {1: 57, 0: 5}
    assert journal.rows(["history"]) == journal.rows([]) == {}


def test_the_ids_of_files_are_those_of_their_blocks_without_the_history(journal: Journal) -> None:
    part, spool, history = (journal.add_file(role, role, role) for role in ("part", "spool", "history"))
    journal.add_blocks([block(part.number, 0, first=1, last=5), block(part.number, 10, first=7, last=9)])
    journal.add_blocks(
        [block(spool.number, 0, first=20, last=21), block(history.number, 0, first=30, last=31)]
    )
    assert list(journal.ids_in_blocks()) == [1, 5, 7, 9, 20, 21]
    journal.drop_blocks(part.number, 10)
    assert list(journal.ids_in_blocks()) == [1, 5, 20, 21]


def test_an_id_that_is_no_number_is_in_a_file_until_that_is_dropped(journal: Journal) -> None:
    file = journal.add_file("a", "a", "part")
    journal.see_others(1, ["m-1", "m-2"])
    journal.see_others(2, ["m-1"])
    journal.write_others(file.number, 1, ["m-1", "m-3"])
    assert journal.other_ids_written(["m-1", "m-2", "m-3", "m-4"]) == {"m-1", "m-3"}
    assert journal.other_ids_unwritten() == [("m-2", 1)]
    journal.drop_file(file.number)
    assert journal.other_ids_written(["m-1", "m-3"]) == set()
    assert sorted(journal.other_ids_unwritten()) == [("m-1", 1), ("m-1", 2), ("m-2", 1), ("m-3", 1)]


@pytest.mark.parametrize("ids", ["x'00'", "x'0102030405'", "NULL", "'text'", "7"])
def test_a_damaged_set_of_ids_is_an_error_that_names_the_journal(path: Path, ids: str) -> None:
    Journal(path).close()
    by_hand(path, f"INSERT INTO seen VALUES(1, 1, 1, 5, coalesce({ids}, 'none'))")
    journal = Journal(path)
    with pytest.raises(UnreadableError, match=str(path)):
        journal.all_seen()
    journal.close()


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("UPDATE files SET size = -1", Journal.files),
        ("UPDATE blocks SET size = -1", lambda journal: journal.blocks(1)),
        ("UPDATE blocks SET rows = -1", lambda journal: journal.blocks(1)),
        ("UPDATE sources SET proven = -1", Journal.sources),
    ],
)
def test_a_count_that_is_negative_is_damage(
    change: str, read: Callable[[Journal], object], path: Path
) -> None:
    Journal(path).close()
    by_hand(path, "INSERT INTO files VALUES(1, 'messages/messages.ndjson', '', 'part', 5, 'open', NULL)")
    by_hand(path, 'INSERT INTO sources(key) VALUES(\'["user", "ann"]\')')
    by_hand(
        path,
        f"INSERT INTO blocks VALUES(1, 0, 5, 1, 1, 1, 1, 1, 1, x'00', x'{IdSet([1]).to_bytes().hex()}', 0)",
    )
    journal = Journal(path)
    read(journal)
    journal.close()
    by_hand(path, change)
    journal = Journal(path)
    with pytest.raises(UnreadableError, match=str(path)):
        read(journal)
    journal.close()


def test_a_snapshot_is_whole_while_another_thread_reads(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite", {"app": "a", "plan": "b"})
    with journal.transaction():
        journal.see_others(1, [f"text-{number}" for number in range(100)])
    reading = journal.other_ids()
    next(reading)
    journal.write_snapshot(tmp_path / "copy.sqlite")
    assert len(list(reading)) == 99
    journal.close()
    with Journal(tmp_path / "copy.sqlite") as copy:
        assert len(list(copy.other_ids())) == 100
        assert copy["app"] == "a"
