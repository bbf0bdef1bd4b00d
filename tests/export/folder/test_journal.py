"""The journal: its transactions happen or never did, also for what is kept in memory; what a run asks it."""

import sqlite3
from pathlib import Path

import pytest

from chatrest import _storage as storage
from chatrest.export import Plan, export
from chatrest.export.folder.journal import Journal
from tests.export_runs import served
from tests.simulated_crashes import wrap_connections
from tests.stored_exports import USERS


def test_a_transaction_that_fails_has_never_happened(journal: Journal) -> None:
    with journal.transaction():
        journal["a"] = "1"
        file = journal.add_file("messages-1", "messages", "open")
        journal.add_sources(USERS)
    before = journal.files(), journal.sources()
    with pytest.raises(ValueError), journal.transaction():  # noqa: PT011, PT012
        journal["a"] = "2"
        journal.keep_file(file._replace(state="sealed"))
        journal.add_file("messages-2", "messages", "open")
        journal.set_state(1, "failed", "refused")
        journal.cover(1, 0, 5, ())
        assert (journal["a"], len(journal.files())) == ("2", 2)
        raise ValueError
    assert (journal["a"], journal.intervals(1)) == ("1", [])
    assert (journal.files(), journal.sources()) == before
    with journal.transaction():
        journal["a"] = "3"
    assert journal["a"] == "3"


def test_a_transaction_in_another_one_undoes_both_and_is_no_damage(journal: Journal) -> None:
    with pytest.raises(RuntimeError, match="begun inside of another one"), journal.transaction():  # noqa: PT012
        journal["a"] = "1"
        with journal.transaction():
            journal["a"] = "2"
    assert journal["a"] is None


async def test_a_run_for_one_message_makes_few_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []

    def traced(db: sqlite3.Connection) -> sqlite3.Connection:
        db.set_trace_callback(statements.append)
        return db

    wrap_connections(monkeypatch, storage, traced)
    async with served(40) as service:
        for _ in range(3):
            statements.clear()
            service.store.add_message("ann", "bob", text="one")
            assert (await export(service.session, tmp_path / "out", Plan(everything=True))).complete
    made = [each for each in statements if not each.startswith("--")]  # what PRAGMAs run inside
    assert 0 < len(made) < 65, made
