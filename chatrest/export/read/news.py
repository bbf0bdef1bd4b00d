"""The news of an export since a run: the ids that are new, changed or deleted, by run, and their records.

The journal has the ids, the export's files have the records, and its history has older versions of them.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeAlias

from ..._core.replies.rows import Row, row_of
from ..folder.folder_state import FolderState, read_consistently
from ..folder.journal import Journal
from ..formats.stored_records import damage_error, record_batches
from ..plan.file_names import HISTORY, STEM
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from ..store.stored_files import files_now
from .exports import Position, PositionError, open_exports, position_of, runs_of
from .folder_view import FolderView, MessageFile, from_each

ChangeKind: TypeAlias = Literal["new", "changed", "deleted"]
_KINDS: Final[tuple[ChangeKind, ...]] = ("new", "changed", "deleted")
_ADD_VERSION: Final = "INSERT INTO versions(id, raw) VALUES(?, ?)"


class News(NamedTuple):
    run: int
    kind: ChangeKind
    ids: IdSet


class NewsBatch(NamedTuple):
    """Records of one kind: of a deleted message the last one, else the current one."""

    view: FolderView
    """The export that has them."""
    kind: ChangeKind
    raws: list[bytes]


class ExportNews:
    """The news of all exports at a path or address, which are open until the block of this object ends."""

    def __init__(self, out: object, after: Position) -> None:
        with ExitStack() as stack:
            views = [stack.enter_context(view) for view in open_exports(out)]
            runs = runs_of(after, [view.export for view in views])
            self.exports: Final = [
                read_consistently(view.folder, lambda state: _read_journal(view, state, runs[view.export]))  # noqa: B023
                for view in views
            ]
            self._open = stack.pop_all()
        self.run: Final = position_of({each.view.export: each.run for each in self.exports})
        """The newest run of each whose news are given."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _read_journal(view: FolderView, state: FolderState, after: int) -> "JournalNews":
    journal = _journal(view, state)
    if after > journal.run:
        raise PositionError(
            f"after = {after}: expected a run of '{view.name}', whose newest one is {journal.run}, or the "
            "position is one of another export",
            name="after",
        )
    last_run = max(after, journal.run - 1) if state.is_in_use else journal.run
    noted = [*journal.news.all(), (journal.run, "new", journal.news.pending())]
    groups = groupby((each for each in noted if each[0] <= last_run), itemgetter(0, 1))
    events = [(run, kind, IdSet.union(ids for _, _, ids in group)) for (run, kind), group in groups]
    reported = sorted(_reported(events, after), key=lambda each: (each.run, _KINDS.index(each.kind)))
    news = [each for each in reported if each.ids]
    changed = defaultdict[int, IdSet](IdSet)
    for run, kind, ids in events:
        if run > after and kind == "changed":
            changed[run].update(ids)
    keys = journal.keys_of(IdSet.union([*changed.values(), *(each.ids for each in news)]))
    return JournalNews(
        view, news, {key: number for number, key in keys.items()}, _files(view.folder, journal, STEM),
        _files(view.folder, journal, HISTORY), list(changed.values()), last_run, journal["app"] or "",
    )  # fmt: skip


def _journal(view: FolderView, state: FolderState) -> Journal:
    if state.journal is None:
        raise view.without_journal(
            state, "only the journal knows which messages are new; with a new journal all of them are"
        )
    return state.journal


def _reported(events: list[tuple[int, str, IdSet]], after: int) -> Iterator[News]:
    """Yield by run and kind the ids that are reported, as the table of `changes` says.

    An event is a run, a kind of news as in the journal, and the ids.
    """
    nothing = IdSet()
    deleted_before = deleted_now = added = changed = reported = nothing
    by_run: dict[int, IdSet] = {}
    for run, kind, ids in events:
        if kind == "deleted":
            deleted_now = deleted_now | ids
        elif kind == "restored":
            deleted_now = deleted_now - ids
        if run <= after:
            deleted_before = deleted_now
            continue
        by_run[run] = by_run.get(run, nothing) | ids
        added = added | ids if kind == "new" else added
        changed = changed | ids if kind == "changed" else changed
    for run, ids in by_run.items():
        first, reported = ids - reported, reported | ids
        new = (first & (added | deleted_before)) - deleted_now
        yield News(run, "new", new)
        yield News(run, "changed", (first & changed) - new - deleted_now)
        yield News(run, "deleted", (first & deleted_now) - deleted_before)


def _files(folder: Path, journal: Journal, kind: str) -> list[MessageFile]:
    return [
        MessageFile(
            path, name, journal.ids_in([file]), file.size,
            rows=sum(block.rows for block in journal.blocks(file.number)),
        )
        for file, path, name in files_now(folder, journal, kind)
    ]  # fmt: skip


class JournalNews(NamedTuple):
    """The news of one export."""

    view: FolderView
    news: list[News]
    numbers: dict[str, int]
    """The numbers by which the sets have ids that are texts."""
    files: list[MessageFile]
    history: list[MessageFile]
    changed: list[IdSet]
    """The ids of messages that have changed, for each run that is reported."""
    run: int
    """The newest run whose changes are given."""
    app_id: str

    def replaced_since(self, key: str, older: list[bytes]) -> list[bytes]:
        """Return which of the `older` versions of a message were replaced after that run, oldest first."""
        message_id = self._id_of(key)
        count = sum(message_id in ids for ids in self.changed) if older else 0
        return older[max(0, len(older) - count) :]

    def _id_of(self, key: str) -> int:
        """Return the number of a message in the sets; 0 if it is in none of them."""
        return number(key) or self.numbers.get(key, 0)

    def batches(self, selected: list[News]) -> Iterator[NewsBatch]:
        """Yield the records of these news in the order of the files; each file is read once."""
        ids = IdSet.union(news.ids for news in selected)

        def files_with(ids: IdSet, files: list[MessageFile] | None = None) -> list[MessageFile]:
            if files is None:
                folder = self.view.folder
                files = read_consistently(
                    folder, lambda state: _files(folder, _journal(self.view, state), STEM)
                )
            return [each._replace(ids=in_file) for each in files if (in_file := each.ids & ids)]

        def records(file: MessageFile) -> Iterator[NewsBatch]:
            wanted = dict[ChangeKind, IdSet]()
            for news in selected:
                wanted.setdefault(news.kind, IdSet()).update(file.ids & news.ids)
            largest = max(wanted, key=lambda kind: len(wanted[kind]))
            if len(wanted[largest]) == file.rows:  # usual: the whole file is of one kind
                for raws in record_batches(file.path, file.name, file.size):
                    yield NewsBatch(self.view, largest, raws)
                return
            for rows in self._rows(file, file.ids):
                for kind, wanted_ids in wanted.items():
                    if raws := [row.raw for row in rows if self._id_of(key_of(row)) in wanted_ids]:
                        yield NewsBatch(self.view, kind, raws)

        return from_each(self.view, files_with(ids, self.files), files_with, records)

    def _rows(self, file: MessageFile, ids: IdSet) -> Iterator[list[Row]]:
        for raws in record_batches(file.path, file.name, file.size):
            if chosen := [row for row in map(row_of, raws) if self._id_of(key_of(row)) in ids]:
                yield chosen

    @contextmanager
    def loaded_versions(self, ids: IdSet) -> Iterator[sqlite3.Connection]:
        """Give a private database with the older versions of these messages, numbered in their order."""
        with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as versions:
            versions.executescript(
                "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
                "CREATE TABLE versions(version INTEGER PRIMARY KEY, id TEXT NOT NULL, raw BLOB NOT NULL)"
            )
            for file in self.history if ids else ():
                with self.view.file(file.name):
                    try:
                        for rows in self._rows(file, ids):
                            versions.executemany(_ADD_VERSION, [(key_of(row), row.raw) for row in rows])
                    except FileNotFoundError:
                        raise damage_error(
                            file.path, "a run has replaced it while it was read: read the changes again"
                        ) from None
            versions.execute("CREATE INDEX versions_of_id ON versions(id)")
            versions.execute("COMMIT")
            yield versions

    def versions(self) -> Iterator[list[bytes]]:
        """Yield the versions of each changed message that were replaced after that run."""
        with self.loaded_versions(IdSet.union(self.changed)) as versions:
            rows = versions.execute("SELECT id, raw FROM versions ORDER BY id, version")
            for key, group in groupby(rows, itemgetter(0)):
                yield self.replaced_since(key, [raw for _, raw in group])
