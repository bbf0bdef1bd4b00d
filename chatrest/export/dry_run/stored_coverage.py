"""What a folder holds already, read without making or changing any file in it.

SQLite itself leaves files behind where it only reads: of a journal that nobody closed it makes an index,
and of one that is closed both an index and a log. So a closed one is opened as what cannot change, and one
that a crash has left is copied and read elsewhere.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final, NamedTuple

from ...core.intervals import Interval, merge
from ...errors import RequestInvalidError
from .. import journal as journals
from ..archive import agreed
from ..opening import claim_folder
from ..ownership import Source
from ..plan import Plan

_NOTHING: Final[Mapping[Source, list[Interval]]] = MappingProxyType({})


class StoredCoverage(NamedTuple):
    """What an export covers; nothing of it where there is none."""

    plan: Plan | None = None
    sources: tuple[Source, ...] = ()
    """Those that the next run walks, too."""
    spans: Mapping[Source, list[Interval]] = _NOTHING


def held(folder: Path, plan: Plan | None, app_id: str) -> StoredCoverage:
    """What `folder` holds; `RequestInvalidError` where an export with this plan cannot go there."""
    if not folder.exists():
        return StoredCoverage()
    claim_folder(folder)  # of a folder that is there it makes nothing
    journal = folder / journals.NAME
    if not journal.exists():
        return StoredCoverage()
    try:
        with _opened(journal) as db:
            return _read(db, folder, plan, app_id)
    except sqlite3.Error as error:
        raise RequestInvalidError(f"{journal}: {error}") from None


def _read(db: sqlite3.Connection, folder: Path, plan: Plan | None, app_id: str) -> StoredCoverage:
    [tables] = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        return StoredCoverage()
    found = agreed(folder, dict(db.execute("SELECT name, value FROM meta")), plan, app_id)
    known = db.execute("SELECT source FROM sources WHERE state != 'gone' ORDER BY number")
    spans: dict[Source, list[Interval]] = {}
    covered = (
        "SELECT source.source, first, last FROM covered JOIN sources AS source ON number = covered.source"
    )
    for key, first, last in db.execute(covered):
        spans.setdefault(Source.parse(key), []).append(Interval(first, last))
    merged_spans = {source: merge(its) for source, its in spans.items()}
    return StoredCoverage(found, tuple(Source.parse(key) for (key,) in known), merged_spans)


@contextmanager
def _opened(journal: Path) -> Iterator[sqlite3.Connection]:
    log = journal.with_name(journal.name + "-wal")
    if not log.exists():
        with closing(_connected(journal, "&immutable=1")) as db:
            yield db
        return
    if _is_in_use(journal):
        raise RequestInvalidError(f"{journal}: another export is writing here")
    with TemporaryDirectory(prefix="chatrest-") as elsewhere:
        for path in (journal, log):
            shutil.copyfile(path, Path(elsewhere) / path.name)
        with closing(sqlite3.connect(Path(elsewhere) / journal.name)) as db:
            yield db


def _is_in_use(journal: Path) -> bool:
    """Whether a process has it open. In this mode SQLite makes no file, and cannot read a log either."""
    with closing(_connected(journal)) as db:
        try:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            return "locked" in str(error)
    return False


def _connected(journal: Path, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{journal.resolve().as_uri()}?mode=ro{more}", uri=True, timeout=0)
