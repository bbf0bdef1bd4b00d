"""A run that waits for its publications, on a machine of any speed."""

import threading
from collections.abc import Callable, Iterable

import pytest

from chatrest.export.fetch import backlog
from chatrest.export.folder.export_folder import CommitStats, ExportFolder, FetchedPage


class Publications:
    """From now on each commit has one page, and returns after two more calls of `note`, or of `end`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._noted, self._is_over, self._changed = 0, False, threading.Condition()
        commit = ExportFolder.commit

        def commit_and_wait(
            folder: ExportFolder, pages: Iterable[FetchedPage], note: Callable[[], object]
        ) -> CommitStats:
            stats = commit(folder, pages, note)
            with self._changed:
                number = self._noted
                assert self._changed.wait_for(lambda: self._is_over or self._noted > number + 1, timeout=120)
            return stats

        monkeypatch.setattr(backlog, "MOST", 1)
        monkeypatch.setattr(ExportFolder, "commit", commit_and_wait)

    def note(self) -> None:
        """Say that a publication is over, or begins."""
        with self._changed:
            self._noted += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let no commit wait any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
