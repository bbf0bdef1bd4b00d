"""The new, changed and deleted messages of an export since a run.

The journal knows by run which ids are news; the records are in the export's files, older versions in its
history. So the result is the difference of two states: the export at the end of a run, and now.

| since the run, a message                  | kind       | before             | after         |
|-------------------------------------------|------------|--------------------|---------------|
| was added, and may have changed since     | `new`      |                    | current       |
| was shown again, after it was deleted     | `new`      |                    | current       |
| has changed, once or more                 | `changed`  | version then       | current       |
| was deleted by its author                 | `deleted`  | version then       |               |
| is not shown any more by any list         | `deleted`  | last stored        |               |
| was added, and was deleted                | `deleted`  | last stored        |               |
| changed and back, or deleted and restored | not at all |                    |               |

A message that its author deleted is still shown by the lists, as a record with `deletedAt`, without content.
It is reported in the first of these runs. So the position of a reader is not the run of the last change, but
`ExportChanges.run`: the newest run of the result, valid once all of it has been read.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeAlias, final

import msgspec
from msgspec import Struct

from ..._core.replies.one_record import parse
from ..._core.replies.rows import Row, row_of
from ..._models.messages import Message
from ..._storage import sql_in
from ..folder.folder_state import FolderState, read_consistently
from ..folder.journal import Journal
from ..formats.action_records import is_deleted
from ..formats.stored_records import damage_error, record_batches
from ..plan.file_names import HISTORY, STEM
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from ..store.inspection import files_now
from .exports import Position, PositionError, open_exports, position_of, runs_of
from .folder_view import FolderView, MessageFile, from_each

ChangeKind: TypeAlias = Literal["new", "changed", "deleted"]
DeletionReason: TypeAlias = Literal["by_author", "not_shown"]
_Event: TypeAlias = tuple[int, str, IdSet]
"""A run, a kind of news as in the journal, and the ids."""
_KINDS: Final[tuple[ChangeKind, ...]] = ("new", "changed", "deleted")
_RUN_KIND: Final = itemgetter(0, 1)
_ADD_VERSION: Final = "INSERT INTO versions(id, raw) VALUES(?, ?)"
_SELECT_VERSIONS: Final = "SELECT version, id, CAST(raw AS BLOB) FROM versions WHERE id IN"


class ExportChange(Struct, frozen=True):
    """A message that is new, has changed, or is deleted."""

    run: int
    """The number of the run that found it: of several runs the first one."""
    kind: ChangeKind
    id: str
    raw_before: bytes | None
    """The record as it was, a line of JSON as the service sent it; None for a new message."""
    raw_after: bytes | None
    """The record as it is now; None for a deleted message."""
    reason: DeletionReason | None = None
    """Of a deleted message: its author (or a moderator) deleted it, or no list shows it any more."""
    part: str = ""
    """In a folder of exports the name of the one that has it, such as `part=03`, whose run `run` is."""

    @property
    def before(self) -> Message | None:
        """The earlier message; None if it is new."""
        return None if self.raw_before is None else parse(Message, self.raw_before)

    @property
    def after(self) -> Message | None:
        """The current message; None if it is deleted."""
        return None if self.raw_after is None else parse(Message, self.raw_after)

    def to_json(self) -> bytes:
        """Return it as JSON: `run`, `kind`, `id`, `reason`, and the records `before` and `after`, or null.

        Of a folder of exports it has the `part`, too.
        """
        members = (msgspec.json.encode(each) for each in (self.run, self.kind, self.id, self.reason))
        records = (b"null" if each is None else each for each in (self.raw_before, self.raw_after))
        part = b'"part":%b,' % msgspec.json.encode(self.part) if self.part else b""
        text = b'"run":%b,"kind":%b,"id":%b,"reason":%b,"before":%b,"after":%b' % (*members, *records)
        return b"{%b%b}" % (part, text)


@final
class ExportChanges(Iterator[ExportChange]):
    """An iterator over what is new, changed or deleted; see `changes`."""

    def __init__(self, changes: Iterator[ExportChange], run: Position) -> None:
        self._changes = changes
        self.run: Final = run
        """The newest run when the export was opened: after you have read all changes, continue with
        `after=run`. For a folder of exports it is a text, with the newest run of each."""

    def __next__(self) -> ExportChange:
        return next(self._changes)


def changes(out: str | PathLike[str], *, after: Position = 0) -> ExportChanges:
    """Return an iterator over what is new, changed or deleted since the run `after`, by run and kind.

    `out` is a folder, or the address of an object store. The number of a run is in its `Report`, and in
    `runs(out)`; a run that was killed has a number, too. With 0 all messages are new. After a loss of the
    journal, all messages are new in the next run. In a folder of exports, changes are ordered by export, and
    `after` is 0 or the `run` of an earlier result: a text with the run of each export. In an export that is
    not in that text, all messages are new.

    The next call continues with `after=result.run`, if all of the result was read. Each message is given
    once: with the oldest `before` since then, and the newest `after`. The changes of a run are given when it
    has ended, and those of a killed run when the next one has ended.

    Not a coroutine: it reads a disk, and blocks. It reads each file once for each run and kind that has
    messages in it. Memory is needed for sets of ids, and for each id that is a text. Nothing is changed.

    Raises `RequestInvalidError` at once for a wrong argument, and for a folder that is not an export;
    `ChatRestError` if the journal is damaged or lost, and during iteration if a file is damaged.
    """
    news = ExportNews(out, after)
    return ExportChanges(news.changes(), news.run)


class _News(NamedTuple):
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
    """All that `changes` reports, by run and kind, or in any order: then each file is read once."""

    def __init__(self, out: object, after: Position) -> None:
        with ExitStack() as stack:
            self.views: Final = [stack.enter_context(view) for view in open_exports(out)]
            """The exports, in the order of the batches: open until the block of this object ends."""
            runs = runs_of(after, [view.export for view in self.views])
            self._each = [
                read_consistently(view.folder, lambda state: _read_journal(view, state, runs[view.export]))  # noqa: B023
                for view in self.views
            ]
            self._open = stack.pop_all()
        self.runs: Final = {each.view.export: each.run for each in self._each}
        """The newest run of each whose changes are given, by its name in the folder of exports."""
        self.run: Final = position_of(self.runs)
        self.app_ids: Final = {each.view.export: each.app_id for each in self._each}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def changes(self) -> Iterator[ExportChange]:
        """Yield each change, by export, run and kind; the exports are closed afterwards."""
        with self:
            for stored in self._each:
                yield from stored.changes()

    def batches(self) -> Iterator[NewsBatch]:
        """Yield the records of all changes, in the order of the files."""
        for stored in self._each:
            yield from stored.batches(stored.news)

    def versions(self) -> Iterator[tuple[FolderView, Iterator[list[bytes]]]]:
        """Yield each export with the versions of each changed message that were replaced after that run."""
        return ((each.view, each.versions()) for each in self._each)


# ── the journal of one export ──


def _read_journal(view: FolderView, state: FolderState, after: int) -> "_JournalNews":
    journal = _journal(view, state)
    if after > journal.run:
        raise PositionError(
            f"after = {after}: expected a run of '{view.name}', whose newest one is {journal.run}, or the "
            "position is one of another export",
            name="after",
        )
    last_run = max(after, journal.run - 1) if state.is_in_use else journal.run
    noted = [*journal.news(), (journal.run, "new", journal.pending_news())]
    groups = groupby((each for each in noted if each[0] <= last_run), _RUN_KIND)
    events: list[_Event] = [
        (run, kind, IdSet.union(ids for _, _, ids in group)) for (run, kind), group in groups
    ]
    reported = sorted(_reported(events, after), key=lambda each: (each.run, _KINDS.index(each.kind)))
    news = [each for each in reported if each.ids]
    changed = defaultdict[int, IdSet](IdSet)
    for run, kind, ids in events:
        if run > after and kind == "changed":
            changed[run].update(ids)
    keys = journal.keys_of(IdSet.union([*changed.values(), *(each.ids for each in news)]))
    return _JournalNews(
        view, news, {key: number for number, key in keys.items()}, _files(view.folder, journal, STEM),
        _files(view.folder, journal, HISTORY), list(changed.values()), last_run, journal["app"] or "",
    )  # fmt: skip


def _journal(view: FolderView, state: FolderState) -> Journal:
    if state.journal is None:
        raise view.without_journal(
            state, "only the journal knows which messages are new; with a new journal all of them are"
        )
    return state.journal


def _reported(events: list[_Event], after: int) -> Iterator[_News]:
    """Yield by run and kind the ids that are reported; see the table above."""
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
        yield _News(run, "new", new)
        yield _News(run, "changed", (first & changed) - new - deleted_now)
        yield _News(run, "deleted", (first & deleted_now) - deleted_before)


def _files(folder: Path, journal: Journal, kind: str) -> list[MessageFile]:
    return [
        MessageFile(
            path, name, journal.ids_in([file]), file.size,
            rows=sum(block.rows for block in journal.blocks(file.number)),
        )
        for file, path, name in files_now(folder, journal, kind)
    ]  # fmt: skip


class _JournalNews(NamedTuple):
    view: FolderView
    news: list[_News]
    numbers: dict[str, int]
    """The numbers by which the sets have ids that are texts."""
    files: list[MessageFile]
    history: list[MessageFile]
    changed: list[IdSet]
    """The ids of messages that have changed, for each run that is reported."""
    run: int
    """The newest run whose changes are given."""
    app_id: str

    def changes(self) -> Iterator[ExportChange]:
        changed = IdSet.union(news.ids for news in self.news if news.kind == "changed")
        with self._loaded_versions(changed) as versions:
            for news in self.news:
                for batch in self.batches([news]):
                    rows = list(map(row_of, batch.raws))
                    older = defaultdict[str, list[bytes]](list)
                    if news.kind == "changed":
                        for _, key, raw in sorted(sql_in(versions, _SELECT_VERSIONS, map(key_of, rows))):
                            older[key].append(raw)
                    for row in rows:
                        yield from self._change(news, row, older[key_of(row)])

    def _change(self, news: _News, row: Row, older: list[bytes]) -> Iterator[ExportChange]:
        key, is_by_author, part = key_of(row), is_deleted(row.raw), self.view.export
        before = None if news.kind == "new" else row.raw
        was_deleted = False
        if news.kind == "changed":
            replaced = self._replaced_since(key, older)
            before = replaced[0] if replaced else None  # the history may have lost it
            if before == row.raw:
                return
            was_deleted = before is not None and is_deleted(before)
        if is_by_author or news.kind == "deleted":
            reason: DeletionReason = "by_author" if is_by_author else "not_shown"
            if not was_deleted:
                yield ExportChange(news.run, "deleted", key, before or row.raw, None, reason, part)
        elif news.kind == "new" or was_deleted:
            yield ExportChange(news.run, "new", key, None, row.raw, part=part)
        else:
            yield ExportChange(news.run, "changed", key, before, row.raw, part=part)

    def _replaced_since(self, key: str, older: list[bytes]) -> list[bytes]:
        """Return the versions of a message that were replaced after the run `after`, oldest first."""
        message = self._id_of(key)
        count = sum(message in ids for ids in self.changed)
        return older[max(0, len(older) - count) :]

    def _id_of(self, key: str) -> int:
        """Return the number of a message in the sets; 0 if it is in none of them."""
        return number(key) or self.numbers.get(key, 0)

    def batches(self, selected: list[_News]) -> Iterator[NewsBatch]:
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
    def _loaded_versions(self, ids: IdSet) -> Iterator[sqlite3.Connection]:
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
        with self._loaded_versions(IdSet.union(self.changed)) as versions:
            rows = versions.execute("SELECT id, raw FROM versions ORDER BY id, version")
            for key, group in groupby(rows, itemgetter(0)):
                yield self._replaced_since(key, [raw for _, raw in group])
