"""The files of a site: which there are, and what the pages of its conversations were made of.

Used while this process writes the site, which no one else may meanwhile. Files are written under another name
and renamed; those that a run has not used are removed at its end.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

import msgspec
from msgspec import Struct

from .._storage import JournalFile, Layout
from ..errors import RequestInvalidError

VIEW: Final = ".view"
"""The end of the name of a folder beside an export, in which the viewer has its site."""
_STATE: Final = ".chatrest"
_NAME: Final = "site.sqlite"
_INDEX: Final = "index.html"
_SCHEMA: Final = """
CREATE TABLE files(path TEXT PRIMARY KEY, size INTEGER NOT NULL, run INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pages(number INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, hash BLOB NOT NULL DEFAULT '',
    dependencies BLOB, files TEXT NOT NULL DEFAULT '[]', terms BLOB,
    hidden TEXT);
CREATE TABLE state(run INTEGER NOT NULL, is_complete INTEGER NOT NULL, has_search INTEGER NOT NULL,
    first_runs TEXT NOT NULL, made TEXT NOT NULL);
INSERT INTO state VALUES(0, 0, 0, '[]', '')
"""
_LAYOUT: Final = Layout(
    "chatrest html",
    _SCHEMA,
    version=6,
    application=0x63_72_68_74,
    remedy="remove the site, and write it again",
)
_HIDDEN: Final = list[tuple[str, dict[str, int]]]
_COMMIT_EVERY: Final = 500
"""Files after which the state is committed: a kill costs that they are written again."""
_AT_ONCE: Final = 1_000


class OtherExportError(RequestInvalidError):
    """A site is of another export."""


def state_folder(site: Path) -> Path:
    """Return the folder that only later runs need: beside the site, so that it is not passed on with it."""
    site = site.resolve()
    return site.with_name(f"{site.name}{_STATE}")


def names_of(site: Path) -> list[str]:
    """Return the names of the files of a site, below its folder; raises `RequestInvalidError` without one."""
    path = state_folder(site) / _NAME
    if not path.is_file():
        raise RequestInvalidError(
            f"{site} is not a site: {path} is not there, which has the names of its files"
        )
    with closing(sqlite3.connect(path)) as db:
        return [name for (name,) in db.execute("SELECT path FROM files ORDER BY path")]


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """Give the path of a new file, which replaces `path` at the end; an error leaves what was there."""
    new = path.with_name(f"{path.name}.new")
    try:
        yield new
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """Open a new text file, which replaces `path` at the end; an error leaves what was there."""
    with new_path(path) as new, new.open("w", encoding="utf-8", errors="replace", newline="") as file:
        yield file


def _encoded(content: bytes | str) -> bytes:
    return content.encode("utf-8", "replace") if isinstance(content, str) else content


class KnownPage(Struct):
    """A page of a conversation; without a hash it was never made."""

    number: int
    """By which the search knows it; given once."""
    path: str
    hash: bytes
    """Of what it was made of."""
    dependencies: bytes
    files: list[str]
    """What was written with it."""
    terms: bytes = b""
    """Packed; set where it is made."""
    hidden: list[tuple[str, dict[str, int]]] = []
    """The ids of messages with how often something of a kind was hidden in them; set where it is made."""


class SiteFiles(JournalFile):
    """The files of the site in `folder`; with `links` attachments are hard links where the disk has them."""

    def __init__(self, folder: Path, *, links: bool) -> None:
        super().__init__(state_folder(folder) / _NAME, _LAYOUT, lambda _: None)
        self._db.execute("PRAGMA synchronous=OFF")  # a site that a loss of power takes is written again
        for leftover in state_folder(folder).glob("work-*"):  # of a run that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        self.folder, self._links = folder, links
        self.written = self.removed = 0
        self._placeholder = b""
        [(run, self._is_complete, self._has_search, first_runs, self.made)] = self._all("SELECT * FROM state")
        self._first_runs: list[str] = msgspec.json.decode(first_runs)
        self._run = run + 1
        self._db.execute("UPDATE state SET run = ?", (self._run,))
        self._db.execute("BEGIN")

    def check_is_of(self, out: object, first_runs: list[str]) -> None:
        """Raise `OtherExportError` for a site of an export whose first run was none of these."""
        if self._first_runs and first_runs and not {*self._first_runs} & {*first_runs}:
            raise OtherExportError(
                f"{self.folder} is a site of another export than {out}, or of one that was made again: "
                f"expected another folder; or remove it, and {state_folder(self.folder)}"
            )
        self._db.execute("UPDATE state SET first_runs = ?", (msgspec.json.encode(first_runs).decode(),))

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file of the site, if it is not there with this content."""
        data = _encoded(content)
        if not self._has(name, data):
            self._replace(name, data)

    def _has(self, name: str, data: bytes) -> bool:
        return self.keep(name, len(data)) and (self.folder / name).read_bytes() == data

    def write_last(self, files_of: Callable[[str], dict[str, str | bytes]], now: str) -> None:
        """Write the files that state when the pages were made: `now`, or as before if no file has changed."""
        files = files_of(self.made).items()
        if self.written or not all(self._has(name, _encoded(content)) for name, content in files):
            self.made = now
            self._db.execute("UPDATE state SET made = ?", (now,))
        for name, content in files_of(self.made).items():
            self.write(name, content)

    def keep(self, name: str, size: int | None = None) -> bool:
        """Keep a file that is there in its size as a part of the site; return False if it is not there."""
        for known, run in self._all("SELECT size, run FROM files WHERE path = ?", name):
            if run != self._run:
                self._db.execute("UPDATE files SET run = ? WHERE path = ?", (self._run, name))
            with suppress(OSError):
                return (self.folder / name).stat().st_size == known and size in (None, known)
        return False

    def copy(self, name: str, source: Path) -> bool:
        """Copy an attachment; False if it is not there."""
        if not source.is_file():
            return False
        self._replace(name, source)
        return True

    def _replace(self, name: str, data: bytes | Path) -> None:
        self._mark_incomplete()
        path = self.folder / name
        new = path.with_name(f"{path.name}.new")
        try:
            size = self._write_new(new, data)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            size = self._write_new(new, data)
        new.replace(path)
        self.written += 1
        self._db.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?)", (name, size, self._run))
        if self.written % _COMMIT_EVERY == 0:
            self._commit()

    def _write_new(self, path: Path, data: bytes | Path) -> int:
        if isinstance(data, bytes):
            return path.write_bytes(data)
        if self._links:
            with suppress(OSError):  # another disk, or one without links
                path.hardlink_to(data)
                return path.stat().st_size
        return Path(shutil.copyfile(data, path)).stat().st_size

    def _commit(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def begin(self, placeholder: str) -> None:
        """Have index.html of a new site, and of one that a kill has left, be `placeholder`, until the end.

        That of a complete site becomes it before anything of it is changed.
        """
        self._placeholder = placeholder.encode()
        if not self._is_complete:
            for leftover in self.folder.rglob("*.new"):  # of a killed run, which may have hidden less
                leftover.unlink()
            self.write(_INDEX, placeholder)

    def _mark_incomplete(self) -> None:
        if not self._is_complete:
            return
        self._is_complete = 0
        self._db.execute("UPDATE state SET is_complete = 0")
        self._commit()
        self._replace(_INDEX, self._placeholder)

    def finish(self) -> None:
        """Note that the site is complete, and remove what is no part of it."""
        folders = set[Path]()
        while names := self._all("SELECT path FROM files WHERE run != ? LIMIT ?", self._run, _AT_ONCE):
            for (name,) in names:
                (self.folder / name).unlink(missing_ok=True)
                folders.add((self.folder / name).parent)
            self._db.executemany("DELETE FROM files WHERE path = ?", names)
            self.removed += len(names)
        self._db.execute("UPDATE state SET is_complete = 1, has_search = 1")
        self._db.execute("COMMIT")
        for folder in folders:
            self._remove_empty(folder)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.folder and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    def page(self, path: str) -> KnownPage:
        """Return a page, with the next number if it is new."""
        sql = "SELECT number, path, hash, dependencies, files FROM pages WHERE path = ?"
        if not (rows := self._all(sql, path)):
            self._db.execute("INSERT INTO pages(path) VALUES(?)", (path,))
            rows = self._all(sql, path)
        number, path, digest, dependencies, files = rows[0]
        return KnownPage(number, path, digest, dependencies, msgspec.json.decode(files))

    def note_page(self, page: KnownPage) -> None:
        """Note what a page is made of; the index of the search is to be made again."""
        self._mark_search_stale()
        self._db.execute(
            "UPDATE pages SET hash = ?, dependencies = ?, files = ?, terms = ?, hidden = ? WHERE number = ?",
            (
                page.hash, page.dependencies, msgspec.json.encode(page.files).decode(), page.terms,
                msgspec.json.encode(page.hidden) if page.hidden else None, page.number,
            ),
        )  # fmt: skip

    def _mark_search_stale(self) -> None:
        if self._has_search:
            self._has_search = 0
            self._db.execute("UPDATE state SET has_search = 0")

    def remove_gone_pages(self) -> None:
        """Forget the pages of which this run has kept or written no file."""
        gone = "path NOT IN (SELECT path FROM files WHERE run = ?)"
        if self._db.execute(f"DELETE FROM pages WHERE {gone}", (self._run,)).rowcount:  # noqa: S608
            self._mark_search_stale()

    def keep_search(self) -> bool:
        """Keep the files of the search, and return True if they are there and no page has changed."""
        names = [name for (name,) in self._all("SELECT path FROM files WHERE path GLOB 'search/[wm]*'")]
        return bool(self._has_search) and all(map(self.keep, names))

    def hidden(self) -> Iterator[tuple[str, str, dict[str, int]]]:
        """Yield (page, id of the message, counts by kind) of each message in which something was hidden."""
        sql = "SELECT path, hidden FROM pages WHERE hidden NOT NULL ORDER BY number"
        for path, rows in self._db.execute(sql):
            yield from ((path, *row) for row in msgspec.json.decode(rows, type=_HIDDEN))

    def page_terms(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._db.execute("SELECT number, terms FROM pages ORDER BY number"))
