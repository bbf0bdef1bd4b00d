"""Conversations that the app has pinned for everybody, in the order in which they are shown."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple, final


class AppPin(NamedTuple):
    """A pin of the app: the conversation of each user with a user or a group."""

    kind: str
    party: str
    """A uid or a guid."""
    pinned_at: int


@final
class AppPins:
    """The app's pins."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def all(self) -> list[AppPin]:
        """Return the pins, in their order."""
        return [
            AppPin(*row)
            for row in self._db.execute("SELECT kind, party, pinned_at FROM app_pins ORDER BY number")
        ]

    def replace(self, parties: Sequence[tuple[str, str]], at: int) -> None:
        """Store other pins in the place of all, as (kind, party); those that stay keep their time."""
        times = {(pin.kind, pin.party): pin.pinned_at for pin in self.all()}
        rows = [(*party, times.get(party, at)) for party in dict.fromkeys(parties)]
        with self._db:
            self._db.execute("DELETE FROM app_pins")
            self._db.executemany("INSERT INTO app_pins VALUES(NULL,?,?,?)", rows)
