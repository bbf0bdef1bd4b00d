"""Write a static site, or bring it up to date: only what has changed is written.

```
read all → index (a file that is thrown away) → pages, terms → shards → lists → index.html, the last of all
```

`SITE/.chatrest/site.sqlite` knows the hash of each file that was written, and the terms of each page. Before
the first change of a run `index.html` says that the site is not complete, so a kill leaves none that looks
whole, and the next run writes what is left. Each file is replaced by renaming a new one.
"""

import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from hashlib import blake2b
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, final

from msgspec import Struct

from ..cloud.address import is_address
from ..errors import RequestInvalidError
from ..export import attachment_files, read_raw, read_table
from ..storage import JournalFile, Layout
from ..times import Time
from .index import Choice, ConversationEntry, Index
from .items import Item
from .pages import TEMPLATES, PageCut, Pages, parts_of
from .search import TermIndex, meta, page_terms, script

STATE: Final = ".chatrest"
_INDEX: Final = "index.html"
_SCHEMA: Final = """
CREATE TABLE files(path TEXT PRIMARY KEY, digest BLOB NOT NULL, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pages(number INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, digest BLOB, terms BLOB);
CREATE TABLE state(is_complete INTEGER NOT NULL)
"""
_LAYOUT: Final = Layout(
    "chatrest html",
    _SCHEMA,
    version=1,
    application=0x63_72_68_74,
    remedy="remove the site, and write it again",
)
_COMMIT_EVERY: Final = 500
"""Files after which the state is committed: a kill costs that they are written again."""
_IN_FOLDER: Final = 1000
_STATIC: Final = ("site.css", "site.js")
OnProgress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a phase, what is done of it, and what there is; None where that is not known yet."""


@final
class SiteResult(Struct, frozen=True):
    """The counts of a site, and of this run."""

    messages: int
    conversations: int
    pages: int
    written: int
    """Files that were written, as they were new or had changed."""
    removed: int
    """Files that are no part of the site any more."""
    missing: int
    """Attachments that the export should have, and that are not there."""


def write_site(
    out: str | PathLike[str],
    site: str | PathLike[str],
    *,
    conversations: Iterable[str] = (),
    users: Iterable[str] = (),
    since: Time | None = None,
    until: Time | None = None,
    title: str | None = None,
    redact: bool = False,
    progress: OnProgress = lambda *_: None,
) -> SiteResult:
    """Write the messages of the export in `out` as a site of static pages into the folder `site`.

    - `conversations`: only those of these ids; `users`: only those that one of these uids takes part in.
    - `since`, `until`: only messages sent in that time, as `read` takes it.
    - `redact`: hide phone numbers and e-mail addresses, in the names of files, too.

    Memory is flat; the folder needs temporary space for all records. It reads and writes a disk, and blocks.
    Raises `RequestInvalidError` for a wrong argument, for a folder with something else in it, where another
    process writes there, and for a choice without messages; `ChatRestError` for a damaged export; OSError.
    """
    folder = Path(site)
    _check_folder(out, folder)
    choice = Choice(frozenset(conversations), frozenset(users), redact)
    records = read_raw(out, since=since, until=until)
    with ExitStack() as stack:
        (folder / STATE).mkdir(parents=True, exist_ok=True)
        state = stack.enter_context(_State(folder))
        scratch = Path(stack.enter_context(TemporaryDirectory(dir=folder / STATE, prefix="work-")))
        index = stack.enter_context(Index(scratch / "index.sqlite", choice))
        index.add(records, lambda count: progress("reading", count, None))
        tables = (read_table(out, name) for name in ("users", "groups", "attachments"))
        index.add_tables(*tables)
        index.finish()
        if (choice.conversations or choice.users) and not index.count("messages"):
            raise RequestInvalidError(
                f"{out}: no message is of {_named(choice)}: allowed are those of the export"
            )
        files = stack.enter_context(attachment_files(out))
        pages = Pages(index, title or "Messages")
        return _Writer(state, pages, TermIndex(scratch), files, progress).write()


def _check_folder(out: str | PathLike[str], folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is not a folder: a site is a folder of pages")
    is_site = (folder / STATE).is_dir() or not folder.exists() or not any(folder.iterdir())
    if not is_site:
        raise RequestInvalidError(
            f"{folder} has files that are not of a site: name a new or empty folder, or one with a site"
        )
    if not (isinstance(out, str) and is_address(out)):
        export, site = Path(out).resolve(), folder.resolve()
        if export.is_relative_to(site) or site.is_relative_to(export):
            raise RequestInvalidError(
                f"{folder} is in the folder of the export, or around it: name another one"
            )


def _named(choice: Choice) -> str:
    conversations = [f"conversation {each!r}" for each in sorted(choice.conversations)]
    return ", ".join([*conversations, *(f"user {uid!r}" for uid in sorted(choice.users))])


@cache
def _generation() -> bytes:
    """Return a hash of the code and templates: pages of another version are written again."""
    digest = blake2b(digest_size=16)
    for path in sorted(chain(TEMPLATES.parent.glob("*.py"), TEMPLATES.iterdir())):
        digest.update(path.read_bytes())
    return digest.digest()


# ── what is written ──


@final
class _State(JournalFile):
    """The files of a site, and the page numbers of the search; open while this process writes it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / STATE / "site.sqlite", _LAYOUT, _begin)
        self._db.execute("PRAGMA synchronous=OFF")  # a site that a loss of power takes is written again
        for left in (folder / STATE).glob("work-*"):  # of a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        self.folder = folder
        self.written = self.removed = 0
        self._touched = set[str]()
        [(self._is_complete,)] = self._all("SELECT is_complete FROM state")
        self._db.execute("BEGIN")

    def write(self, name: str, data: bytes, digest: bytes = b"") -> None:
        """Write a file of the site, if it is not there with this content, or with what `digest` is of."""
        digest = digest or blake2b(data, digest_size=16).digest()
        if not self.is_there(name, digest):
            self._replace(name, data)
            self._note(name, digest, len(data))

    def is_there(self, name: str, digest: bytes | None = None) -> bool:
        """Return True for a file that was written, with this content, and has its size; it is kept."""
        self._touched.add(name)
        row = self._db.execute("SELECT digest, size FROM files WHERE path = ?", (name,)).fetchone()
        if row is None or (digest is not None and bytes(row[0]) != digest):
            return False
        try:
            return (self.folder / name).stat().st_size == int(row[1])
        except OSError:
            return False

    def copy(self, name: str, source: Path) -> bool:
        """Copy an attachment; False where it is not there."""
        if self.is_there(name):
            return True
        if not source.is_file():
            return False
        self._replace(name, source)
        self._note(name, b"", source.stat().st_size)
        return True

    def _replace(self, name: str, data: bytes | Path) -> None:
        self._say_incomplete()
        path = self.folder / name
        new = path.with_name(f"{path.name}.new")
        try:
            new.write_bytes(data) if isinstance(data, bytes) else shutil.copyfile(data, new)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(data) if isinstance(data, bytes) else shutil.copyfile(data, new)
        new.replace(path)
        self.written += 1

    def _note(self, name: str, digest: bytes, size: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?)", (name, digest, size))
        if self.written % _COMMIT_EVERY == 0:
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")

    placeholder: bytes = b""
    """The content of index.html while the site is not complete."""

    def _say_incomplete(self) -> None:
        """Have index.html say that the site is not complete, before anything of it is changed."""
        if not self._is_complete:
            return
        self._is_complete = 0
        self._db.execute("UPDATE state SET is_complete = 0")
        self._db.execute("DELETE FROM files WHERE path = ?", (_INDEX,))
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")
        self._replace(_INDEX, self.placeholder)

    def begin(self) -> None:
        """Have index.html of a new site, and of one that a kill has left, say that it is not complete."""
        path = self.folder / _INDEX
        if not self._is_complete and not (path.exists() and path.read_bytes() == self.placeholder):
            self._replace(_INDEX, self.placeholder)

    def finish(self) -> None:
        """Note that the site is complete, and remove what is no part of it."""
        names = [name for (name,) in self._db.execute("SELECT path FROM files")]
        for name in names:
            if name not in self._touched:
                (self.folder / name).unlink(missing_ok=True)
                self._db.execute("DELETE FROM files WHERE path = ?", (name,))
                self.removed += 1
        if not self._is_complete:
            self._db.execute("UPDATE state SET is_complete = 1")
        self._db.execute("COMMIT")
        for name in {str(Path(name).parent) for name in names} if self.removed else ():
            self._remove_empty(self.folder / name)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.folder and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent

    # ── pages of the search ──

    def page(self, path: str) -> tuple[int, bytes, bytes] | None:
        """Return number, digest and packed terms of a page."""
        row = self._db.execute("SELECT number, digest, terms FROM pages WHERE path = ?", (path,)).fetchone()
        return None if row is None else (row[0], bytes(row[1]), bytes(row[2]))

    def number(self, path: str) -> int:
        """Return the number of a page, the next one for a new one."""
        self._db.execute("INSERT OR IGNORE INTO pages(path, digest, terms) VALUES(?, '', '')", (path,))
        [number] = self._db.execute("SELECT number FROM pages WHERE path = ?", (path,)).fetchone()
        return int(number)

    def note_page(self, number: int, digest: bytes, terms: bytes) -> None:
        self._db.execute("UPDATE pages SET digest = ?, terms = ? WHERE number = ?", (digest, terms, number))


def _begin(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO state VALUES(0)")


@final
class _Writer:
    """Writes all of a site, in the order in which it becomes whole."""

    def __init__(
        self, state: _State, pages: Pages, terms: TermIndex, files: Any, progress: OnProgress
    ) -> None:
        self._state = state
        self._pages = pages
        self._index = pages.index
        self._terms = terms
        self._files = files
        self._progress = progress
        self._times: list[tuple[int, int, int]] = []
        self._missing = 0

    def write(self) -> SiteResult:
        state, index = self._state, self._index
        state.placeholder = _bytes(self._pages.unfinished())
        state.begin()
        for name in _STATIC:
            state.write(name, (TEMPLATES / name).read_bytes())
        done, messages = 0, index.count("messages")
        for conversation in index.conversations():
            for count in self._conversation(conversation):
                done += count
                self._progress("writing", done, messages)
        self._people()
        self._search()
        conversations = index.count("conversations")
        parts = parts_of(conversations)
        for part in range(parts, 0, -1):
            state.write(_list_name("index", part), _bytes(self._pages.index_page(part, parts)))
        state.finish()
        return SiteResult(
            messages, conversations, index.count("pages"), state.written, state.removed, self._missing
        )

    def _conversation(self, conversation: ConversationEntry) -> Iterator[int]:
        """Write the pages of a conversation, and yield the numbers of their messages."""
        pages, state, folder = self._pages, self._state, f"c/{conversation.name}"
        cuts = pages.cuts(conversation)
        for cut in cuts:
            self._page(conversation, cut, len(cuts), folder)
            yield cut.messages
        if len(cuts) > 1:
            state.write(f"{folder}/days.html", _bytes(pages.days(conversation, len(cuts))))
            state.write(f"{folder}/last.html", _bytes(pages.last(conversation, len(cuts))))
        for page, html in pages.threads(conversation):
            state.write(f"{folder}/threads-{page}.html", _bytes(html))

    def _page(self, conversation: ConversationEntry, cut: PageCut, count: int, folder: str) -> None:
        state, pages = self._state, self._pages
        items = pages.items(conversation, cut)
        path, source = f"{folder}/{cut.page}.html", f"{folder}/{cut.page}-source.html"
        html = _bytes(pages.page(conversation, cut, items, count))
        hashed = blake2b(_generation(), digest_size=16)
        hashed.update(html)
        for item in items:
            hashed.update(item.raw)
        digest, known = hashed.digest(), state.page(path)
        number = state.number(path) if known is None else known[0]
        texts = f"search/p/{number // _IN_FOLDER}/{number}.js"
        wholes = {f"{folder}/{item.anchor}.html": item for item in items if item.is_long}
        self._copy_files(items)
        are_there = [state.is_there(name, digest) for name in (path, source, texts, *wholes)]
        if known is not None and known[1] == digest and all(are_there):
            unpacked = zlib.decompress(known[2]).decode()
            self._terms.add(number, unpacked.split("\n") if unpacked else ())
        else:
            data, terms = _search_texts(conversation, path, items)
            state.write(path, html, digest)
            state.write(source, _bytes(pages.source(conversation, cut, items)), digest)
            state.write(texts, data, digest)
            for name, item in wholes.items():
                state.write(name, _bytes(pages.whole(conversation, cut.page, item)), digest)
            state.note_page(number, digest, zlib.compress("\n".join(terms).encode(), 1))
            self._terms.add(number, terms)
        self._times.append((number, cut.time, cut.last))

    def _copy_files(self, items: list[Item]) -> None:
        for file in (file for item in items for file in item.files if file.stored):
            if not self._state.is_there(file.href):
                with self._files(file.stored) as path:
                    self._missing += not self._state.copy(file.href, path)

    def _people(self) -> None:
        for person in self._index.everybody():
            self._state.write(f"u/{person.file}.html", _bytes(self._pages.person(person)))
        parts = parts_of(self._index.writers())
        for part in range(1, parts + 1):
            self._state.write(_list_name("people", part), _bytes(self._pages.people_page(part, parts)))

    def _search(self) -> None:
        firsts = list[tuple[str, str]]()
        for first, name, data in self._terms.shards():
            self._state.write(f"search/w/{name}.js", data)
            firsts.append((first, name))
            self._progress("search", len(firsts), None)
        self._state.write("search/meta.js", meta(firsts, sorted(self._times)))


def _search_texts(conversation: ConversationEntry, path: str, items: list[Item]) -> tuple[bytes, set[str]]:
    """Return the script with the texts of a page, and the terms of the page."""
    people: dict[int, int] = {}
    named, messages = list[tuple[str, str]](), list[tuple[Any, ...]]()
    for item in items:
        person = item.sender
        if person.number not in people:
            people[person.number] = len(people)
            named.append((person.uid, person.name))
        if text := item.searched:
            messages.append((str(item.rank), people[person.number], item.time, text))
    data = {"title": conversation.title, "path": path, "people": named, "messages": messages}
    return script(data), page_terms(conversation.title, named, [message[3] for message in messages])


def _list_name(name: str, part: int) -> str:
    return f"{name}.html" if part == 1 else f"{name}-{part}.html"


def _bytes(html: str) -> bytes:
    return html.encode("utf-8", "replace")
