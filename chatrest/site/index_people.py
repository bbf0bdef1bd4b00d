"""The people of a site: who wrote, who was written to, and by which names pages show them."""

import sqlite3
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from .choice import Choice
from .pseudonyms import number_of, pseudonym
from .redaction import Redaction

_PEOPLE: Final = 2_000
"""People that are kept in memory."""


class PersonEntry(NamedTuple):
    """Somebody who wrote or was written to."""

    number: int
    uid: str
    """Of many apps with that of the app: `shop/ann`."""
    name: str
    file: str
    """The name of the page, without its end."""
    initials: str
    app: str = ""


_NOBODY: Final = PersonEntry(0, "", "", "", "")
"""Who a page of an earlier run was made with, and who is not in the site any more."""


class IndexedPeople:
    """The people in the index `db`; `redaction` hides what is not shown of them."""

    def __init__(self, db: sqlite3.Connection, choice: Choice, redaction: Redaction) -> None:
        self._db, self._choice, self._redaction = db, choice, redaction
        self.person: Callable[[int], PersonEntry] = lru_cache(_PEOPLE)(
            lambda number: next(self._select("WHERE number = ?", number), _NOBODY)
        )

    def person_of(self, app: str, uid: str) -> PersonEntry | None:
        """Return a person by the uid that a record has, in which it may be a pseudonym."""
        if self._choice.pseudonyms:
            return next(self._select("WHERE number = ?", number_of(uid)), None)
        return next(self._select("WHERE uid = ?", f"{app}/{uid}" if app else uid), None)

    def people(self) -> Iterator[PersonEntry]:
        return self._select("ORDER BY number")

    def people_of(self, conversation: int) -> list[PersonEntry]:
        """Return who takes part in a conversation, or has written there, by uid."""
        clause = (
            "WHERE number IN (SELECT sender FROM posts WHERE conversation = ?1"
            " UNION SELECT one FROM conversations WHERE number = ?1"
            " UNION SELECT other FROM conversations WHERE number = ?1) ORDER BY uid"
        )
        return list(self._select(clause, conversation))

    def writers(self, *, offset: int, limit: int) -> Iterator[tuple[PersonEntry, int, int, int]]:
        """Yield people with the number, the first and the last time of their messages, the busiest first."""
        rows = self._db.execute(
            "SELECT number, messages, first, last FROM people WHERE messages > 0"
            " ORDER BY messages DESC, uid LIMIT ? OFFSET ?",
            (limit, offset),
        ).fetchall()
        return ((self.person(number), *counts) for number, *counts in rows)

    def conversations_of(self, sender: int, limit: int) -> list[tuple[int, int, int, int]]:
        """Return (conversation, messages, first, last) where a person wrote, most messages first."""
        return self._db.execute(
            "SELECT conversation, count(*), min(time), max(time) FROM posts WHERE sender = ?"
            " GROUP BY conversation ORDER BY 2 DESC, 1 LIMIT ?",
            (sender, limit),
        ).fetchall()

    def record_of(self, person: PersonEntry) -> bytes | None:
        """Return the user's record of a person; None if the export has none."""
        sql = (
            "SELECT CAST(u.raw AS BLOB) FROM people p"
            " JOIN chat.users u ON u.rowid = p.record WHERE p.number = ?"
        )
        for (raw,) in self._db.execute(sql, (person.number,)).fetchall():
            return self._redaction.record(raw, person.app) if self._choice.hides else raw
        return None

    def _select(self, clause: str, *values: Any) -> Iterator[PersonEntry]:
        rows = self._db.execute(f"SELECT number, uid, name, file, app FROM people {clause}", values)  # noqa: S608
        return (
            PersonEntry(number, self._shown_uid(app, uid, number), name, file, initials(name), app)
            for number, uid, name, file, app in rows
        )

    def _shown_uid(self, app: str, key: str, number: int) -> str:
        if not self._choice.pseudonyms or len(key) == len(app) + bool(app):  # nobody is named
            return self._redaction.visible_key(app, key)
        return f"{app}/{pseudonym(number)}" if app else pseudonym(number)


def initials(name: str) -> str:
    words = [word for word in name.replace("&", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"
