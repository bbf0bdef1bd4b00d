"""The database sink's commits: what others see of them, and that none is lost or doubled by a death."""

import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings, strategies as st

from chatrest.core.replies.rows import Row
from chatrest.export.message_ids import key_of
from tests.databases import ALICE, ALL, Export, found, page, record, some


def test_what_was_added_is_seen_by_others_only_when_it_is_flushed(opened: Export) -> None:
    opened.commit(some(1))
    with opened.journal.transaction():
        opened.sink.add(1, ALL, some(11))
        assert opened.ask("SELECT count(*) FROM messages") == [(10,)]
        opened.sink.flush()
        assert opened.ask("SELECT count(*) FROM messages") == [(20,)]


def test_forgetting_rolls_back_what_was_not_flushed(opened: Export) -> None:
    opened.commit(some(1))
    opened.add(some(11))
    opened.add(some(1, type="changed"), ALICE)
    opened.sink.rollback()
    assert opened.sink.counts() == {1: 10}
    assert opened.ask("SELECT count(*) FROM versions") == [(0,)]
    opened.sink.rollback()
    assert opened.commit(some(11)) == 10


def test_closing_commits_nothing(out: Path) -> None:
    with Export(out) as opened:
        opened.add(some(1))
    with Export(out) as opened:
        assert opened.unknown() == []
        assert opened.ids() == []


def test_a_death_between_the_two_commits_does_no_harm(out: Path) -> None:
    with Export(out) as opened:
        opened.commit(some(1))
        opened.tear(some(11))
        opened.sink.rollback()
        assert opened.sink.counts() == {1: 20}
    with Export(out) as opened:
        assert opened.unknown() == []
        assert opened.commit(some(11)) == 0
        assert opened.commit(some(21)) == 10
        assert opened.sink.counts() == {1: 30}
    with Export(out) as opened:
        assert opened.unknown() == []
        assert len(opened.ids()) == 30


def test_each_method_from_another_thread(opened: Export) -> None:
    def elsewhere(work: Any) -> Any:
        result: list[Any] = []
        thread = threading.Thread(target=lambda: result.append(work()))
        thread.start()
        thread.join()
        return result[0]

    assert elsewhere(lambda: opened.commit(some(1))) == 10
    assert elsewhere(lambda: len(list(opened.sink.scan()))) == 10
    assert elsewhere(opened.sink.counts) == {1: 10}
    assert elsewhere(opened.sink.apply_updates) == 0
    elsewhere(opened.sink.finish)
    elsewhere(opened.sink.close)


# ── anything in any order ──

IDS = st.sampled_from(["1", "2", "003", "3", "x", None])
BATCHES = st.lists(st.tuples(IDS, st.sampled_from(["red", "blue", None])), max_size=5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["commit", "tear", "add"]), BATCHES),
        st.tuples(st.sampled_from(["finish", "reopen"]), st.just([])),
    ),
    max_size=12,
)


class Model:
    """Return the rows that the file ought to hold."""

    def __init__(self) -> None:
        self.newest: dict[str, bytes] = {}
        self.older: list[bytes] = []

    def put(self, found: list[Row]) -> None:
        for row in found:
            key, raw = key_of(row), bytes(row.raw)
            if self.newest.get(key, raw) != raw:
                self.older.append(self.newest[key])
            self.newest[key] = raw


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_any_order_of_commits_and_deaths(
    steps: list[tuple[str, list[tuple[str | None, str | None]]]],
) -> None:
    model = Model()
    with TemporaryDirectory() as folder:
        opened = Export(Path(folder))
        try:
            for step, batch in steps:
                found = page(*(record(0, text, id=key) for key, text in batch))
                if step == "reopen":
                    opened.close()
                    opened = Export(Path(folder))
                    assert opened.unknown() == []
                elif step == "finish":
                    opened.finished()
                else:
                    getattr(opened, step)(found)
                    opened.sink.rollback()
                    if step != "add":
                        model.put(found)
                check(opened, model)
        finally:
            opened.close()


def check(opened: Export, model: Model) -> None:
    assert {key_of(row): bytes(row.raw) for row, _ in opened.sink.scan()} == model.newest
    assert sum(opened.sink.counts().values()) == len(model.newest)
    assert opened.ask("SELECT CAST(raw AS BLOB) FROM versions ORDER BY version") == [
        (raw,) for raw in model.older
    ]
    red = {key for key, raw in model.newest.items() if json.loads(raw)["data"].get("text") == "red"}
    assert set(found(opened.path, "red")) == red
