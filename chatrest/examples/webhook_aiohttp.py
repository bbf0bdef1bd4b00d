"""Receive events with aiohttp.web, and store each before it is acknowledged.

    python -m chatrest.examples.webhook_aiohttp       # receives a few events of an emulator, and ends
    WEBHOOK_USERNAME=hook WEBHOOK_PASSWORD=… python -m chatrest.examples.webhook_aiohttp events.sqlite 8080

The webhook itself is made once, with the same username and password:

    webhook = NewWebhook(id="w1", name="Events", webhook_url="https://…/webhook", use_basic_auth=True,
                         username="hook", password="…", retry_on_failure=True)
    await management.webhooks.create(app_id, webhook)
    await management.triggers.add(app_id, "w1", ["message_sent", "message_edited"])

The service waits two seconds for an answer. So the handler only stores the event, and what takes longer is
done by a reader of the file. Events arrive in any order, and some twice: one that is among the last thousand
is stored already.

In an ASGI server, `asgi_app` takes the same arguments as `aiohttp_handler`:

    app.mount("/webhook", asgi_app(EventStore("events.sqlite").add, username="hook", password="…"))
"""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from aiohttp import web

from chatrest import AsyncManagement, AsyncSession, MessageChanges, NewMessage, NewWebhook
from chatrest.emulator import Emulator
from chatrest.webhooks import Event, aiohttp_handler, parse

_INSERT: Final = """
INSERT INTO events (trigger, raw) SELECT :trigger, :raw WHERE NOT EXISTS
(SELECT 1 FROM events WHERE raw = :raw AND id > (SELECT max(id) - 1000 FROM events))
"""
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
        """Store an event; it is on disk when this returns. A thread writes it, so the event loop is free."""
        await asyncio.to_thread(self._insert, event)

    def all(self) -> list[bytes]:
        """Return the bodies of all events: `chatrest.webhooks.parse` makes events of them again."""
        with closing(sqlite3.connect(self._path)) as database:
            return [raw for (raw,) in database.execute("SELECT raw FROM events ORDER BY id")]

    def _insert(self, event: Event) -> None:
        trigger = event.trigger.encode("utf-8", "backslashreplace").decode()
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute(_INSERT, {"trigger": trigger, "raw": event.raw})


def make_app(path: str, username: str, password: str) -> web.Application:
    """Return the application; events are stored in the file at `path`."""
    app = web.Application()
    on_event = EventStore(path).add
    app.router.add_post("/webhook", aiohttp_handler(on_event, username=username, password=password))
    return app


def main(path: str = "", port: str = "8080") -> None:
    """Serve on loopback, for a proxy in front that has the certificate; without a path, try it out."""
    if not path:
        asyncio.run(receive_emulated())
        return
    app = make_app(path, os.environ["WEBHOOK_USERNAME"], os.environ["WEBHOOK_PASSWORD"])
    web.run_app(app, host="127.0.0.1", port=int(port))


# ── trying it out, without arguments ──

USERNAME: Final = "hook"
PASSWORD: Final = "of the emulated webhook"  # noqa: S105, for the emulator alone
TRIGGERS: Final = ("message_sent", "message_edited", "message_read_receipt")


async def receive_emulated() -> None:
    """Receive the events of an emulator, and print those that were stored."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "events.sqlite"))
        await send_events(make_app(path, USERNAME, PASSWORD))
        stored = EventStore(path).all()
    sys.stdout.write(f"{len(stored)} events are stored:\n")
    for raw in stored:
        sys.stdout.write(f"{parse(raw).trigger}, {len(raw)} bytes\n")


async def send_events(receiver: web.Application) -> None:
    """Serve `receiver` at a free port, and let an emulator deliver events to its path `/webhook`.

    Returns after the last event is delivered. The receiver has to expect `USERNAME` and `PASSWORD`.
    """
    runner = web.AppRunner(receiver, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        async with Emulator(users=2, messages=0, groups=0) as emulator:
            await _make_webhook(emulator, f"http://{host}:{port}/webhook")
            await _chat(emulator)
    finally:
        await runner.cleanup()


async def _make_webhook(emulator: Emulator, url: str) -> None:
    webhook = NewWebhook(
        id="w1", name="Events", webhook_url=url, use_basic_auth=True,
        username=USERNAME, password=PASSWORD, retry_on_failure=True,
    )  # fmt: skip
    async with AsyncManagement(
        emulator.management_url, key=emulator.management_key, secret=emulator.management_secret
    ) as management:
        await management.webhooks.create(emulator.app.app_id, webhook)
        await management.triggers.add(emulator.app.app_id, "w1", TRIGGERS)


async def _chat(emulator: Emulator) -> None:
    """Send, edit and read a message; each event is delivered before the next one is made."""
    async with AsyncSession(emulator.app) as session:
        first, second = session.as_user("user-001"), session.as_user("user-002")
        message = await first.messages.send(NewMessage.text("user-002", "helo"))
        await emulator.drain()
        await first.messages.update(message.id, MessageChanges(data={"text": "hello"}))
        await emulator.drain()
        await second.conversations.mark_read_user("user-001", message_id=message.id)
        await emulator.drain()


if __name__ == "__main__":
    main(*sys.argv[1:])
