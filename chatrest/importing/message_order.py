"""The messages of an export in the order of their ids, whatever the files: a temporary database sorts them.

It is in a file without a name that the system removes; it needs as much space as the messages.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, final

from .._models.raw_json import write_value
from ..errors import RequestInvalidError
from .entities import read_object

_BATCH: Final = 1000
_HIGHEST: Final = (1 << 63) - 1


@final
class MessageOrder:
    """Messages in the order of their ids.

    A repeated `muid` is removed, so that the message gets another one: the service would refuse
    the second message.
    """

    def __init__(self, read: Callable[[], Iterable[bytes]]) -> None:
        """`read` gives all messages; it is called when they are first asked for."""
        self._read = read
        self._is_filled = False
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)

    def close(self) -> None:
        """Remove the database."""
        self._db.close()

    def records(self) -> Iterator[bytes]:
        """Yield the messages by their ids; those whose id is no number come last, by their time."""
        for _ in self.fill():
            pass
        sql = "SELECT raw FROM messages ORDER BY number IS NULL, number, sent_at, rowid"
        yield from (raw for (raw,) in self._db.execute(sql))

    def fill(self) -> Iterator[int]:
        """Read all messages, unless they were read before; yields their number, a thousand at a time."""
        if self._is_filled:
            return
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("CREATE TABLE messages(number INTEGER, sent_at INTEGER, raw BLOB NOT NULL)")
        self._db.execute("CREATE TABLE muids(muid BLOB PRIMARY KEY) WITHOUT ROWID")
        rows = map(self._row, self._read())
        self._db.execute("BEGIN")
        count = 0
        while batch := list(islice(rows, _BATCH)):
            self._db.executemany("INSERT INTO messages VALUES(?, ?, ?)", batch)
            yield (count := count + len(batch))
        self._db.execute("COMMIT")
        self._is_filled = True

    def _row(self, raw: bytes) -> tuple[int | None, int | None, bytes]:
        try:
            record = read_object(raw)
        except RequestInvalidError:  # it is named as a line that cannot be imported
            return None, None, raw
        if (muid := record.get("muid")) and self._is_known(str(muid)):
            raw = write_value({name: value for name, value in record.items() if name != "muid"})
        return _whole(record.get("id")), _whole(record.get("sentAt")), raw

    def _is_known(self, muid: str) -> bool:
        key = muid.encode(errors="surrogatepass")
        return self._db.execute("INSERT OR IGNORE INTO muids VALUES(?)", (key,)).rowcount == 0


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if type(value) is int and abs(value) <= _HIGHEST else None
