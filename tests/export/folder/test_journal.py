"""The journal: whose it is, and that its transactions happen or have never happened."""

from pathlib import Path

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.export.folder.journal import NAME, Journal
from tests.journals import by_hand

# ── whose it is ──


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


def test_a_transaction_in_another_one_undoes_both_and_is_no_damage(journal: Journal) -> None:
    with pytest.raises(RuntimeError, match="begun inside of another one"), journal.transaction():  # noqa: PT012
        journal["a"] = "1"
        with journal.transaction():
            journal["a"] = "2"
    assert journal["a"] is None
