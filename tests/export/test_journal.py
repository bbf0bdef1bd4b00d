"""The journal: whose it is, and that its transactions happen or have never happened."""

from pathlib import Path

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.export.journal import NAME, Journal, UnreadableError
from tests.journals import by_hand

# ── whose it is ──


def test_what_was_noted_is_there_when_it_is_opened_again(path: Path) -> None:
    journal = Journal(path, {})
    assert journal["plan"] is None
    journal["plan"] = "{}"
    journal["plan"] = '{"é": 1}'
    journal.close()
    journal = Journal(path, {})
    assert (journal["plan"], journal["app"], journal.path) == ('{"é": 1}', None, path)
    journal.close()
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_journal_that_is_in_use_is_refused_in_words_and_free_when_that_ends(path: Path) -> None:
    journal = Journal(path, {})
    for _ in range(2):
        with pytest.raises(RequestInvalidError, match="another export is writing here") as caught:
            Journal(path, {})
        assert str(path) in str(caught.value)
    journal["still"] = "mine"
    journal.close()
    journal = Journal(path, {})
    assert journal["still"] == "mine"
    journal.close()


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
        Journal(path, {})
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_journal_of_an_older_version_is_refused_with_what_to_do(path: Path) -> None:
    by_hand(path, "CREATE TABLE meta(name)", "PRAGMA user_version=1")
    with pytest.raises(RequestInvalidError, match="export into another folder; what is in it stays"):
        Journal(path, {})


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
    with pytest.raises(UnreadableError, match="within a transaction"), journal.transaction():  # noqa: PT012
        journal["a"] = "1"
        with journal.transaction():
            journal["a"] = "2"
    assert journal["a"] is None
