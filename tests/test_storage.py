"""A journal in one SQLite file: who may have it, what is refused, and whose fault an error is."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from chatrest import ChatRestError, RequestInvalidError
from chatrest._storage import (
    InUseError,
    JournalFile,
    Layout,
    UnreadableError,
    check_in_place,
    sql_in,
    try_lock,
)

SCHEMA = "CREATE TABLE notes(text TEXT UNIQUE NOT NULL); CREATE TABLE others(number INTEGER)"
LAYOUT = Layout("test", SCHEMA, version=3, application=77, remedy="ask somebody")


def empty(db: sqlite3.Connection) -> None:
    """A new journal begins with nothing."""


class Notes(JournalFile):
    def __init__(self, path: Path, *texts: str, is_shared: bool = False) -> None:
        def begin(db: sqlite3.Connection) -> object:
            return db.executemany("INSERT INTO notes VALUES(?)", zip(texts))

        super().__init__(path, LAYOUT, begin, is_shared=is_shared)

    def add(self, *texts: str) -> None:
        with self.transaction():
            self._db.executemany("INSERT INTO notes VALUES(?)", zip(texts, strict=True))

    def texts(self) -> list[str]:
        return [text for (text,) in self._all("SELECT text FROM notes ORDER BY text")]


class ReadNotes(Notes):
    def __init__(self, path: Path, *, is_shared: bool = False) -> None:
        JournalFile.__init__(self, path, LAYOUT, None, is_shared=is_shared)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def killed(notes: Notes, target: Path) -> Path:
    """Return the journal as a process leaves it that dies now."""
    shutil.copytree(notes.path.parent, target)
    notes.close()
    return target / notes.path.name


def test_a_new_file_has_the_initial_rows_and_no_side_file(path: Path) -> None:
    with Notes(path, "first") as notes:
        notes.add("second")
    with Notes(path, "never") as notes:
        assert notes.texts() == ["first", "second"]
    assert list(path.parent.iterdir()) == [path]


def test_one_that_cannot_begin_is_not_there(path: Path) -> None:
    with pytest.raises(UnreadableError, match="UNIQUE"):
        Notes(path, "twice", "twice")
    with Notes(path) as notes:
        assert notes.texts() == []


def test_a_database_is_locked_while_open(path: Path) -> None:
    with Notes(path) as notes:
        with pytest.raises(InUseError, match="notes: another test is writing here"):
            Notes(path)
        notes.add("mine")
    with ReadNotes(path) as notes:
        assert notes.texts() == ["mine"]


def test_a_reader_of_a_shared_database_sees_the_commit_at_its_start(path: Path) -> None:
    with Notes(path, "a", is_shared=True) as notes:
        notes.add("b")
        with ReadNotes(path, is_shared=True) as reader:
            notes.add("c")
            with ReadNotes(path, is_shared=True) as later:
                assert later.texts() == ["a", "b", "c"]
            assert reader.texts() == ["a", "b"]
            assert reader.is_unchanged()
    assert list(path.parent.iterdir()) == [path]


def test_the_end_of_a_writer_does_not_end_its_readers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatrest._storage._LAST_WAIT", 0)
    with ExitStack() as reading:
        with Notes(path, "a", is_shared=True) as notes:
            reader = reading.enter_context(ReadNotes(path, is_shared=True))
            notes.add("b")
        assert reader.texts() == ["a"]
        with ReadNotes(path) as later:
            assert later.texts() == ["a", "b"]
    with Notes(path, is_shared=True) as notes:
        assert notes.texts() == ["a", "b"]
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_without_locks_notices_that_a_writer_has_begun(path: Path) -> None:
    with Notes(path, "a"):
        pass
    with ReadNotes(path) as reader:
        assert reader.texts() == ["a"]
        with Notes(path, is_shared=True) as notes:
            assert reader.is_unchanged()
            notes.add("b")
            assert not reader.is_unchanged()
        assert not reader.is_unchanged()


def test_the_last_commit_of_a_killed_writer_is_read_and_continued(path: Path, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "notes"
    path.parent.mkdir()
    notes = Notes(path, "a")
    notes._db.execute("BEGIN IMMEDIATE")
    notes._db.execute("INSERT INTO notes VALUES('never committed')")
    left = killed(notes, tmp_path / "left")
    before = {each: each.read_bytes() for each in left.parent.iterdir()}
    with ReadNotes(left) as notes:
        assert notes.texts() == ["a"]
    assert {each: each.read_bytes() for each in left.parent.iterdir()} == before
    with Notes(left) as notes:
        assert notes.texts() == ["a"]


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ("CREATE TABLE mine(a); PRAGMA user_version=3", "is no test's journal, or of another version"),
        (f"{SCHEMA}; PRAGMA application_id=77; PRAGMA user_version=4", "or of another version"),
        ("PRAGMA user_version=9", "or of another version"),
    ],
)
def test_another_kind_of_file_is_refused_unchanged(
    path: Path, statements: str, words: str, is_read: bool
) -> None:
    db = sqlite3.connect(path)
    db.executescript(statements)
    db.close()
    before = path.read_bytes()
    with pytest.raises(RequestInvalidError, match=words):
        (ReadNotes if is_read else Notes)(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("content", [b"no database " * 400, b"short", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damage_is_named_with_advice(path: Path, content: bytes, is_read: bool) -> None:
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=r"notes is damaged, or is no test's journal: .*: ask somebody"):
        (ReadNotes if is_read else Notes)(path)
    assert path.read_bytes() == content


def test_a_damaged_index_is_found_at_opening_for_writing_and_by_the_check(path: Path) -> None:
    with Notes(path) as notes:
        notes.add(*map(str, range(500)))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema=ON")
    root = "(SELECT rootpage FROM sqlite_master WHERE name = 'others')"
    db.execute(f"UPDATE sqlite_master SET rootpage = {root} WHERE name LIKE 'sqlite_autoindex%'")
    db.close()
    with pytest.raises(UnreadableError, match="is damaged"):
        Notes(path)
    with ReadNotes(path) as notes, pytest.raises(UnreadableError, match="is damaged"):
        notes.check_integrity()


def test_an_empty_one_is_filled_by_a_writer_and_none_for_a_reader(path: Path) -> None:
    path.touch()
    with pytest.raises(UnreadableError, match="is empty, and no test's journal"):
        ReadNotes(path)
    with Notes(path, "a") as notes:
        assert notes.texts() == ["a"]


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    for opened in (Notes, ReadNotes):
        with pytest.raises(RequestInvalidError, match="unable to open"):
            opened(tmp_path / "nowhere" / "notes")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_transaction_that_fails_never_happened(path: Path, error: type[BaseException]) -> None:
    with Notes(path) as notes:
        with pytest.raises(error), notes.transaction():  # noqa: PT012
            notes._db.execute("INSERT INTO notes VALUES('lost')")
            raise error
        notes.add("kept")
        assert notes.texts() == ["kept"]


def coded(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("it says so")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_BUSY, InUseError, "another test is writing here"),
        (sqlite3.SQLITE_LOCKED_SHAREDCACHE, InUseError, "another test"),
        (sqlite3.SQLITE_CANTOPEN, RequestInvalidError, "it says so"),
        (sqlite3.SQLITE_IOERR_WRITE, OSError, "it says so"),
        (sqlite3.SQLITE_READONLY, OSError, "it says so"),
        (sqlite3.SQLITE_CORRUPT, UnreadableError, "is damaged"),
        (sqlite3.SQLITE_ERROR, UnreadableError, "is damaged"),
    ],
)
def test_errors_name_the_cause(path: Path, code: int, kind: type[Exception], words: str) -> None:
    with Notes(path) as notes:
        with pytest.raises(kind, match=words) as caught, notes.transaction():
            raise coded(code)
        assert str(path) in str(caught.value)
        assert caught.value.__suppress_context__
        notes.add("it goes on")


def test_a_full_disk_has_the_error_number_of_the_system(path: Path) -> None:
    with Notes(path) as notes:
        with pytest.raises(OSError, match="No space") as caught, notes.transaction():
            raise coded(sqlite3.SQLITE_FULL)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
        assert not isinstance(caught.value, ChatRestError)


def test_a_snapshot_has_the_committed_rows(path: Path, tmp_path: Path) -> None:
    with Notes(path, "a", "b") as notes:
        rows = notes._db.execute("SELECT * FROM notes")  # another thread is reading
        next(rows)
        notes.write_snapshot(tmp_path / "during")
        rows.close()
        notes.write_snapshot(tmp_path / "after")
    for copy in ("during", "after"):
        with Notes(tmp_path / copy) as notes:
            assert notes.texts() == ["a", "b"]


@pytest.mark.parametrize("change", [Path.unlink, Path.touch], ids=["gone", "replaced"])
def test_a_moved_or_replaced_file_is_noticed(path: Path, change: Callable[[Path], Any]) -> None:
    with Notes(path) as notes:
        notes.check_in_place()
        path.rename(path.with_name("moved"))
        path.touch()
        change(path)
        with pytest.raises(FileNotFoundError, match="removed or replaced"):
            notes.check_in_place()
    with pytest.raises(FileNotFoundError):
        check_in_place(path.with_name("nowhere"), path.parent.stat())


def test_a_query_takes_any_number_of_values(path: Path) -> None:
    with Notes(path, *map(str, range(1200))) as notes:
        rows = sql_in(notes._db, "SELECT text FROM notes WHERE text IN", map(str, range(-5, 1100)))
        assert sorted(int(text) for (text,) in rows) == list(range(1100))


def test_one_descriptor_has_the_lock_of_a_file(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)
