"""The end of a run: one file, whose size, hash and contents the journal tells."""

import hashlib
from pathlib import Path

import pytest

from tests.databases import AT, Export, page, record, some


def test_at_the_end_it_is_one_file_with_its_hash(opened: Export) -> None:
    opened.commit(page(*(record(number, at=AT + number) for number in (5, 9, 7))))
    path = opened.finished()
    assert [each.name for each in path.parent.glob("messages*")] == ["messages.sqlite"]
    [part] = opened.journal.files()
    assert (part.name, part.role, part.state) == ("messages.sqlite", "part", "open")
    assert (part.size, part.digest) == (path.stat().st_size, hashlib.sha256(path.read_bytes()).digest())
    [block] = opened.journal.blocks(part.number)
    assert (block.start, block.size, block.source, block.rows) == (0, part.size, 0, 3)
    assert (block.first, block.last, block.since, block.until) == (5, 9, AT + 5, AT + 9)
    assert (block.other, block.digest) == (0, part.digest)
    assert opened.ask("PRAGMA journal_mode") == [("delete",)]
    assert opened.sink.counts() == {1: 3}
    assert path.read_bytes()[18:20] == b"\x01\x01"


def test_an_end_without_messages(opened: Export) -> None:
    path = opened.finished()
    [part] = opened.journal.files()
    assert part.digest == hashlib.sha256(path.read_bytes()).digest()
    [block] = opened.journal.blocks(part.number)
    assert (block.rows, block.first, block.last, block.since, block.other) == (0, 0, 0, -1, 0)


@pytest.mark.parametrize("raw", [b'{"id":"x","sentAt":1}', b'{"id":"1"}'])
def test_a_frame_tells_of_rows_without_a_number_or_a_time(opened: Export, raw: bytes) -> None:
    opened.commit(page(raw, record(7)))
    opened.finished()
    [block] = opened.journal.blocks(opened.journal.files()[0].number)
    assert block.other == 1


def test_a_run_that_finds_nothing_new_changes_no_byte(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        before = opened.finished().read_bytes()
        parts = opened.journal.files()
    with Export(out) as opened:
        opened.finished()
        assert opened.journal.files() == parts
        assert len(opened.journal.blocks(parts[0].number)) == 1
    assert opened.path.read_bytes() == before


def test_while_it_is_written_the_journal_claims_no_hash(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    with Export(out) as opened:
        opened.commit(some(11))
        [part] = opened.journal.files()
        assert (part.size, part.digest) == (0, None)
        assert opened.journal.blocks(part.number) == []
    with Export(out) as opened:  # the run before did not come to its end
        path = opened.finished()
        assert opened.journal.files()[0].digest == hashlib.sha256(path.read_bytes()).digest()


def test_a_death_between_the_commits_of_a_first_batch_does_not_leave_a_wrong_hash(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.finished()
    with Export(out) as opened:
        opened.tear(some(11))
        opened.sink.rollback()
    with Export(out) as opened:
        assert opened.journal.files()[0].digest is None
        path = opened.finished()
        [part] = opened.journal.files()
        assert part.digest == hashlib.sha256(path.read_bytes()).digest()
        assert opened.journal.blocks(part.number)[0].rows == 20
