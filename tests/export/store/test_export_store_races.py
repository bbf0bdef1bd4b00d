"""A publication that seals files meets transactions of the run, at each step of the seal.

Nothing is left to chance: the other thread begins its transaction at a given step, and ends it when the seal
either waits for it, or has come to its end.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chatrest import _storage as storage
from tests.support.scripted_store import differences, opened, page, texts_of
from tests.support.simulated_crashes import wrap_connections


class SpyLock:
    """A lock that reports when a thread has to wait for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.waiting = {True: threading.Event(), False: threading.Event()}
        """By whether it is the main thread that waits."""

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.waiting[threading.current_thread() is threading.main_thread()].set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Run:
    """Another thread, which has one transaction of the journal."""

    def __init__(self, journal: storage.JournalFile, spy: SpyLock) -> None:
        self._journal, self._spy = journal, spy
        self._inside, self.may_end = threading.Event(), threading.Event()
        self.errors = list[Exception]()
        self._thread = threading.Thread(target=self._work)

    def begin(self) -> None:
        """Begin, and return when it is inside of its transaction, or waits for the seal."""
        self._thread.start()
        waiting = self._spy.waiting[False]
        while not (self._inside.wait(0.001) or waiting.is_set()):
            assert self._thread.is_alive() or self._inside.is_set() or self.errors

    def end(self) -> None:
        self.may_end.set()
        self._thread.join(120)

    def _work(self) -> None:
        try:
            with self._journal.transaction():
                self._inside.set()
                while not (self.may_end.wait(0.001) or self._spy.waiting[True].is_set()):
                    pass
                self._journal["run"] = "1"  # type: ignore[index]
        except Exception as error:
            self.errors.append(error)
            self._inside.set()


class Steps:
    """The statements of the main thread; at number `at` the run begins its transaction."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0
        self.run: Run | None = None

    def step(self) -> None:
        if self.run is not None and threading.current_thread() is threading.main_thread():
            self.count += 1
            if self.count == self.at:
                self.run.begin()


class SteppedConnection:
    def __init__(self, db: sqlite3.Connection, steps: Steps) -> None:
        self._db, self._steps = db, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        self._steps.step()
        return self._db.execute(sql, *values)


@contextmanager
def stepping(at: int) -> Iterator[Steps]:
    steps = Steps(at)
    with pytest.MonkeyPatch.context() as patched:
        wrap_connections(patched, storage, lambda db: SteppedConnection(db, steps))
        yield steps


def test_a_seal_and_a_transaction_of_the_run_take_turns_at_each_step(tmp_path: Path) -> None:
    at = count = 1
    while at <= count:
        folder = tmp_path / str(at)
        with stepping(at) as steps, opened(folder, "plain") as store:
            store.commit([*page("plain", "source", 1, [1, 2]), *page("plain", "source", 2, [3])])
            spy = store.journal.lock = SpyLock()  # type: ignore[assignment]
            steps.run = run = Run(store.journal, spy)
            store.seal_all()
            steps.run = None
            run.end()
            assert run.errors == []
            assert {file.state for file in store.journal.files()} == {"sealed"}
            assert store.journal["run"] == "1"
        count = steps.count
        with opened(folder, "plain") as store:
            assert differences(store) == []
            assert texts_of(store).keys() == {"1", "2", "3"}
        at += 1
    assert count >= 10
