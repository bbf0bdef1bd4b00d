"""What is new, changed or deleted in an export since a run.

The journal knows by run which ids are news; the records are in the export's files, older versions in its
history. So the result is the difference of two states: the export at the end of a run, and as it is now.

| since the run, a message                  | is told as | before             | after         |
|-------------------------------------------|------------|--------------------|---------------|
| came, and may have changed since          | `new`      |                    | as it is now  |
| was shown again, after it was deleted     | `new`      |                    | as it is now  |
| has changed, once or more                 | `changed`  | as it was then     | as it is now  |
| was deleted in the service                | `deleted`  | as it was last stored |            |
| came, and was deleted                     | `deleted`  | as it was last stored |            |
| changed and back, or deleted and restored | not at all |                    |               |

It is reported in the first of these runs. So the position of a reader is not the run of the last change, but
`ExportChanges.run`: the newest run that is in what he has read, and only once he has read all of it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import chain, groupby, islice, product
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import msgspec
from msgspec import Struct

from ..core.replies.decode import parse
from ..core.replies.rows import Row, row_of
from ..core.requests.arguments import check
from ..errors import ChatRestError
from ..models.messages import Message
from ..storage import InUseError, sql_in
from .file_names import DATABASE, HISTORY, SPOOL, STEM, path_inside
from .folder_view import FolderView, open_view
from .id_set import IdSet
from .journal import NAME as JOURNAL, Journal
from .kinds import kinds_of_plan
from .message_ids import key_of, number
from .opening import read_folder
from .plan import Plan
from .store.converters import format_of
from .store.segments import segment_path
from .stored_records import database_records

ChangeKind: TypeAlias = Literal["new", "changed", "deleted"]
_Ids: TypeAlias = Any
"""An `IdSet`, or a set of the ids that are no numbers: both have the same operators."""
_Event: TypeAlias = tuple[int, str, _Ids]
"""A run, a kind of news as in the journal, and the ids."""
_KINDS: Final[tuple[ChangeKind, ...]] = ("new", "changed", "deleted")
_RUN_KIND: Final = itemgetter(0, 1)
_BATCH: Final = 1_000
_KEPT: Final = "SELECT version, id, CAST(raw AS BLOB) FROM versions WHERE id IN"


@final
class ExportChange(Struct, frozen=True):
    """A message that is new, has changed, or is deleted."""

    run: int
    """The number of the run that brought it: of several the first one."""
    kind: ChangeKind
    id: str
    raw_before: bytes | None
    """The record as it was, a line of JSON as the service sent it; None for a new message."""
    raw_after: bytes | None
    """The record as it is now; None for a deleted message."""

    @property
    def before(self) -> Message | None:
        """The message as it was; None if it is new."""
        return None if self.raw_before is None else parse(Message, self.raw_before)

    @property
    def after(self) -> Message | None:
        """The message as it is now; None if it is deleted."""
        return None if self.raw_after is None else parse(Message, self.raw_after)

    def to_json(self) -> bytes:
        """Return it as JSON: `run`, `kind`, `id`, and the records `before` and `after`, or null."""
        members = (msgspec.json.encode(each) for each in (self.run, self.kind, self.id))
        records = (b"null" if each is None else each for each in (self.raw_before, self.raw_after))
        return b'{"run":%b,"kind":%b,"id":%b,"before":%b,"after":%b}' % (*members, *records)


@final
class ExportChanges(Iterator[ExportChange]):
    """An iterator over what is new, changed or deleted; see `changes`."""

    def __init__(self, told: Iterator[ExportChange], run: int) -> None:
        self._told = told
        self.run: Final = run
        """The newest run when the export was opened: who has read all changes continues with `after=run`."""

    def __next__(self) -> ExportChange:
        return next(self._told)


def changes(out: str | PathLike[str], *, after: int = 0) -> ExportChanges:
    """Return an iterator over what is new, changed or deleted since the run `after`, by run and kind.

    `out` is a folder, or the address of an object store. The number of a run is in its `Report`, and in
    `runs(out)`; a run that was killed has one, too. With 0 all messages are new. If the journal was lost, or
    is of version 0.2, all messages are new in the next run.

    The next call continues with `after=result.run`, if all of the result was read. Each message is given
    once: with the oldest `before` since then, and the newest `after`. A change that was
    found waits for its place until the run ends; one that a killed run has found is of the next run.

    It is no coroutine: it reads a disk, and blocks. Costs the reading of each file once for each run and kind
    that has something in it, a database an access a message; memory for sets of ids, whose size hardly
    depends on how many there are, and for ids that are no numbers, each. Nothing in the folder is changed.

    Raises `RequestInvalidError` at once for a wrong argument, for a folder that is not an export, and while a
    run is writing it; `ChatRestError` where the journal is damaged or lost, and while it is read where a file
    is damaged, or was replaced by a run that has begun meanwhile.
    """
    check(type(after) is int and after >= 0, "after", after, "the number of a run, or 0 for all")
    with ExitStack() as stack:
        view = stack.enter_context(open_view(out))
        with ExitStack() as reading:
            journal = _journal(view.folder, reading)
            stored, run = _read_journal(view, journal, after), journal.run
        stack.pop_all()
    return ExportChanges(_told(view, stored), run)


def _journal(folder: Path, stack: ExitStack) -> Journal:
    state = read_folder(folder, stack)
    if state.is_in_use:
        raise InUseError(f"{folder / JOURNAL}: a run is writing; ask again when it has ended")
    if state.journal is None:
        fault = state.journal_fault or "it is lost"
        raise ChatRestError(
            f"{folder / JOURNAL}: {fault}; only the journal knows what is new: export again, which "
            "makes another one, by which all messages are new"
        )
    return state.journal


# ── what is reported ──


class _News(NamedTuple):
    """Ids that are told of one run and kind."""

    run: int
    kind: ChangeKind
    numbers: IdSet
    keys: set[str]
    """Those that are no numbers."""


class _File(NamedTuple):
    """A file that has any of them, or older versions."""

    path: Path
    name: str
    """Below the folder; of a segment one that says how its lines are packed."""
    size: int
    numbers: IdSet
    keys: set[str]


class _JournalNews(NamedTuple):
    """The news of the journal."""

    news: list[_News]
    files: list[_File]
    history: list[_File]
    changed: list[tuple[IdSet, set[str]]]
    """The ids of messages that have changed, for each run that is reported."""


def _read_journal(view: FolderView, journal: Journal, after: int) -> _JournalNews:
    numbers, keys = journal.untold()
    of_numbers = [*journal.news(), (journal.run, "new", numbers)]
    of_keys = [*journal.other_news(), *((journal.run, "new", key) for key in keys)]
    both = (
        [(*each, IdSet.union(ids for _, _, ids in group)) for each, group in groupby(of_numbers, _RUN_KIND)],
        [(*each, {key for _, _, key in group}) for each, group in groupby(of_keys, _RUN_KIND)],
    )
    chosen = [{(run, kind): ids for run, kind, ids in _chosen(each, after)} for each in both]
    runs = sorted({run for each in both for run, _, _ in each})
    news = [
        _News(run, kind, chosen[0].get((run, kind), IdSet()), chosen[1].get((run, kind), set()))
        for run, kind in product(runs, _KINDS)
        if chosen[0].get((run, kind)) or chosen[1].get((run, kind))
    ]
    by_run = [_changed_by_run(each, after) for each in both]
    changed = [(by_run[0].get(run, IdSet()), by_run[1].get(run, set())) for run in by_run[0] | by_run[1]]
    wanted = {key for each in news for key in each.keys}
    files, history = (_files(view, journal, kind, wanted) for kind in (STEM, HISTORY))
    return _JournalNews(news, files, history, changed)


def _changed_by_run(events: list[_Event], after: int) -> dict[int, _Ids]:
    by_run: dict[int, _Ids] = {}
    for run, kind, ids in events:
        if run > after and kind == "changed":
            by_run[run] = by_run[run] | ids if run in by_run else ids
    return by_run


def _chosen(events: list[_Event], after: int) -> Iterator[tuple[int, ChangeKind, _Ids]]:
    """Yield by run and kind the ids that are reported; see the table above."""
    nothing: _Ids = events[0][2] - events[0][2] if events else set[str]()
    was_deleted = is_deleted = came = changed = told = nothing
    by_run: dict[int, _Ids] = {}
    for run, kind, ids in events:
        if kind == "deleted":
            is_deleted = is_deleted | ids
        elif kind == "restored":
            is_deleted = is_deleted - ids
        if run <= after:
            was_deleted = is_deleted
            continue
        by_run[run] = by_run.get(run, nothing) | ids
        came = came | ids if kind == "new" else came
        changed = changed | ids if kind == "changed" else changed
    for run, ids in by_run.items():
        first, told = ids - told, told | ids
        new = (first & (came | was_deleted)) - is_deleted
        yield run, "new", new
        yield run, "changed", (first & changed) - new - is_deleted
        yield run, "deleted", (first & is_deleted) - was_deleted


def _files(view: FolderView, journal: Journal, kind: str, wanted: set[str]) -> list[_File]:
    """Return the files of messages or of the history, with those of the `wanted` ids that are no numbers."""
    kinds = kinds_of_plan(Plan.parse(journal["plan"] or ""), journal["app"] or "")
    packing, files = kinds[kind].format.packing, list[_File]()
    for file in journal.files("open", "sealing", "sealed"):
        if file.stem.partition("/")[0] != kind or not file.size:
            continue
        path, name = path_inside(view.folder, file.name), file.name
        if file.state != "sealed" and (segment := segment_path(view.folder, file.name)).exists():
            path, name = segment, f"{SPOOL}/segment.ndjson{packing.suffix}"
        keys = wanted & journal.others_in(file.number) if wanted else set[str]()
        files.append(_File(path, name, file.size, journal.ids_in([file]), keys))
    return files


# ── its records ──


def _told(view: FolderView, stored: _JournalNews) -> Iterator[ExportChange]:
    with view, closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as versions:
        _load_versions(view, stored, versions)
        for news in stored.news:
            for batch in _batches(view, stored.files, news):
                yield from _changes(stored, news, batch, versions)


def _changes(
    stored: _JournalNews, news: _News, rows: list[Row], versions: sqlite3.Connection
) -> Iterator[ExportChange]:
    older = _older(versions, rows) if news.kind == "changed" else {}
    for row in rows:
        key = key_of(row)
        if news.kind == "new":
            yield ExportChange(news.run, news.kind, key, None, row.raw)
        elif news.kind == "deleted":
            yield ExportChange(news.run, news.kind, key, row.raw, None)
        elif (before := _before(stored, row, older.get(key, []))) != row.raw:
            yield ExportChange(news.run, news.kind, key, before, row.raw)


def _before(stored: _JournalNews, row: Row, older: list[bytes]) -> bytes | None:
    """Return the version of a message at the end of the run after which changes are reported.

    None if the history has lost it.
    """
    numbered, key = number(row.id), key_of(row)
    count = sum(key in keys or bool(numbered and numbered in ids) for ids, keys in stored.changed)
    return older[max(0, len(older) - count)] if older else None


def _batches(view: FolderView, files: list[_File], news: _News) -> Iterator[list[Row]]:
    for file in files:
        numbers, keys = file.numbers & news.numbers, file.keys & news.keys
        if not numbers and not keys:
            continue
        with view.file(file.name):
            try:
                yield from (
                    _of_database(file, numbers, keys)
                    if file.name == DATABASE
                    else _of_file(file, numbers, keys)
                )
            except FileNotFoundError:
                raise ChatRestError(
                    f"{file.path} is not there any more: a run has begun meanwhile; ask again"
                ) from None


def _of_file(file: _File, numbers: IdSet, keys: set[str]) -> Iterator[list[Row]]:
    own_format = format_of(file.name)
    assert own_format is not None
    for piece in own_format.read(file.path, file.size):
        rows = list(map(row_of, piece.raws))
        if chosen := [row for row in rows if (number(row.id) or 0) in numbers or key_of(row) in keys]:
            yield chosen


def _of_database(file: _File, numbers: IdSet, keys: set[str]) -> Iterator[list[Row]]:
    ids = chain(map(str, numbers), keys)
    while batch := list(islice(ids, _BATCH)):  # no reader keeps a run from writing
        yield list(map(row_of, database_records(file.path, batch)))


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


# ── older versions ──


def _load_versions(view: FolderView, stored: _JournalNews, versions: sqlite3.Connection) -> None:
    """Put the older versions of the messages that are reported as changed into a database that is private."""
    versions.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
    versions.execute(
        "CREATE TABLE versions(version INTEGER PRIMARY KEY, id TEXT NOT NULL, raw BLOB NOT NULL)"
    )
    numbers = IdSet.union(news.numbers for news in stored.news if news.kind == "changed")
    keys = {key for news in stored.news if news.kind == "changed" for key in news.keys}
    if not numbers and not keys:
        return
    versions.execute("BEGIN")
    sql = "INSERT INTO versions(id, raw) VALUES(?, ?)"
    for file in stored.history:
        with view.file(file.name):
            for rows in _of_file(file, numbers, keys):
                versions.executemany(sql, [(key_of(row), row.raw) for row in rows])
    for file in stored.files:
        if file.name == DATABASE:
            with view.file(file.name), closing(_opened(file.path)) as db:
                ids = chain(map(str, numbers), keys)
                while batch := list(islice(ids, _BATCH)):
                    found = sorted(
                        sql_in(db, "SELECT version, id, CAST(raw AS BLOB) FROM versions WHERE id IN", batch)
                    )
                    versions.executemany(sql, [each[1:] for each in found])
    versions.execute("CREATE INDEX versions_of_id ON versions(id)")
    versions.execute("COMMIT")


def _older(versions: sqlite3.Connection, rows: list[Row]) -> dict[str, list[bytes]]:
    older: dict[str, list[bytes]] = {}
    for _, key, raw in sorted(sql_in(versions, _KEPT, map(key_of, rows))):
        older.setdefault(key, []).append(raw)
    return older
