"""The new, changed and deleted messages of an export since a run.

The journal knows by run which ids are news; the records are in the export's files, older versions in its
history. So the result is the difference of two states: the export at the end of a run, and as it is now.

| since the run, a message                  | kind       | before             | after         |
|-------------------------------------------|------------|--------------------|---------------|
| came, and may have changed since          | `new`      |                    | as it is now  |
| was shown again, after it was deleted     | `new`      |                    | as it is now  |
| has changed, once or more                 | `changed`  | as it was then     | as it is now  |
| was deleted by its author                 | `deleted`  | as it was then     |               |
| is not shown any more by any list         | `deleted`  | as it was last stored |            |
| came, and was deleted                     | `deleted`  | as it was last stored |            |
| changed and back, or deleted and restored | not at all |                    |               |

`reason` says which deletion it is. A message that its author deleted is still shown by the lists, as a record
with `deletedAt`, and without its content.

It is reported in the first of these runs. So the position of a reader is not the run of the last change, but
`ExportChanges.run`: the newest run that is in what he has read, and only once he has read all of it. Of a
folder of exports that is a text with the run of each (`position.py`).
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeAlias, TypeVar, final

import msgspec
from msgspec import Struct, structs

from ..._core.replies.decode import parse
from ..._core.replies.rows import Row, row_of
from ..._models.messages import Message
from ..._storage import sql_in
from ...errors import ChatRestError
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.opening import FolderState, with_state
from ..formats.action_records import is_deleted
from ..formats.stored_records import damaged, record_batches
from ..plan.file_names import HISTORY, STEM
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from ..store.inspection import files_now
from .exports import open_exports
from .folder_view import FolderView
from .position import Position, position_of, runs_of

ChangeKind: TypeAlias = Literal["new", "changed", "deleted"]
DeletionReason: TypeAlias = Literal["by_author", "not_shown"]
_Event: TypeAlias = tuple[int, str, IdSet]
"""A run, a kind of news as in the journal, and the ids."""
_KINDS: Final[tuple[ChangeKind, ...]] = ("new", "changed", "deleted")
T = TypeVar("T")
_RUN_KIND: Final = itemgetter(0, 1)
_SELECT_VERSIONS: Final = "SELECT version, id, CAST(raw AS BLOB) FROM versions WHERE id IN"


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
    reason: DeletionReason | None = None
    """Of a deleted message: its author (or a moderator) deleted it, or no list shows it any more."""
    part: str = ""
    """Of a folder of exports the one that has it, such as `part=03`; `run` is the number of a run of it."""

    @property
    def before(self) -> Message | None:
        """The message as it was; None if it is new."""
        return None if self.raw_before is None else parse(Message, self.raw_before)

    @property
    def after(self) -> Message | None:
        """The message as it is now; None if it is deleted."""
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
        """The newest run when the export was opened: who has read all changes continues with `after=run`. Of
        a folder of exports it is a text, with the newest run of each."""

    def __next__(self) -> ExportChange:
        return next(self._changes)


def changes(out: str | PathLike[str], *, after: Position = 0) -> ExportChanges:
    """Return an iterator over what is new, changed or deleted since the run `after`, by run and kind.

    `out` is a folder, or the address of an object store. The number of a run is in its `Report`, and in
    `runs(out)`; a run that was killed has one, too. With 0 all messages are new. If the journal was lost, all
    messages are new in the next run. Of a folder of exports they come export by export, and `after` is 0 or
    the `run` of an earlier result: a text with the run of each. Of one that has begun since, all is new.

    The next call continues with `after=result.run`, if all of the result was read. Each message is given
    once: with the oldest `before` since then, and the newest `after`. Changes
    found by a killed run are reported by the next one.

    It is no coroutine: it reads a disk, and blocks. Costs the reading of each file once for each run and kind
    that has something in it; memory for sets of ids, whose size hardly
    depends on how many there are, and for ids that are no numbers, each. Nothing in the folder is changed.

    The changes of a run are given when it has ended: only then can they be continued from.

    Raises `RequestInvalidError` at once for a wrong argument, and for a folder that is not an export;
    `ChatRestError` where the journal is damaged or lost, and while it is read where a file is damaged.
    """
    with ExitStack() as stack:
        news = _news_of(out, after, stack)
        stack.pop_all()
    listed = chain.from_iterable(_changes_of(each) for each in news)
    return ExportChanges(listed, position_of({each.view.export: each.run for each in news}))


def _news_of(out: object, after: Position, stack: ExitStack) -> "list[_JournalNews]":
    """Return the news of each export at `out`, whose views are open until `stack` is closed."""
    views = [stack.enter_context(view) for view in open_exports(out)]
    runs = runs_of(after, [view.export for view in views])
    return [
        with_state(view.folder, lambda state: _read_journal(view, state, runs[view.export]))  # noqa: B023
        for view in views
    ]


def _journal(folder: Path, state: FolderState) -> Journal:
    if state.journal is None:
        fault = state.journal_fault or "it is lost"
        raise ChatRestError(
            f"{folder / JOURNAL}: {fault}; only the journal knows what is new: export again, which "
            "makes another one, by which all messages are new"
        )
    return state.journal


# ── what is reported ──


class _News(NamedTuple):
    """The ids of one run and kind."""

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
    rows: int


class _JournalNews(NamedTuple):
    """The news of the journal of one export."""

    view: FolderView
    news: list[_News]
    files: list[_File]
    history: list[_File]
    changed: list[tuple[IdSet, set[str]]]
    """The ids of messages that have changed, for each run that is reported."""
    run: int
    """The newest run whose changes are given."""
    app_id: str
    is_whole: bool
    """False while a run is writing, whose changes are not given yet."""


def _read_journal(view: FolderView, state: FolderState, after: int) -> _JournalNews:
    journal = _journal(view.folder, state)
    noted = [*journal.news(), (journal.run, "new", journal.untold())]
    run = max(after, journal.run - 1) if state.is_in_use else journal.run
    noted = [each for each in noted if each[0] <= run]
    events: list[_Event] = [
        (*each, IdSet.union(ids for _, _, ids in group)) for each, group in groupby(noted, _RUN_KIND)
    ]

    def parted(ids: IdSet) -> tuple[IdSet, set[str]]:
        return ids.numbers, set(journal.keys_of(ids).values())

    chosen = sorted(_chosen(events, after), key=lambda each: (each[0], _KINDS.index(each[1])))
    news = [_News(run, kind, *parted(ids)) for run, kind, ids in chosen if ids]
    changed = [parted(ids) for ids in _changed_by_run(events, after).values()]
    wanted = {key for each in news for key in each.keys}
    files, history = (_files(view, journal, kind, wanted) for kind in (STEM, HISTORY))
    return _JournalNews(view, news, files, history, changed, run, journal["app"] or "", not state.is_in_use)


def _changed_by_run(events: list[_Event], after: int) -> dict[int, IdSet]:
    by_run: dict[int, IdSet] = {}
    for run, kind, ids in events:
        if run > after and kind == "changed":
            by_run[run] = by_run[run] | ids if run in by_run else ids
    return by_run


def _chosen(events: list[_Event], after: int) -> Iterator[tuple[int, ChangeKind, IdSet]]:
    """Yield by run and kind the ids that are reported; see the table above."""
    nothing = IdSet()
    was_deleted = is_deleted = came = changed = reported = nothing
    by_run: dict[int, IdSet] = {}
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
        first, reported = ids - reported, reported | ids
        new = (first & (came | was_deleted)) - is_deleted
        yield run, "new", new
        yield run, "changed", (first & changed) - new - is_deleted
        yield run, "deleted", (first & is_deleted) - was_deleted


def _files(view: FolderView, journal: Journal, kind: str, wanted: set[str]) -> list[_File]:
    """Return the files of messages or of the history, with those of the `wanted` ids that are no numbers."""
    files = list[_File]()
    for file, path, name in files_now(view.folder, journal, kind):
        ids = journal.ids_in([file])
        keys = wanted.intersection(journal.keys_of(ids).values()) if wanted else set[str]()
        rows = sum(block.rows for block in journal.blocks(file.number))
        files.append(_File(path, name, file.size, ids.numbers, keys, rows))
    return files


# ── its records ──


def _changes_of(stored: _JournalNews) -> Iterator[ExportChange]:
    with stored.view, closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as versions:
        changed = [news for news in stored.news if news.kind == "changed"]
        keys = {key for news in changed for key in news.keys}
        _load_versions(stored, versions, IdSet.union(news.numbers for news in changed), keys)
        for news in stored.news:
            for batch in _batches(stored, news):
                for change in _changes(stored, news, batch, versions):
                    part = stored.view.export
                    yield structs.replace(change, part=part) if part else change


def _changes(
    stored: _JournalNews, news: _News, rows: list[Row], versions: sqlite3.Connection
) -> Iterator[ExportChange]:
    older = _older(versions, rows) if news.kind == "changed" else {}
    for row in rows:
        key, by_author = key_of(row), is_deleted(row.raw)
        before = None if news.kind == "new" else row.raw
        if news.kind == "changed" and (before := _before(stored, row, older.get(key, []))) == row.raw:
            continue
        was_deleted = news.kind == "changed" and before is not None and is_deleted(before)
        if by_author or news.kind == "deleted":
            reason: DeletionReason = "by_author" if by_author else "not_shown"
            if not was_deleted:
                yield ExportChange(news.run, "deleted", key, before or row.raw, None, reason)
        elif news.kind == "new" or was_deleted:
            yield ExportChange(news.run, "new", key, None, row.raw)
        else:
            yield ExportChange(news.run, "changed", key, before, row.raw)


def _before(stored: _JournalNews, row: Row, older: list[bytes]) -> bytes | None:
    """Return the version of a message at the end of the run after which changes are reported.

    None if the history has lost it.
    """
    since = _since(stored, key_of(row), older)
    return since[0] if since else older[-1] if older else None


def _since(stored: _JournalNews, key: str, older: list[bytes]) -> list[bytes]:
    """Return the versions of a message that were replaced after that run, oldest first."""
    numbered = number(key)
    count = sum(key in keys or bool(numbered and numbered in ids) for ids, keys in stored.changed)
    return older[max(0, len(older) - count) :]


def _batches(stored: _JournalNews, news: _News) -> Iterator[list[Row]]:
    def rows_of(file: _File) -> Iterator[list[Row]]:
        return _of_file(file, file.numbers & news.numbers, file.keys & news.keys)

    return _from_each(stored, [news], rows_of)


def _from_each(stored: _JournalNews, news: list[_News], work: Callable[[_File], Iterator[T]]) -> Iterator[T]:
    """Yield what `work` does of each file that has news, each message once.

    Files that a run has merged meanwhile are looked up again, for what was not in those that were read.
    """
    numbers, keys = IdSet.union(each.numbers for each in news), {key for each in news for key in each.keys}
    files, at = stored.files, 0
    while at < len(files):
        file = files[at]
        file = file._replace(numbers=file.numbers & numbers, keys=file.keys & keys)
        if file.numbers or file.keys:
            try:
                with stored.view.file(file.name):
                    yield from work(file)
            except FileNotFoundError:  # before the first of its records
                files[:], at = _files_now(stored, file.path), 0
                continue
            numbers, keys = numbers - file.numbers, keys - file.keys
        at += 1


def _files_now(stored: _JournalNews, lost: Path) -> list[_File]:
    view = stored.view
    wanted = {key for each in stored.news for key in each.keys}
    files = with_state(view.folder, lambda state: _files(view, _journal(view.folder, state), STEM, wanted))
    if any(file.path == lost for file in files):
        raise damaged(lost, "it is not there any more")
    return files


def _of_file(file: _File, numbers: IdSet, keys: set[str]) -> Iterator[list[Row]]:
    for raws in record_batches(file.path, file.name, file.size):
        rows = list(map(row_of, raws))
        if chosen := [row for row in rows if (number(row.id) or 0) in numbers or key_of(row) in keys]:
            yield chosen


# ── older versions ──


def _load_versions(
    stored: _JournalNews, versions: sqlite3.Connection, numbers: IdSet, keys: set[str]
) -> None:
    """Put the older versions of these messages into a database that is private."""
    versions.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
    versions.execute(
        "CREATE TABLE versions(version INTEGER PRIMARY KEY, id TEXT NOT NULL, raw BLOB NOT NULL)"
    )
    if not numbers and not keys:
        return
    versions.execute("BEGIN")
    sql = "INSERT INTO versions(id, raw) VALUES(?, ?)"
    for file in stored.history:
        with stored.view.file(file.name):
            try:
                for rows in _of_file(file, numbers, keys):
                    versions.executemany(sql, [(key_of(row), row.raw) for row in rows])
            except FileNotFoundError:
                raise damaged(file.path, "a run has replaced it meanwhile; ask again") from None
    versions.execute("CREATE INDEX versions_of_id ON versions(id)")
    versions.execute("COMMIT")


def _older(versions: sqlite3.Connection, rows: list[Row]) -> dict[str, list[bytes]]:
    older: dict[str, list[bytes]] = {}
    for _, key, raw in sorted(sql_in(versions, _SELECT_VERSIONS, map(key_of, rows))):
        older.setdefault(key, []).append(raw)
    return older


# ── in the order of the files ──


class NewsBatch(NamedTuple):
    """Records of one kind: of a deleted message the last one, else the one of now."""

    view: FolderView
    """The export that has them."""
    kind: ChangeKind
    raws: list[bytes]


@final
class ExportNews:
    """All that `changes` reports, in any order: each file is read once.

    Raises as `changes`.
    """

    def __init__(self, out: object, after: Position) -> None:
        with ExitStack() as stack:
            self._each = _news_of(out, after, stack)
            self._open = stack.pop_all()
        self.views: Final = [each.view for each in self._each]
        """The exports, in the order of the batches: open until the block of this object ends."""
        self.runs: Final = {each.view.export: each.run for each in self._each}
        """The newest run of each whose changes are given, by its name in the folder of exports."""
        self.run: Final = position_of(self.runs)
        self.app_ids: Final = {each.view.export: each.app_id for each in self._each}
        self.is_whole: Final = all(each.is_whole for each in self._each)
        """False while a run is writing, whose changes are not given yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def batches(self) -> Iterator[NewsBatch]:
        for stored in self._each:
            yield from _from_each(stored, stored.news, partial(_news_batches, stored))

    def versions(self) -> Iterator[tuple[FolderView, Iterator[list[bytes]]]]:
        """Yield each export with the versions of each changed message that were replaced after that run.

        They are in order, the oldest first.
        """
        return ((each.view, _versions(each)) for each in self._each)


def _news_batches(stored: _JournalNews, file: _File) -> Iterator[NewsBatch]:
    wanted = dict[ChangeKind, tuple[IdSet, set[str]]]()
    for news in stored.news:
        numbers, keys = wanted.setdefault(news.kind, (IdSet(), set()))
        numbers.update(file.numbers & news.numbers)
        keys |= file.keys & news.keys
    counts = {kind: len(numbers) + len(keys) for kind, (numbers, keys) in wanted.items()}
    largest = max(counts, key=lambda kind: counts[kind])
    is_all = counts[largest] == file.rows
    pieces = _pieces(file, largest) if is_all else _divided(file, wanted)
    return (NewsBatch(stored.view, *piece) for piece in pieces)


def _versions(stored: _JournalNews) -> Iterator[list[bytes]]:
    changed = stored.changed
    numbers, keys = IdSet.union(ids for ids, _ in changed), {key for _, keys in changed for key in keys}
    with closing(sqlite3.connect("", isolation_level=None)) as versions:
        _load_versions(stored, versions, numbers, keys)
        rows = versions.execute("SELECT id, raw FROM versions ORDER BY id, version")
        for key, group in groupby(rows, itemgetter(0)):
            yield _since(stored, key, [raw for _, raw in group])


def _pieces(file: _File, kind: ChangeKind) -> Iterator[tuple[ChangeKind, list[bytes]]]:
    return ((kind, raws) for raws in record_batches(file.path, file.name, file.size))


def _divided(
    file: _File, wanted: dict[ChangeKind, tuple[IdSet, set[str]]]
) -> Iterator[tuple[ChangeKind, list[bytes]]]:
    all_ids = IdSet.union(numbers for numbers, _ in wanted.values())
    all_keys = {key for _, keys in wanted.values() for key in keys}
    for rows in _of_file(file, all_ids, all_keys):
        for kind, (numbers, keys) in wanted.items():
            raws = [row.raw for row in rows if (number(row.id) or 0) in numbers or key_of(row) in keys]
            if raws:
                yield kind, raws
