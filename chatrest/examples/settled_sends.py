"""Send messages from an outbox, each exactly once as far as the service lets it be known.

    python -m chatrest.examples.settled_sends     # to an emulator that loses every third reply
    echo '{"sender": "alice", "receiver": "bob", "text": "hello"}' |
        python -m chatrest.examples.settled_sends outbox.sqlite

The app is that of CHATREST_APP_ID and CHATREST_API_KEY, see `chatrest guide`. A message is in the outbox,
with its muid, before it is sent. Where the outcome of a send is unknown (the connection broke, or this
process was killed), `find_sent` asks the service for the muid; only a message that is not there is sent
again. What cannot be settled stays in the outbox, for the next run.

One case remains: a service that stores a message only after it was asked for it. The pauses make it rare, and
the muid, which both copies have, lets a receiver drop the second one.
"""

import asyncio
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, final
from uuid import uuid4

from chatrest import App, AsyncSession, ChatRestError, NewMessage, OutcomeUnknownError
from chatrest.emulator import Emulator, Every, Reset

PAUSES: Final = (1.0, 5.0)
"""Seconds after which the service is asked again for a message that it did not show."""
ATTEMPTS: Final = 5
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS outbox (muid TEXT PRIMARY KEY, sender TEXT NOT NULL, receiver TEXT NOT NULL,
    text TEXT NOT NULL, sent_at REAL, id TEXT)
"""


class OutboxEntry(NamedTuple):
    """A message that is not settled yet."""

    muid: str
    sender: str
    receiver: str
    text: str
    sent_at: float | None
    """Epoch seconds of the first attempt; None before it."""


@final
class Outbox:
    """Messages in a SQLite file, until each has its id of the service."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute("PRAGMA synchronous = FULL")
        with self._database:
            self._database.execute(_TABLE)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(self, sender: str, receiver: str, text: str) -> None:
        """Store a message with a new muid; it is on disk when this returns."""
        with self._database:
            values = (uuid4().hex, sender, receiver, text)
            self._database.execute(
                "INSERT INTO outbox(muid, sender, receiver, text) VALUES (?, ?, ?, ?)", values
            )

    def pending(self) -> list[OutboxEntry]:
        """Return the messages without an id, oldest first."""
        rows = self._database.execute(
            "SELECT muid, sender, receiver, text, sent_at FROM outbox WHERE id IS NULL ORDER BY rowid"
        )
        return [OutboxEntry(*row) for row in rows]

    def note_attempt(self, entry: OutboxEntry, now: float) -> OutboxEntry:
        """Store that a message is about to be sent."""
        with self._database:
            self._database.execute(
                "UPDATE outbox SET sent_at = coalesce(sent_at, ?) WHERE muid = ?", (now, entry.muid)
            )
        return entry._replace(sent_at=now if entry.sent_at is None else entry.sent_at)

    def note_id(self, entry: OutboxEntry, message_id: str) -> None:
        """Store the id of a message: it is settled."""
        with self._database:
            self._database.execute("UPDATE outbox SET id = ? WHERE muid = ?", (message_id, entry.muid))


async def deliver(session: AsyncSession, outbox: Outbox, clock: Callable[[], float] = time.time) -> list[str]:
    """Settle every message of the outbox; return a line for each that could not be settled."""
    failures = []
    for entry in outbox.pending():
        try:
            outbox.note_id(entry, await _settle(session.as_user(entry.sender), outbox, entry, clock))
        except ChatRestError as error:
            failures.append(f"{entry.muid}: {error}")
    return failures


async def _settle(
    session: AsyncSession, outbox: Outbox, entry: OutboxEntry, clock: Callable[[], float]
) -> str:
    """Return the id of a message, which is sent at most as often as it is found missing."""
    message = NewMessage.text(entry.receiver, entry.text, muid=entry.muid)
    for attempt in range(1, ATTEMPTS + 1):
        if entry.sent_at is not None and (message_id := await _find(session, entry)) is not None:
            return message_id
        entry = outbox.note_attempt(entry, clock())
        try:
            return (await session.messages.send(message)).id
        except OutcomeUnknownError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError


async def _find(session: AsyncSession, entry: OutboxEntry) -> str | None:
    message = await session.messages.find_sent(
        entry.muid, receiver=entry.receiver, since=entry.sent_at, pauses=PAUSES
    )
    return None if message is None else message.id


def read_messages(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield sender, receiver and text of each JSON line."""
    for line in lines:
        if line.strip():
            fields = json.loads(line)
            yield fields["sender"], fields["receiver"], fields["text"]


async def main(path: str) -> int:
    """Add the messages of standard input to the outbox and deliver all; return the exit status."""
    outbox = Outbox(path)
    try:
        for fields in read_messages(sys.stdin):
            outbox.add(*fields)
        async with AsyncSession(App.from_env()) as session:
            failures = await deliver(session, outbox)
    finally:
        outbox.close()
    for line in failures:
        sys.stderr.write(f"{line}\n")
    return 1 if failures else 0


async def deliver_sample() -> None:
    """Send ten messages to an emulator that stores each, but loses every third reply."""
    lost = Reset(route="messages.send", processed=True, when=Every(3))
    with TemporaryDirectory() as folder:
        outbox = Outbox(Path(folder, "outbox.sqlite"))
        for number in range(1, 11):
            outbox.add("user-001", "user-002", f"message {number}")
        try:
            async with (
                Emulator(users=2, messages=0, weather=[lost]) as emulator,
                AsyncSession(emulator.app) as session,
            ):
                failures = await deliver(session, outbox)
                messages = await session.messages.list_user("user-002", on_behalf_of="user-001").collect()
        finally:
            outbox.close()
    sys.stdout.write(
        f"10 messages, {emulator.weather.struck['reset']} replies lost: the service has {len(messages)} "
        f"messages, and {len(failures)} of the outbox are not settled.\n"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(asyncio.run(main(sys.argv[1])))
    asyncio.run(deliver_sample())
