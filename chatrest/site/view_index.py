"""The index of the viewer: beside the export, and with a full-text search of SQLite (FTS5).

The search has the terms of each message, as a static site has them of each page, so both find the same: the
terms give candidates, and their texts are compared. It is brought up to date when the export has changed.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby, islice, starmap
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from .._cloud.address import is_address
from ..database.load import OnCount
from ..errors import ChatRestError, RequestInvalidError
from ..export import read_raw
from .index import COLUMNS, EVERYTHING, Choice, Index, MessageEntry
from .index_build import bring_up_to_date, database_of
from .items import Items, excerpt
from .pages import ADVICE, SearchWords
from .text import Query, folded, terms

SUFFIX: Final = ".view.sqlite"
_FILLED_AT_ONCE: Final = 500
RESULTS_PER_PAGE: Final = 200
"""Results on one page."""
_MOST: Final = 20_000
"""Results of a search, all of which are counted."""
_MOST_WORDS: Final = 1_000
"""Words with the same middle: what more of them have is in most messages."""
_AROUND: Final = 80
# What is stored are terms with spaces between: whatever is not a space is part of one.
_SCHEMA: Final = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(terms, content='', detail=none,
    tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* S* P* C*'")""",
    """CREATE TABLE IF NOT EXISTS texted(number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER UNIQUE,
    sign INTEGER)""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5vocab(texts, 'row')",
)
_WORDS: Final = "SELECT term FROM words WHERE instr(term, ?) > 1 AND term NOT GLOB '!*' LIMIT ?"
_SEARCHABLE_FLAGS: Final = ("edited", "flagged", "file")
"""Flags that are terms of a message."""
_CONDITIONS: Final = {
    "deleted": "p.flags",
    "thread": "(p.parent NOT NULL OR (p.conversation, p.rank) IN (SELECT conversation, parent FROM threads))",
}
"""The other flags."""
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

    hands_on = False

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
            is_full = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
            raise (ChatRestError if is_full else RequestInvalidError)(f"{self.path}: {error}") from None
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
                marks = (f"!{flag}" for flag in item.flags if flag in _SEARCHABLE_FLAGS)
                own_terms = " ".join([*terms(folded(item.searched)), *marks])
                self.db.execute("INSERT INTO texts(rowid, terms) VALUES(?, ?)", (number, own_terms))
            last = new[-1].place

    def candidates(
        self, query: Query, flags: Collection[str], since: int | None, until: int | None
    ) -> Iterator[tuple[int, MessageEntry]]:
        """Yield messages that have the terms of a query, with their conversation, newest first.

        Times are milliseconds, `until` is not included.
        """
        matched = " AND ".join(
            [
                *filter(None, starmap(self._pattern, query.terms())),
                *(f'"!{each}"' for each in flags if each in _SEARCHABLE_FLAGS),
            ]
        )
        source = "texts JOIN texted t ON t.number = texts.rowid JOIN posts p ON p.place = t.place"
        also = "".join(f" AND {sql}" for flag, sql in _CONDITIONS.items() if flag in flags)
        rows = self.db.execute(
            f"SELECT p.conversation, {COLUMNS} FROM {source if matched else 'posts p'}"  # noqa: S608
            " CROSS JOIN chat.messages m ON m.place = p.place"
            f" WHERE {'texts MATCH ?' if matched else '? = 0'} AND p.time >= ? AND p.time < ?{also}"
            " ORDER BY p.time DESC, p.rank DESC",
            (matched or 0, since or 0, 1 << 62 if until is None else until),
        )
        return ((conversation, MessageEntry(*rest)) for conversation, *rest in rows)

    def _pattern(self, term: str, is_inside: bool) -> str:
        """Return a pattern of a term, also of the words with it in their middle; empty for too many."""
        words = self._all(_WORDS, term, _MOST_WORDS) if is_inside else []
        if len(words) == _MOST_WORDS:
            return ""
        return "(" + " OR ".join([f'"{term}"*', *(f'"{word}"' for (word,) in words)]) + ")"

    def lacking(self, query: Query) -> str:
        """Return that a term of a query is in no message; empty where each is in some message."""
        for term, is_inside in query.terms():
            pattern = self._pattern(term, is_inside)
            if pattern and not self._all("SELECT 1 FROM texts WHERE texts MATCH ? LIMIT 1", pattern):
                return f"nothing {'has' if is_inside else 'begins with'} “{term}”"
        return ""

    def stored_file(self, digest: str) -> str | None:
        """Return the name in the export of the attachment with this SHA-256."""
        prefix = f"files/{digest[:2]}/{digest}"
        rows = self._all("SELECT file FROM files WHERE file GLOB ? LIMIT 1", f"{prefix}*")
        faces = (each for each in self.faces() if each.startswith(prefix))
        return rows[0][0] if rows else next(faces, None)


class SearchResult(NamedTuple):
    """A result: its message, its place, and its text in parts, with True for what was searched for."""

    href: str
    name: str
    at: str
    iso: str
    parts: list[tuple[str, bool]]
    before: tuple[str, str]
    """Who wrote the message before it, and what; empty for none."""
    after: tuple[str, str]


class SearchResults(NamedTuple):
    """Results by conversation, the best and newest first; `older` is where others begin, 0 for none."""

    groups: list[tuple[str, list[SearchResult]]]
    words: str
    older: int


class _Match(NamedTuple):
    grade: int
    newest: int
    """The time, negative."""
    conversation: int
    place: int


def search(index: ViewIndex, words: SearchWords, skip: int = 0) -> SearchResults:
    """Return what a search finds, without the first `skip` results."""
    query, person, title = map(Query.parse, (words.q, words.person, words.conversation))
    begin = Items(index).zone.begin
    since, until = begin(words.since, 0), begin(words.until, 1)
    if since is until is None and not any((query.chunks, person.chunks, title.chunks, words.flags)):
        return SearchResults([], "Write what to search for.", 0)
    is_person = lru_cache(10_000)(
        lambda number: (
            words.person == f"={index.person(number).uid}"
            or person.grade(" ".join(index.person(number)[1:3])) is not None
        )
    )
    conversation = lru_cache(10_000)(index.conversation)
    is_titled = lru_cache(10_000)(lambda number: title.grade(conversation(number).title) is not None)
    items = Items(index)
    matches = (
        _Match(grade, -stored.time, number, stored.place)
        for number, stored in index.candidates(query, words.flags, since, until)
        if is_person(stored.sender) and is_titled(number)
        for item in items.of([stored])
        if (grade := query.grade(item.searched)) is not None
    )
    ordered = _by_conversation(list(islice(matches, _MOST)))
    entries = [_result(index, items, match, query) for match in ordered[skip : skip + RESULTS_PER_PAGE]]
    shown = zip(ordered[skip:], entries, strict=False)
    groups = [
        (conversation(number).title, [entry for _, entry in group])
        for number, group in groupby(shown, key=lambda pair: pair[0].conversation)
    ]
    end = skip + len(entries)
    return SearchResults(
        groups, _count(index, query, skip, end, len(ordered)), end if end < len(ordered) else 0
    )


def _by_conversation(matches: list[_Match]) -> list[_Match]:
    groups: dict[int, list[_Match]] = {}
    for match in sorted(matches):
        groups.setdefault(match.conversation, []).append(match)
    return [match for group in groups.values() for match in group]


def _count(index: ViewIndex, query: Query, skip: int, end: int, total: int) -> str:
    if not total:
        reason = index.lacking(query) or "no message has all of it"
        return f"0 found: {reason}. {ADVICE}"
    count = f"{total:,} found" if total < _MOST else f"more than {total:,} found: narrow the search"
    return count if end - skip == total else f"{skip + 1:,} to {end:,} of {count}"


def _result(index: ViewIndex, items: Items, match: _Match, query: Query) -> SearchResult:
    conversation = index.conversation(match.conversation)
    stored = index.message(match.place)
    [item] = items.of([stored])
    place = index.place(conversation.app, item.rank)
    assert place is not None, "it is in the index"
    near = index.neighbours(match.conversation, stored.time, stored.rank)
    before, after = (
        next(((each.sender.name, excerpt(each.excerpt)) for each in items.of(number)), ("", ""))
        for number in near
    )
    return SearchResult(
        f"c/{place.name}/{place.page}.html#{item.anchor}", item.sender.name, item.at, item.iso,
        list(_around(query.parts(" ".join(item.searched.split()) or "(deleted, or without a text)"))),
        before, after,
    )  # fmt: skip


def _around(parts: list[tuple[str, bool]]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text from a little before the first match."""
    if parts[0][1] is False and len(parts) > 1 and len(parts[0][0]) > _AROUND:
        parts[0] = (f"…{parts[0][0][-_AROUND:]}", False)
    room = 3 * _AROUND
    for text, is_match in parts:
        if room <= 0 and not is_match:
            yield "…", False
            return
        cut = text if is_match or len(text) <= room else f"{text[:room]}…"
        room -= len(text)
        yield cut, is_match
        if cut != text:
            return
