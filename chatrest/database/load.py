"""A load: a database is brought from its position to the export as it is now, in one transaction.

It is not divided: changes are the difference between the position and the export as it is now, and a part of
them is the state of no run, from which no later load could continue. Rows are streamed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from .._core.requests.arguments import check
from .._models.deleted_texts import HINTS, without_deleted_texts
from .._texts import missing_extra
from ..errors import ChatRestError, RequestInvalidError
from ..export.folder.manifest import TableEntry
from ..export.folder.run_log import runs_in
from ..export.formats.columns import TABLE_COLUMNS, Column, row_values
from ..export.read.changes import ExportNews, NewsBatch
from ..export.read.exports import (
    Position,
    PositionError,
    addresses_of,
    app_of,
    parse_position,
    position_of,
    runs_in_position,
    runs_of,
)
from ..export.read.folder_view import FolderView
from ..export.read.reading import table_entries, table_records
from .rows import COLUMNS, batched, clean_records, message_values
from .schema import BLANK, BLANKED, INDEXES, STATE, VERSION, tables, views
from .sqlite import Batch, SqliteDatabase

Deleted: TypeAlias = Literal["keep", "blank"]
OnCount: TypeAlias = Callable[[int], None]
"""Called with the number of messages that were read."""
_APP: Final = Column("app", "text", ())
_RAW: Final = Column("raw", "json", ())
_MESSAGE: Final = (_APP, *COLUMNS, Column("deleted_reason", "text", ()), _RAW)
_DELETED_AT: Final = [column.name for column in COLUMNS].index("deleted_at")
_KINDS: Final = ("new", "changed", "deleted")
_MARK: Final = "mark "
_AT_ONCE: Final = 500
"""Records with other messages in them that are read at once."""
_UPSERT: Final = "ON CONFLICT(id, app) DO UPDATE SET " + ", ".join(
    f"{column.name} = excluded.{column.name}"
    for column in _MESSAGE
    if column.name not in ("app", "id", "number")
)


class LoadReport(Struct, frozen=True, kw_only=True):
    """The result of a load."""

    run: Position
    """The newest run of the export that is in the database; of a folder of exports that of each."""
    new: int = 0
    changed: int = 0
    deleted: int = 0
    """Messages that their authors have deleted, or that no list of the service shows any more."""
    blanked: int = 0
    """Deleted messages whose content was removed, those of earlier loads included that still had it."""
    removed: int = 0
    """Messages of apps that the folder does not have any more."""
    replaced: int = 0
    """Zero bytes, halves of characters, and bytes that are not UTF-8, each of which is U+FFFD now."""
    tables: dict[str, int] = {}
    """Rows of the tables that were loaded: those that have changed."""


def load(
    out: str | PathLike[str],
    database: str | PathLike[str],
    *,
    deleted: Deleted | None = None,
    progress: OnCount = lambda _: None,
) -> LoadReport:
    """Bring a database to the export in `out` as it is now: what is new, changed and deleted.

    `out` is a folder or the address of an object store; of an export by parts, or a folder of many apps, all
    of them are loaded. Each row has its `app`, and that of an app whose folder was removed is removed, too.
    `database` is the path of a SQLite file, `sqlite:///PATH`, or `postgresql://user@host/database` (extra
    `postgres`). The first load makes tables and views (`chatrest guide database`), later ones begin at the
    position that is in the database.

    - `deleted`: `blank` removes the contents of deleted messages, with their older versions and the names of
      their files, for who has to erase; `keep` keeps them, with a `deleted_reason`. None is the database's
      own choice, and `keep` for a new one.
    - `progress`: called with the number of messages read so far.

    A load is one transaction: where it fails or is killed, nothing has changed. It is no coroutine: it reads
    a disk, and blocks. Costs the reading of all files with news; memory for a few thousand rows.

    Raises `RequestInvalidError` for a wrong argument, for what is not an export, and for a database of
    another one; `ChatRestError` where the export or the database cannot be read or written.
    """
    check(deleted in (None, "keep", "blank"), "deleted", deleted, "'keep', 'blank', or None")
    target = open_database(database)
    try:
        with target:
            return _Load(target, out, deleted, progress).run()
    except target.errors as error:
        raise ChatRestError(f"{target.name}: {error}; nothing was changed") from error


def open_database(database: str | PathLike[str]) -> Any:
    scheme, separator, path = str(database).partition("://")
    if not separator:
        return SqliteDatabase(Path(database))
    if scheme == "sqlite" and path.startswith("/") and len(path) > 1:
        return SqliteDatabase(Path(path[1:]))
    if scheme not in ("postgresql", "postgres"):
        raise RequestInvalidError(
            f"database = {scheme}://…: expected a file, sqlite:///FILE, or postgresql://user@host/database"
        )
    try:
        from .postgres import PostgresDatabase
    except ImportError:
        raise RequestInvalidError(missing_extra("a Postgres database", "postgres")) from None
    return PostgresDatabase(str(database))


class _Load:
    def __init__(self, target: Any, out: object, deleted: Deleted | None, progress: OnCount) -> None:
        self._target, self._out, self._progress = target, out, progress
        self._is_first = not target.has_state()
        if self._is_first:
            for sql in tables(target.dialect):
                target.execute(sql)
        self._before: dict[str, str] = dict(target.execute(f"SELECT name, value FROM {STATE}"))  # noqa: S608
        former_choice = self._before.get("deleted", "keep")
        if (former_choice, deleted) == ("blank", "keep"):
            raise RequestInvalidError(
                f"deleted = 'keep': {target.name} has no contents of deleted messages; load into a new one",
                name="deleted",
            )
        self._state = {name: value for name, value in self._before.items() if not name.startswith(_MARK)}
        self._state |= {"version": VERSION, "deleted": deleted or former_choice}
        self._counts = Counter[str]()
        self._rows = Counter[str]()

    def run(self) -> LoadReport:
        if self._before.get("version", VERSION) != VERSION:
            raise RequestInvalidError(
                f"{self._target.name} is of another version of chatrest: remove it, or load into a new one"
            )
        position, gone = self._position_and_gone()
        try:
            news = ExportNews(self._out, position)
        except PositionError:
            raise self._is_of_another() from None
        with news:
            self._check_runs(news, position, gone)
            for app in gone:
                self._remove(app)
            return self._take(news)

    def _position_and_gone(self) -> tuple[Position, set[str]]:
        """Return where to begin, and the names of apps that the database has and the folder does not."""
        position = parse_position(self._before.get("run", "0"))
        if isinstance(position, int):
            return position, set()
        runs, apps = runs_in_position(position), {each.app for each in addresses_of(self._out)}
        remaining = {name: run for name, run in runs.items() if app_of(name) in apps}
        if not remaining:
            raise self._is_of_another()
        return position_of(remaining), set(map(app_of, runs.keys() - remaining.keys()))

    def _check_runs(self, news: ExportNews, position: Position, gone: set[str]) -> None:
        marks = {f"{_MARK}{view.export}": _run_marks(news, view) for view in news.views}
        for name, mark in self._before.items():
            is_mark = name.startswith(_MARK) and app_of(name.removeprefix(_MARK)) not in gone
            if is_mark and mark not in marks.get(name, ()):
                raise self._is_of_another()
        former = runs_of(position, list(news.runs))
        if any(news.runs[name] < run for name, run in former.items()):
            raise self._is_of_another()

    def _remove(self, app: str) -> None:
        target, where = self._target, f"WHERE app = {self._target.dialect.value}"
        self._counts["removed"] += target.execute(f"SELECT count(*) FROM messages {where}", [app])[0][0]  # noqa: S608
        for table in ("messages", "versions"):
            target.execute(f"DELETE FROM {table} {where}", [app])  # noqa: S608

    def _take(self, news: ExportNews) -> LoadReport:
        target, state = self._target, self._state
        state["run"] = str(news.run)
        for view in news.views:
            state |= {f"{_MARK}{view.export}": mark for mark in _run_marks(news, view)[-1:]}
        rest = "" if self._is_first else _UPSERT
        target.insert("messages", _MESSAGE, map(self._batch, news.batches()), rest)
        target.insert("versions", _MESSAGE, self._versions(news))
        self._load_tables(news)
        if self._is_first:
            self._finish_first()
        if state["deleted"] == "blank" and (
            self._counts or self._rows or self._before.get("deleted") != "blank"
        ):
            self._counts["blanked"] = target.execute(f"SELECT count(*) FROM messages WHERE {BLANKED}")[0][0]  # noqa: S608
            target.erase(BLANK)
            _erase_in_others(target)
        if state != self._before:
            mark = target.dialect.value
            target.execute(f"DELETE FROM {STATE}")  # noqa: S608
            for item in state.items():
                target.execute(f"INSERT INTO {STATE} VALUES({mark}, {mark})", item)
        counts = {kind: self._counts[kind] for kind in (*_KINDS, "blanked", "removed", "replaced")}
        return LoadReport(run=news.run, tables=dict(self._rows), **counts)

    def _is_of_another(self) -> RequestInvalidError:
        return RequestInvalidError(
            f"{self._target.name} was loaded from another export than {self._out}, or from one that was made "
            "again: load into a new database, or remove this one"
        )

    def _batch(self, batch: NewsBatch) -> Batch:
        made = self._message_batch(batch.view, batch.raws, "not_shown" if batch.kind == "deleted" else None)
        present = made[-2].count(None)
        self._counts[batch.kind] += present
        self._counts["deleted"] += len(batch.raws) - present
        self._progress(sum(self._counts[kind] for kind in _KINDS))
        return made

    def _message_batch(self, view: FolderView, raws: list[bytes], reason: str | None) -> Batch:
        raws, replaced = clean_records(raws)
        if replaced:
            self._counts["replaced"] += replaced
        values = message_values(raws)
        deleted_at = values[_DELETED_AT]
        if reason or any(deleted_at):
            reasons = ["by_author" if each else reason for each in deleted_at]
        else:
            reasons = [None] * len(raws)
        return [[app_of(view.export)] * len(raws), *values, reasons, raws]

    def _versions(self, news: ExportNews) -> Iterator[Batch]:
        for view, versions in news.versions():
            for batch in batched(chain.from_iterable(versions)):
                yield self._message_batch(view, batch, None)

    def _load_tables(self, news: ExportNews) -> None:
        """Load the tables whose files have changed, in any of the parts."""
        files: dict[str, list[tuple[FolderView, TableEntry]]] = {table: [] for table in TABLE_COLUMNS}
        for view in news.views:
            for entry in table_entries(view):
                files[entry.table].append((view, entry))
        for table, entries in files.items():
            key, value = f"table {table}", " ".join(f"{view.export}:{each.sha256}" for view, each in entries)
            if self._before.get(key, "") != value:
                self._state[key] = value
                self._target.execute(f"DELETE FROM {table}")  # noqa: S608
                for view, entry in entries:
                    batches = self._table_batches(table, view, table_records(view, entry))
                    self._target.insert(table, [_APP, *TABLE_COLUMNS[table], _RAW], batches)

    def _table_batches(self, table: str, view: FolderView, raws: Iterable[bytes]) -> Iterator[Batch]:
        columns = TABLE_COLUMNS[table]
        for batch in batched(raws):
            clean, replaced = clean_records(batch)
            self._counts["replaced"] += replaced
            self._rows[table] += len(batch)
            values = zip(*(row_values(columns, raw) for raw in clean), strict=True)
            yield [[app_of(view.export)] * len(batch), *values, clean]

    def _finish_first(self) -> None:
        target = self._target
        unique, *others = INDEXES
        target.execute("SAVEPOINT ids")
        try:
            target.execute(unique)
        except target.errors:  # ids that differ only in what no database takes
            target.execute("ROLLBACK TO SAVEPOINT ids")
            target.execute(
                "DELETE FROM messages WHERE place NOT IN (SELECT max(place) FROM messages GROUP BY id, app)"
            )
            target.execute(unique)
        for sql in (*others, *views(target.dialect)):
            target.execute(sql)


def _erase_in_others(target: Any) -> None:
    """Remove the contents of deleted messages from the records of others: their actions, who quotes them."""
    mark, text = target.dialect.value, "CAST(raw AS TEXT)"
    places = dict.fromkeys(TABLE_COLUMNS, target.dialect.row)
    for table, (place, last) in ({"messages": ("place", 0), "versions": ("version", 0)} | places).items():
        select = (
            f"SELECT {place}, app, {text} FROM {table} WHERE {place} > {mark}"  # noqa: S608
            f" AND ({' OR '.join([f'{text} LIKE {mark}'] * len(HINTS))}) ORDER BY {place} LIMIT {_AT_ONCE}"
        )
        while rows := target.execute(select, [last, *(f"%{hint}%" for hint in HINTS)]):
            last = rows[-1][0]
            for row, app, record in rows:
                raw = record.encode()
                rest = without_deleted_texts(raw, False, partial(_is_deleted, target, app))
                if rest is not raw:
                    update = f"UPDATE {table} SET raw = {mark} WHERE {place} = {mark}"  # noqa: S608
                    target.execute(update, [rest.decode(), row])


def _is_deleted(target: Any, app: str, id: Any) -> bool:
    mark = target.dialect.value
    sql = f"SELECT 1 FROM messages WHERE id = {mark} AND app = {mark} AND deleted_reason IS NOT NULL"  # noqa: S608
    return isinstance(id, str | int) and bool(target.execute(sql, [str(id), app]))


def _run_marks(news: ExportNews, view: FolderView) -> list[str]:
    """Return what identifies each run of an export that has ended, oldest first."""
    with suppress(FileNotFoundError):  # no run has ended yet
        app = news.app_ids[view.export]
        return [f"{app} {each.run} {each.started} {each.finished}" for each in runs_in(view.folder)]
    return []
