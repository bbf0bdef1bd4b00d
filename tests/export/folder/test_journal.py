"""The journal: its transactions happen or never did, also for what is kept in memory; what a run asks it."""

import json
import sqlite3
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from chatrest import _storage as storage
from chatrest._core.replies.rows import Row
from chatrest.export import Plan, export
from chatrest.export.folder.journal import Journal
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import Interval, ids_of
from chatrest.export.store.store_journal import StoreFile
from tests.support.export_runs import served
from tests.support.simulated_crashes import wrap_connections
from tests.support.stored_exports import MEMORY, USERS, by_hand


def test_a_transaction_that_fails_has_never_happened(journal: Journal) -> None:
    with journal.transaction():
        journal["a"] = "1"
        file = journal.note_file(StoreFile(0, "messages-1", "messages", "open", 0))
        journal.add_sources(USERS)
    before = journal.files(), journal.sources()
    with pytest.raises(ValueError), journal.transaction():  # noqa: PT011, PT012
        journal["a"] = "2"
        journal.note_file(file._replace(state="sealed"))
        journal.note_file(StoreFile(0, "messages-2", "messages", "open", 0))
        journal.set_state(1, "failed", "refused")
        journal.note_covered(1, [Interval(1, 5)])
        assert (journal["a"], len(journal.files())) == ("2", 2)
        raise ValueError
    assert (journal["a"], journal.intervals(1)) == ("1", [])
    assert (journal.files(), journal.sources()) == before
    with journal.transaction():
        journal["a"] = "3"
    assert journal["a"] == "3"


def test_another_thread_sees_no_rows_that_may_be_rolled_back(journal: Journal) -> None:
    results = list[list[StoreFile]]()
    reader = Thread(target=lambda: results.append(journal.files()))
    with pytest.raises(ValueError), journal.transaction():  # noqa: PT011, PT012
        journal.note_file(StoreFile(0, "messages-1", "messages", "open", 0))
        assert len(journal.files()) == 1
        reader.start()
        reader.join(0.05)
        raise ValueError
    reader.join()
    assert results == [[]]


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
    assert 0 < len(made) < 68, made


def test_a_listed_source_is_no_longer_deleted_but_may_still_be_failed(journal: Journal) -> None:
    journal.add_sources(USERS)
    journal.set_state(1, "deleted_user", "no such user")
    journal.set_state(2, "failed", "refused")
    assert [known.state for known in journal.sources()] == ["deleted_user", "failed", "open"]
    assert journal.sources()[0].error == "no such user"
    journal.add_sources(USERS)
    assert [known.state for known in journal.sources()] == ["open", "failed", "open"]
    journal.set_state(2, "open")
    assert journal.sources()[1].error is None


pages = st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 6)), max_size=12)


@given(pages)
@example([(0, 6), (0, 3)])
@example([(0, 2), (2, 2), (2, 1)])
def test_covered_ids_stay_covered_in_any_order_of_pages(pages: list[tuple[int, int]]) -> None:
    journal, model, places = Journal(MEMORY, {}), set[int](), dict[int, set[Any]]()
    for count, (after, more) in enumerate(pages):
        last, at = after + more, (("id", str(after + more)), ("n", str(count)))
        journal.note_covered(1, [Interval(after + 1, last, at)])
        model.update(range(after + 1, last + 1))
        if more > 0:
            places.setdefault(last, set()).add(at)
        spans = journal.intervals(1)
        assert {each for span in spans for each in range(span.first, span.last + 1)} == model
        assert all(span.last + 1 < following.first for span, following in pairwise(spans))
        assert all(span.position in places[span.last] for span in spans)
    assert journal.intervals(2) == []
    journal.close()


@pytest.mark.parametrize("at", ["", "{", "null", "5", '"x"', "[[1,2]]", '[["id"]]', '{"id":"5"}', "[" * 9999])
def test_an_edited_position_of_a_journal_is_not_used(path: Path, at: str) -> None:
    Journal(path, {}).close()
    by_hand(path, f"INSERT INTO covered VALUES(1, 1, 5, '{at}'), (1, 9, 9, '[[\"id\",\"9\"]]')")
    by_hand(path, f"INSERT INTO rechecks VALUES(1, 0, 5, 9, '{at}')")
    journal = Journal(path, {})
    assert journal.intervals(1) == [Interval(1, 5), Interval(9, 9, (("id", "9"),))]
    assert journal.rechecks.all() == {1: (0, 5, 9, ())}
    journal.note_covered(1, [Interval(6, 8)])
    assert journal.intervals(1) == [Interval(1, 9, (("id", "9"),))]
    journal.close()


def test_a_recheck_continues_until_done(journal: Journal) -> None:
    journal.rechecks.begin(1, 100, 50)
    journal.rechecks.begin(2, 100, 50)
    journal.rechecks.note(1, 30, (("id", "30"),))
    journal.rechecks.begin(1, 999, 999)
    assert journal.rechecks.all() == {1: (100, 30, 50, (("id", "30"),)), 2: (100, 0, 50, ())}
    journal.rechecks.note(1, 50, ())
    assert [number for number, recheck in journal.rechecks.all().items() if recheck.is_done] == [1]
    journal.rechecks.note_shown(1, IdSet([7, 8]))
    journal.rechecks.note_shown(2, IdSet([9]))
    journal.rechecks.begin(1, 999, 999)
    assert journal.rechecks.all()[1] == (999, 0, 999, ())
    assert list(journal.rechecks.shown()) == [9], "what the source showed before is not of this recheck"
    journal.rechecks.end()
    assert not journal.rechecks.all()
    assert not journal.rechecks.shown()


def test_changed_messages_wait_with_their_newest_bytes_until_they_are_applied(journal: Journal) -> None:
    def row(id: str, text: str) -> Row:
        return Row(id, line=json.dumps({"id": id, "text": text}).encode())

    journal.pending_changes.note([row("7", "old"), row("m-1", "x")])
    journal.pending_changes.note([row("7", "new"), row("9", "y")])
    waiting = [bytes(each.raw) for each in journal.pending_changes.rows()]
    assert waiting == [bytes(each.raw) for each in (row("m-1", "x"), row("7", "new"), row("9", "y"))]
    assert len(journal.pending_changes.rows(2)) == 2
    journal.pending_changes.forget(["m-1", "7", "nobody"])
    assert [bytes(each.raw) for each in journal.pending_changes.rows()] == [bytes(row("9", "y").raw)]


def test_deleted_ids_are_listed_once_and_in_order(journal: Journal) -> None:
    journal.news.mark_deleted(1, [9, 2**63 - 2, 7], 1000, missing=False, news=IdSet())
    journal.news.mark_deleted(2, [7, 8], 2000, missing=False, news=IdSet())
    journal.news.mark_deleted(2, [], 3000, missing=False, news=IdSet())
    name = next(iter(journal.assign_numbers(ids_of([Row("m-1")])).names))
    journal.news.mark_deleted(2, [5, name], 4000, missing=True, news=IdSet())
    assert [(each.id, each.missing) for each in journal.news.deleted()] == [
        ("m-1", True), ("5", True), ("7", False), ("8", False), ("9", False), (str(2**63 - 2), False),
    ]  # fmt: skip
    journal.news.undelete([7, name])
    assert [each.id for each in journal.news.deleted()] == ["5", "8", "9", str(2**63 - 2)]
