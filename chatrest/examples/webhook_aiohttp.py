"""Receive events with aiohttp.web, and store each before it is acknowledged.

    python -m chatrest.examples.webhook_aiohttp       # receives a few events of an emulator, and ends
    WEBHOOK_USERNAME=hook WEBHOOK_PASSWORD=… python -m chatrest.examples.webhook_aiohttp events.sqlite 8080

The webhook itself is made once, with the same username and password:

    webhook = NewWebhook(id="w1", name="Events", webhook_url="https://…/webhook", use_basic_auth=True,
                         username="hook", password="…", retry_on_failure=True)
    await management.webhooks.create(app_id, webhook)
    await management.triggers.add(app_id, "w1", ["message_sent", "message_edited"])

The service waits two seconds for an answer. So the handler only stores the event, and what takes longer is
done by whoever reads the file. Events come in any order, and rarely twice.
"""

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web

from chatrest.examples.emulated_events import PASSWORD, USERNAME, send_events
from chatrest.examples.event_store import EventStore
from chatrest.webhooks import aiohttp_handler, parse


def make_app(path: str, username: str, password: str) -> web.Application:
    """Return the application; events are stored in the file at `path`."""
    app = web.Application()
    on_event = EventStore(path).add
    app.router.add_post("/webhook", aiohttp_handler(on_event, username=username, password=password))
    return app


async def receive_emulated() -> None:
    """Receive the events of an emulator, and print those that were stored."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "events.sqlite"))
        await send_events(make_app(path, USERNAME, PASSWORD))
        stored = EventStore(path).all()
    sys.stdout.write(f"{len(stored)} events are stored:\n")
    for raw in stored:
        sys.stdout.write(f"{parse(raw).trigger}, {len(raw)} bytes\n")


def main(path: str = "", port: str = "8080") -> None:
    """Serve on loopback, for a proxy in front that has the certificate; without a path, try it out."""
    if not path:
        asyncio.run(receive_emulated())
        return
    app = make_app(path, os.environ["WEBHOOK_USERNAME"], os.environ["WEBHOOK_PASSWORD"])
    web.run_app(app, host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
