"""An export on the disk that no service was needed for: its sink, its journal and its manifest."""

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Self

from chatrest.core.replies.rows import row_of
from chatrest.export import run_manifest
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.journal import NAME, Journal
from chatrest.export.plan import Plan
from chatrest.export.report import Report
from chatrest.export.sink import sink_of
from chatrest.export.workspace import Workspace

START: Final = 1_600_000_000
DAY: Final = 86_400


class UnsyncedDisk(Disk):
    """A disk without syncs: no power is lost in tests."""

    def sync(self, file: int) -> None:
        """Leave it to the system."""


def record(number: int, *, sent_at: int | None = None, text: str = "", **members: Any) -> bytes:
    """Return a message from ann to bob; by default they are sent an hour after one another."""
    made = {
        "id": str(number), "conversationId": "ann_user_bob", "sender": "ann", "receiver": "bob",
        "receiverType": "user", "category": "message", "type": "text",
        "data": {"text": text or f"message {number}"},
        "sentAt": START + number * 3600 if sent_at is None else sent_at, "updatedAt": START,
    }  # fmt: skip
    return json.dumps(made | members).encode()


class StoredExport:
    """An export that is being written to `folder`; used with `with`, at whose end its journal is closed."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.plan = folder, plan
        disk = UnsyncedDisk()
        self.files = OpenFiles(disk)
        self.journal = Journal(folder / NAME, {"app": "app-1", "plan": plan.encoded().decode()})
        self.journal["generation"] = "1-test"
        self.sink = sink_of(plan, Workspace(folder, self.journal, disk, self.files))
        with self.journal.transaction():
            self.journal.add_sources(plan.sources)
            self.sink.recover()
        self._archive: Any = SimpleNamespace(
            folder=folder, plan=plan, journal=self.journal, sink=self.sink, disk=disk
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as stack:
            for each in (self.journal, self.files, self.sink):
                stack.callback(each.close)

    def commit(self, pages: Mapping[str, Iterable[bytes]]) -> None:
        """Write records, by the name of the source, such as `user ann`."""
        sources = {str(each.source): each for each in self.journal.sources()}
        with self.journal.transaction():
            for name, raws in pages.items():
                source = sources[name]
                self.sink.add(source.number, source.source, [row_of(raw) for raw in raws])
            self.sink.flush()
        self.sink.maintain()

    def begin_manifest(self) -> None:
        """Write the manifest of a run that is under way."""
        run_manifest.write_unfinished(self._archive, START, "it is being written")

    def finish(self) -> None:
        """Put everything in its final place, and write the manifest of a finished run."""
        self.sink.finish()
        report = Report(complete=True, started=START, finished=START + 60)
        report.messages = sum(self.sink.counts().values())
        run_manifest.write_finished(self._archive, report)
