"""Load a database: bring it from its position to the export as it is now, in one transaction.

There is only one transaction, as the changes are the difference between the position and the export as it is
now: after a part of them the database would have the state of no run, and no later load could continue. Rows
are streamed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from .._cloud.address import check_outside
from .._core.requests.arguments import check
from .._models.deleted_texts import HINTS, without_deleted_texts
from .._texts import missing_extra
from ..errors import ChatRestError, RequestInvalidError
from ..export.folder.manifest import TableEntry
from ..export.folder.run_log import runs_in
from ..export.formats.columns import TABLE_COLUMNS, Column, row_values
from ..export.read.exports import (
    Position,
    PositionError,
    addresses_of,
    app_of,
    parse_position,
    position_of,
    runs_in_position,
)
from ..export.read.folder_view import FolderView
from ..export.read.news import ExportNews, JournalNews, NewsBatch
from ..export.read.reading import table_entries, table_records
from .message_rows import COLUMNS, batched, clean_records, message_values
from .schema import BLANK, BLANKED, INDEXES, STATE, VERSION, Batch, Database, tables, views
from .sqlite import SqliteDatabase

Deleted: TypeAlias = Literal["keep", "blank"]
OnCount: TypeAlias = Callable[[int], None]
"""Called with the number of messages that were read."""
_APP: Final = Column("app", "text", ())
_RAW: Final = Column("raw", "json", ())
_MESSAGE: Final = (_APP, *COLUMNS, Column("deleted_reason", "text", ()), _RAW)
_DELETED_AT: Final = [column.name for column in COLUMNS].index("deleted_at")
_KINDS: Final = ("new", "changed", "deleted")
_RUN_KEY: Final = "mark "
"""The beginning of the state's key of the newest run of an export, by which it is recognized."""
_ROWS_AT_ONCE: Final = 500
_UPSERT: Final = "ON CONFLICT(id, app) DO UPDATE SET " + ", ".join(
    f"{column.name} = excluded.{column.name}"
    for column in _MESSAGE
    if column.name not in ("app", "id", "number")
)


class LoadReport(Struct, frozen=True, kw_only=True):
    """The result of a load."""

    run: Position
    """The newest run of the export that is in the database; of a folder of exports the newest of each."""
    new: int = 0
    changed: int = 0
    deleted: int = 0
    """Messages that their authors have deleted, or that no list of the service shows any more."""
    blanked: int = 0
    """Deleted messages whose content was removed now, also those of earlier loads."""
    removed: int = 0
    """Messages of apps that the folder does not have any more."""
    replaced: int = 0
    """Zero bytes, halves of surrogate pairs, and bytes that are not UTF-8: each is U+FFFD in the database."""
    tables: dict[str, int] = {}
    """The number of rows of each table that was loaded; a table without changes is not."""


def load(
    out: str | PathLike[str],
    database: str | PathLike[str],
    *,
    deleted: Deleted | None = None,
    progress: OnCount = lambda _: None,
) -> LoadReport:
    """Bring a database to the export in `out` as it is now: what is new, changed and deleted.

    `out` is a folder or the address of an object store. Of an export by parts, or a folder of many apps, all
    exports are loaded. Each row has its `app`; the rows of an app whose folder was removed are removed, too.
    `database` is the path of a SQLite file, `sqlite:///PATH`, or `postgresql://user@host/database` (extra
    `postgres`). The first load makes tables and views (`chatrest guide database`), later ones begin at the
    position that is in the database.

    - `deleted`: `blank` removes the contents of deleted messages, with their older versions and the names of
      their files, if you have to erase them; `keep` keeps them, with a `deleted_reason`. None is what an
      earlier load of the database was given, and `keep` for a new one.
    - `progress`: called with the number of messages read so far.

    It reads all files with news, and needs memory for a few thousand rows and for sets of ids. It is not a
    coroutine: it reads a disk, and blocks. A load is one transaction: if it fails or is killed, nothing has
    changed. Of two loads at the same time the second one waits, of SQLite for at most 10 seconds.

    Raises `RequestInvalidError` for a wrong argument, a folder that is not an export, and a database of
    another export; `ChatRestError` if the export or the database cannot be read or written; `OSError`.
    """
    check(deleted in (None, "keep", "blank"), "deleted", deleted, "'keep', 'blank', or None")
    target = open_database(database)
    if isinstance(target, SqliteDatabase):
        check_outside(out, target.path, "database")
    try:
        with target:
            return _Loader(target, out, deleted, progress).run()
    except target.errors as error:
        raise ChatRestError(f"{target.name}: {error}; nothing was changed") from error


def open_database(database: str | PathLike[str]) -> Database:
    """Return the database of a path or address.

    Raises `RequestInvalidError` for another address, and if psycopg is not installed.
    """
    text = str(database)
    scheme, separator, path = text.partition("://")
    is_sqlite = scheme == "sqlite" and path.startswith("/")
    file = path[1:] if is_sqlite else "" if separator else text
    if file and not Path(file).is_dir():
        return SqliteDatabase(Path(file))
    if scheme not in ("postgresql", "postgres"):
        value = f"{scheme}://…" if separator else repr(text)
        raise RequestInvalidError(
            f"database = {value}: expected a file, sqlite:///FILE or postgresql://user@host/database",
            name="database",
        )
    try:
        from .postgres import PostgresDatabase
    except ImportError:
        raise RequestInvalidError(missing_extra("a Postgres database", "postgres")) from None
    return PostgresDatabase(str(database))


class _Loader:
    def __init__(self, target: Database, out: object, deleted: Deleted | None, progress: OnCount) -> None:
        self._target, self._out, self._progress = target, out, progress
        self._is_first = not target.has_state()
        if self._is_first:
            for sql in tables(target.dialect):
                target.execute(sql)
        self._stored_state: dict[str, str] = dict(target.execute(f"SELECT name, value FROM {STATE}"))  # noqa: S608
        stored_choice = self._stored_state.get("deleted", "keep")
        is_same = (stored_choice, deleted) != ("blank", "keep")
        check(is_same, "deleted", deleted, f"'blank', as {target.name} was loaded with it, or a new database")
        self._state = {
            name: value for name, value in self._stored_state.items() if not name.startswith(_RUN_KEY)
        }
        self._state |= {"version": VERSION, "deleted": deleted or stored_choice}
        self._counts = Counter[str]()
        self._rows = Counter[str]()

    def run(self) -> LoadReport:
        if self._stored_state.get("version", VERSION) != VERSION:
            raise RequestInvalidError(
                f"{self._target.name} is of another version of chatrest: remove it, or load into a new one"
            )
        position, removed_apps = self._start()
        try:
            news = ExportNews(self._out, position)
        except PositionError:
            raise self._other_export_error() from None
        with news:
            self._check_is_same_export(news, removed_apps)
            for app in removed_apps:
                self._remove(app)
            return self._apply(news)

    def _start(self) -> tuple[Position, set[str]]:
        position = parse_position(self._stored_state.get("run", "0"))
        if isinstance(position, int):
            return position, set()
        runs, apps = runs_in_position(position), {each.app for each in addresses_of(self._out)}
        remaining = {name: run for name, run in runs.items() if app_of(name) in apps}
        if not remaining:
            raise self._other_export_error()
        return position_of(remaining), set(map(app_of, runs.keys() - remaining.keys()))

    def _check_is_same_export(self, news: ExportNews, removed_apps: set[str]) -> None:
        """Raise `RequestInvalidError` unless each export has the run up to which it was loaded."""
        runs = {f"{_RUN_KEY}{each.view.export}": _identified_runs(each) for each in news.exports}
        for key, run in self._stored_state.items():
            is_run = key.startswith(_RUN_KEY) and app_of(key.removeprefix(_RUN_KEY)) not in removed_apps
            if is_run and run not in runs.get(key, ()):
                raise self._other_export_error()

    def _remove(self, app: str) -> None:
        target, where = self._target, f"WHERE app = {self._target.dialect.placeholder}"
        self._counts["removed"] += target.execute(f"SELECT count(*) FROM messages {where}", [app])[0][0]  # noqa: S608
        for table in ("messages", "versions"):
            target.execute(f"DELETE FROM {table} {where}", [app])  # noqa: S608

    def _apply(self, news: ExportNews) -> LoadReport:
        target, state = self._target, self._state
        state["run"] = str(news.run)
        for each in news.exports:
            state |= {f"{_RUN_KEY}{each.view.export}": run for run in _identified_runs(each)[-1:]}
        batches = (batch for each in news.exports for batch in each.batches(each.news))
        conflict = "" if self._is_first else _UPSERT
        target.insert("messages", _MESSAGE, map(self._news_batch, batches), conflict)
        target.insert("versions", _MESSAGE, self._versions(news))
        self._load_tables(news)
        if self._is_first:
            self._add_indexes_and_views()
        if state["deleted"] == "blank" and (
            self._counts or self._rows or self._stored_state.get("deleted") != "blank"
        ):
            self._counts["blanked"] = target.execute(f"SELECT count(*) FROM messages WHERE {BLANKED}")[0][0]  # noqa: S608
            target.erase(BLANK)
            _erase_in_others(target)
        if state != self._stored_state:
            value = target.dialect.placeholder
            target.execute(f"DELETE FROM {STATE}")  # noqa: S608
            for item in state.items():
                target.execute(f"INSERT INTO {STATE} VALUES({value}, {value})", item)
        counts = {kind: self._counts[kind] for kind in (*_KINDS, "blanked", "removed", "replaced")}
        return LoadReport(run=news.run, tables=dict(self._rows), **counts)

    def _other_export_error(self) -> RequestInvalidError:
        return RequestInvalidError(
            f"{self._target.name} was loaded from another export than {self._out}, or from one that was made "
            "again: load into a new database, or remove this one"
        )

    def _news_batch(self, news: NewsBatch) -> Batch:
        batch = self._message_batch(news.view, news.raws, "not_shown" if news.kind == "deleted" else None)
        [*_, reasons, _] = batch
        present = reasons.count(None)
        self._counts[news.kind] += present
        self._counts["deleted"] += len(news.raws) - present
        self._progress(sum(self._counts[kind] for kind in _KINDS))
        return batch

    def _message_batch(self, view: FolderView, raws: list[bytes], reason: str | None) -> Batch:
        raws, replaced = clean_records(raws)
        if replaced:
            self._counts["replaced"] += replaced
        values = message_values(raws)
        reasons = ["by_author" if each else reason for each in values[_DELETED_AT]]
        return [[app_of(view.export)] * len(raws), *values, reasons, raws]

    def _versions(self, news: ExportNews) -> Iterator[Batch]:
        for each in news.exports:
            for batch in batched(chain.from_iterable(each.versions())):
                yield self._message_batch(each.view, batch, None)

    def _load_tables(self, news: ExportNews) -> None:
        files: dict[str, list[tuple[FolderView, TableEntry]]] = {table: [] for table in TABLE_COLUMNS}
        for each in news.exports:
            for entry in table_entries(each.view):
                files[entry.table].append((each.view, entry))
        for table, entries in files.items():
            key, value = (
                f"table {table}",
                " ".join(f"{view.export}:{entry.sha256}" for view, entry in entries),
            )
            if self._stored_state.get(key, "") != value:
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

    def _add_indexes_and_views(self) -> None:
        target = self._target
        unique, *others = INDEXES
        target.execute("SAVEPOINT ids")
        try:
            target.execute(unique)
        except target.errors:  # ids that differ only in characters that no database holds
            target.execute("ROLLBACK TO SAVEPOINT ids")
            target.execute(
                "DELETE FROM messages WHERE place NOT IN (SELECT max(place) FROM messages GROUP BY id, app)"
            )
            target.execute(unique)
        for sql in (*others, *views(target.dialect)):
            target.execute(sql)


def _erase_in_others(target: Database) -> None:
    """Remove the contents of deleted messages from the records of others: their actions, who quotes them."""
    value, text = target.dialect.placeholder, "CAST(raw AS TEXT)"
    keys: dict[str, tuple[str, int | str]] = {"messages": ("place", 0), "versions": ("version", 0)}
    keys |= dict.fromkeys(TABLE_COLUMNS, target.dialect.row_key)
    for table, (key, last) in keys.items():
        select = (
            f"SELECT {key}, app, {text} FROM {table} WHERE {key} > {value}"  # noqa: S608
            f" AND ({' OR '.join([f'{text} LIKE {value}'] * len(HINTS))}) ORDER BY {key}"
            f" LIMIT {_ROWS_AT_ONCE}"
        )
        while rows := target.execute(select, [last, *(f"%{hint}%" for hint in HINTS)]):
            last = rows[-1][0]
            for row_key, app, record in rows:
                raw = record.encode()
                erased = without_deleted_texts(raw, False, partial(_is_deleted, target, app))
                if erased is not raw:
                    update = f"UPDATE {table} SET raw = {value} WHERE {key} = {value}"  # noqa: S608
                    target.execute(update, [erased.decode(), row_key])


def _is_deleted(target: Database, app: str, id: Any) -> bool:
    value = target.dialect.placeholder
    sql = f"SELECT 1 FROM messages WHERE id = {value} AND app = {value} AND deleted_reason IS NOT NULL"  # noqa: S608
    return isinstance(id, str | int) and bool(target.execute(sql, [str(id), app]))


def _identified_runs(news: JournalNews) -> list[str]:
    """Return the runs of an export that have ended, oldest first, as texts that no other export has."""
    entries = runs_in(news.view.folder)
    return [f"{news.app_id} {entry.run} {entry.started} {entry.finished}" for entry in entries]
