"""A file of events, for the examples of webhooks: what is in it survives a crash."""

import asyncio
import sqlite3
from contextlib import closing
from os import PathLike
from typing import Final, final

from chatrest.webhooks import Event

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, trigger TEXT NOT NULL, raw BLOB NOT NULL)
"""


@final
class EventStore:
    """Events in a SQLite file, in the order in which they came. Another process may read and delete them."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute(_TABLE)

    async def add(self, event: Event) -> None:
        """Store an event; it is on disk when this returns. A thread writes it, so the event loop goes on."""
        await asyncio.to_thread(self._insert, event)

    def all(self) -> list[bytes]:
        """Return the bodies of all events: `chatrest.webhooks.parse` makes events of them again."""
        with closing(sqlite3.connect(self._path)) as database:
            return [raw for (raw,) in database.execute("SELECT raw FROM events ORDER BY id")]

    def _insert(self, event: Event) -> None:
        trigger = event.trigger.encode("utf-8", "backslashreplace").decode()
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute("INSERT INTO events (trigger, raw) VALUES (?, ?)", (trigger, event.raw))
