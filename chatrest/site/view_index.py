"""The index of the viewer: beside the export, and with a full-text search of SQLite (FTS5).

The search has the terms of each message, as a static site has them of each page, so both find the same: the
terms give candidates, and their texts are compared. It is brought up to date when the export has changed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from .._cloud.address import is_address
from ..database.load import OnCount
from ..errors import RequestInvalidError
from ..export import read_raw
from .index import COLUMNS, EVERYTHING, Choice, ConversationEntry, Index, MessageEntry
from .index_build import bring_up_to_date, database_of
from .items import Item, Items
from .pages import SearchWords
from .text import Query, folded, terms

SUFFIX: Final = ".view.sqlite"
_FILLED_AT_ONCE: Final = 500
FOUND: Final = 200
"""Results on one page."""
_AROUND: Final = 80
# What is stored are terms with spaces between: whatever is not a space is part of one.
_SCHEMA: Final = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(terms, content='', detail=none,
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* S* P* C*'")""",
    """CREATE TABLE IF NOT EXISTS texted(number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER UNIQUE,
    sign INTEGER)""",
)
# A message that has changed gets a new number: what the full text has of the old one leads nowhere then.
_STALE: Final = """
DELETE FROM texted WHERE NOT EXISTS (
    SELECT 1 FROM posts p WHERE p.place = texted.place AND p.sign * 2 + p.flags = texted.sign)
"""
_NEW: Final = """
LEFT JOIN texted t ON t.place = p.place WHERE t.place IS NULL AND p.place > ? ORDER BY p.place LIMIT ?
"""
_ADDED: Final = "INSERT INTO texted(place, sign) SELECT place, sign * 2 + flags FROM posts WHERE place = ?"


def index_path(out: str | PathLike[str]) -> Path:
    """Return the path of the index: beside the export's folder; of an object store, in the current folder."""
    if isinstance(out, str) and is_address(out):
        return Path(f"{out.rstrip('/').rpartition('/')[2]}{SUFFIX}")
    folder = Path(out).resolve()
    return folder.with_name(f"{folder.name}{SUFFIX}")


class ViewIndex(Index):
    """The index of the export in `out`; made or brought up to date by `update`."""

    def __init__(self, out: str | PathLike[str], choice: Choice = EVERYTHING) -> None:
        self._out = out
        self.path = index_path(out)
        self._database = database_of(out, Path())
        if not self.path.exists():
            next(read_raw(out), None)  # nothing is made for what is no export
        with self._errors():
            super().__init__(self.path, choice)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise RequestInvalidError(f"{self.path}: {error}") from None
        except sqlite3.DatabaseError as error:
            raise RequestInvalidError(
                f"{self.path} is not an index of this viewer ({error}): move it away, and it is made again"
            ) from None

    def update(self, on_count: OnCount = lambda _: None) -> None:
        """Take in what has changed since the last time."""
        with self._errors():
            bring_up_to_date(self, self._out, self._database, on_count, self._add_terms)

    def _add_terms(self) -> None:
        for sql in _SCHEMA:
            self.db.execute(sql)
        self.db.execute(_STALE)
        last, items = 0, Items(self)
        while new := self.stored(_NEW, last, _FILLED_AT_ONCE):
            for stored, item in zip(new, items.of(new), strict=True):
                number = self.db.execute(_ADDED, (stored.place,)).lastrowid
                own_terms = " ".join(terms(folded(item.searched)))
                self.db.execute("INSERT INTO texts(rowid, terms) VALUES(?, ?)", (number, own_terms))
            last = new[-1].place

    def candidates(
        self, query: Query, since: int | None, until: int | None
    ) -> Iterator[tuple[int, MessageEntry]]:
        """Yield messages that have the terms of a query, with their conversation, newest first.

        Times are milliseconds, `until` is not included.
        """
        matched = " ".join(f'"{term}"*' for term in sorted(query.terms()))
        source = "texts JOIN texted t ON t.number = texts.rowid JOIN posts p ON p.place = t.place"
        rows = self.db.execute(
            f"SELECT p.conversation, {COLUMNS} FROM {source if matched else 'posts p'}"  # noqa: S608
            " CROSS JOIN chat.messages m ON m.place = p.place"
            f" WHERE {'texts MATCH ?' if matched else '? = 0'} AND p.time >= ? AND p.time < ?"
            " ORDER BY p.time DESC, p.rank DESC",
            (matched or 0, since or 0, 1 << 62 if until is None else until),
        )
        return ((conversation, MessageEntry._make(rest)) for conversation, *rest in rows)

    def stored_file(self, digest: str) -> str | None:
        """Return the name in the export of the attachment with this SHA-256."""
        prefix = f"files/{digest[:2]}/{digest}"
        rows = self._all("SELECT file FROM files WHERE file GLOB ? LIMIT 1", f"{prefix}*")
        return rows[0][0] if rows else None


class SearchResult(NamedTuple):
    """A result: its message, its place, and its text around what was searched for."""

    href: str
    name: str
    title: str
    at: str
    iso: str
    before: str
    match: str
    after: str


class SearchResults(NamedTuple):
    """Results, the newest first; `older` are those that come before the next ones, 0 where there are none."""

    entries: list[SearchResult]
    words: str
    older: int


def search(index: ViewIndex, words: SearchWords, skip: int = 0) -> SearchResults:
    """Return what a search finds, without the first `skip` results."""
    query, person, title = map(Query.parse, (words.q, words.person, words.conversation))
    begin = Items(index).zone.begin
    since, until = begin(words.since, 0), begin(words.until, 1)
    if since is None and until is None and not any((query.chunks, person.chunks, title.chunks)):
        return SearchResults([], "Write what to search for.", 0)
    is_person = lru_cache(10_000)(lambda number: person.matches(" ".join(index.person(number)[1:3])))
    conversation = lru_cache(10_000)(index.conversation)
    is_titled = lru_cache(10_000)(lambda number: title.matches(conversation(number).title))
    items = Items(index)
    candidates = index.candidates(query, since, until)
    matches = (
        (conversation(number), item)
        for number, stored in candidates
        if is_person(stored.sender) and is_titled(number)
        for item in items.of([stored])
        if item.searched and query.matches(item.searched)
    )
    entries = [_result(index, each, item, query) for each, item in islice(matches, skip, skip + FOUND)]
    is_more = next(matches, None) is not None
    count = f"{skip + 1:,} to {skip + len(entries):,} found" if skip or is_more else f"{len(entries):,} found"
    return SearchResults(entries, count, skip + FOUND if is_more else 0)


def _result(index: ViewIndex, conversation: ConversationEntry, item: Item, query: Query) -> SearchResult:
    place = index.place(conversation.app, item.rank)
    assert place is not None, "it is in the index"
    text = " ".join(item.searched.split())
    letters = folded(text)
    at = letters.find(query.chunks[0]) if query.chunks and len(letters) == len(text) else -1
    begin, end = (0, 0) if at < 0 else (at, at + len(query.chunks[0]))
    start = max(0, begin - _AROUND)
    return SearchResult(
        f"c/{place.name}/{place.page}.html#{item.anchor}", item.sender.name, conversation.title, item.at,
        item.iso, f"{'…' if start else ''}{text[start:begin]}", text[begin:end],
        text[end : end + _AROUND] + ("…" if len(text) > end + _AROUND else ""),
    )  # fmt: skip
