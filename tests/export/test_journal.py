"""The journal: whose it is, and that its transactions happen or have never happened."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.export.journal import NAME, Journal, UnreadableError
from tests.journals import by_hand

# ── whose it is ──


def test_what_was_noted_is_there_when_it_is_opened_again(path: Path) -> None:
    journal = Journal(path)
    assert journal["plan"] is None
    journal["plan"] = "{}"
    journal["plan"] = '{"é": 1}'
    journal.close()
    journal = Journal(path)
    assert (journal["plan"], journal["app"], journal.path) == ('{"é": 1}', None, path)
    journal.close()
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_journal_that_is_in_use_is_refused_in_words_and_free_when_that_ends(path: Path) -> None:
    journal = Journal(path)
    for _ in range(2):
        with pytest.raises(RequestInvalidError, match="another export is writing here") as caught:
            Journal(path)
        assert str(path) in str(caught.value)
    journal["still"] = "mine"
    journal.close()
    journal = Journal(path)
    assert journal["still"] == "mine"
    journal.close()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{}" * 2000, "not a database"), (b"SQLite format 3\0" + b"\xff" * 5000, "database")],
)
def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(
    path: Path, content: bytes, words: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=words) as caught:
        Journal(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statements",
    [("CREATE TABLE mine(a)", "INSERT INTO mine VALUES(1)"), ("CREATE TABLE a(b)", "PRAGMA user_version=99"),
     ("CREATE TABLE meta(name)", "PRAGMA user_version=3")],
)  # fmt: skip
def test_somebody_elses_database_is_refused_and_stays_as_it_is(
    path: Path, statements: tuple[str, ...]
) -> None:
    by_hand(path, *statements)
    before = path.read_bytes()
    with pytest.raises(RequestInvalidError, match="no export's journal, or of another version"):
        Journal(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_journal_of_an_older_version_is_refused_with_what_to_do(path: Path) -> None:
    by_hand(path, "CREATE TABLE meta(name)", "PRAGMA user_version=1")
    with pytest.raises(RequestInvalidError, match="export into another folder; what is in this one stays"):
        Journal(path)


def test_a_journal_whose_index_is_damaged_is_refused(path: Path) -> None:
    journal = Journal(path)
    with journal.transaction():
        for number in range(300):
            journal.add_file(f"user-{number}.ndjson", f"user {number}", "part")
    journal.close()
    by_hand(path, "PRAGMA writable_schema=ON", "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM "
            "sqlite_master WHERE name = 'seen_of_source') WHERE name = 'changed_numbers'")  # fmt: skip
    with pytest.raises(UnreadableError, match="is damaged"):
        Journal(path)


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / NAME):
        with pytest.raises(RequestInvalidError, match="unable to open"):
            Journal(path)


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    journal = Journal(path)
    assert journal.sources() == journal.files() == journal.deleted() == []
    journal.close()


# ── transactions ──


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_transaction_that_fails_has_never_happened(journal: Journal, error: type[BaseException]) -> None:
    with journal.transaction():
        journal["a"] = "1"
    with pytest.raises(error), journal.transaction():  # noqa: PT012
        journal["a"] = "2"
        journal.cover(1, 0, 5, ())
        raise error
    assert (journal["a"], journal.intervals(1)) == ("1", [])
    with journal.transaction():
        journal["a"] = "3"
    assert journal["a"] == "3"


def test_a_transaction_in_another_one_undoes_both(journal: Journal) -> None:
    with pytest.raises(sqlite3.OperationalError), journal.transaction():  # noqa: PT012
        journal["a"] = "1"
        with journal.transaction():
            journal["a"] = "2"
    assert journal["a"] is None


def test_a_process_that_ends_in_a_transaction_leaves_what_was_committed(path: Path, tmp_path: Path) -> None:
    journal = Journal(path)
    with journal.transaction():
        journal["a"] = "1"
    with journal.transaction():
        journal["a"] = "2"
        journal.cover(1, 0, 5, ())
        shutil.copytree(tmp_path, tmp_path / "left")
    journal.close()
    journal = Journal(tmp_path / "left" / NAME)
    assert (journal["a"], journal.intervals(1)) == ("1", [])
    journal.close()
