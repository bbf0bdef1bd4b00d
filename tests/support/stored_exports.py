"""An export on the disk that no service was needed for: its folder and its manifest."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from chatrest._core.replies.rows import Row, row_of
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.fetched_page import FetchedPage, SourceRows
from chatrest.export.folder.manifest import write_unfinished
from chatrest.export.folder.run_log import append_run
from chatrest.export.plan.export_plan import Plan
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import PageIds, ids_of
from chatrest.export.plan.ownership import Source
from chatrest.export.plan.parts import NAME as PARTS, Parts
from chatrest.export.plan.report import Report
from chatrest.export.store.disk import Disk

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
        self.folder, self.plan = folder, plan
        self.export = ExportFolder(folder, plan, app_id="app-1", disk=UnsyncedDisk())
        self.journal = self.export.journal
        with self.journal.transaction():
            self.journal.add_sources(plan.sources)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.export.close()

    def commit(self, pages: Mapping[str, Iterable[bytes]]) -> None:
        """Write records, by the name of the source, such as `user ann`."""
        sources = {str(each.source): each.source for each in self.journal.sources()}
        self.write({sources[name]: list(map(row_of, raws)) for name, raws in pages.items()})

    def write(self, pages: Mapping[Source, list[Row]]) -> None:
        self.export.commit(
            FetchedPage(
                number=self.journal.source_number(source.key), source=source, seen=PageIds(IdSet(), {}),
                rows=[SourceRows(source, rows, ids_of(rows))],
            )
            for source, rows in pages.items()
        )  # fmt: skip

    def ids(self, keys: Iterable[int | str]) -> IdSet:
        """Return the ids of messages that are in it, by their texts."""
        return IdSet(self.journal.ids_by_key(map(str, keys)).values())

    def begin_manifest(self) -> None:
        disk, plan = self.export.disk, self.export.stored_plan
        write_unfinished(self.folder, disk, self.journal, plan, START)

    def finish(self) -> None:
        self.export.finish()
        report = Report(complete=True, started=START, finished=START + 60)
        report.messages = sum(self.export.counts().values())
        self.export.note_finished(report)


class StoredRuns:
    """Runs of an export by hand; those that end are in its log."""

    def __init__(self, folder: Path, user: str = "ann", **shape: Any) -> None:
        self.folder, self.source, self.plan = folder, f"user {user}", Plan(users=[user], **shape)

    def run(
        self,
        new: Iterable[bytes] = (),
        *,
        changed: Iterable[bytes] = (),
        deleted: Iterable[int | str] = (),
        restored: Iterable[int | str] = (),
        is_killed: bool = False,
    ) -> int:
        with StoredExport(self.folder, self.plan) as stored:
            stored.begin_manifest()
            if new := list(new):
                stored.commit({self.source: new})
            with stored.journal.transaction():
                stored.journal.pending_changes.note(map(row_of, changed))
                stored.journal.news.undelete(stored.ids(restored))
            stored.export.note_deleted(1, stored.ids(deleted), 7)
            if not is_killed:
                stored.finish()
                report = Report(run=stored.journal.run, started=START, finished=START + stored.journal.run)
                report.messages = sum(stored.export.counts().values())
                append_run(stored.export.disk, self.folder, report)
            return stored.journal.run


class StoredParts:
    """An export of parts by hand: part n has the messages with ids of that remainder, of a user."""

    def __init__(self, folder: Path, count: int = 3, *, begun: int | None = None, **shape: Any) -> None:
        self.folder, self.users = folder, [f"u{number}" for number in range(count)]
        self.parts = Parts(parts=count, app_id="app-1", plan=Plan(users=self.users, **shape))
        folder.mkdir(parents=True)
        (folder / PARTS).write_bytes(self.parts.encoded())
        names = zip(self.parts.names, self.users, strict=True)
        self.each = [StoredRuns(folder / name, user, **shape) for name, user in names][:begun]

    def run(self, numbers: Iterable[int], **members: Any) -> list[int]:
        """Run each part that has begun, with those of the messages that are its own."""
        new, count = list(numbers), self.parts.parts
        return [
            each.run([record(n, **members) for n in new if n % count == place])
            for place, each in enumerate(self.each)
        ]


MEMORY = Path(":memory:")
USERS = [Source("user", (name,)) for name in "abc"]


def by_hand(path: Path, *statements: str) -> list[Any]:
    """Execute SQL statements on the file while no export runs; return the rows of the last one."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return [db.execute(statement).fetchall() for statement in statements][-1]
    finally:
        db.close()
