"""Receive events with an ASGI server, and print the messages.

    python -m chatrest.examples.webhook_asgi          # receives a few events of an emulator, and ends
    WEBHOOK_USERNAME=hook WEBHOOK_PASSWORD=… uvicorn --factory chatrest.examples.webhook_asgi:make_app

In a web framework, mount the same application: `app.mount("/webhook", make_app())`. Started as
`python -m chatrest.examples.webhook_asgi PORT` it is served by aiohttp, which is installed anyway.
"""

import asyncio
import os
import sys
from collections.abc import Mapping

from aiohttp import web

from chatrest.examples.asgi_bridge import serve_asgi
from chatrest.examples.emulated_events import PASSWORD, USERNAME, send_events
from chatrest.webhooks import Event, MessageEvent, ReceiptEvent, UnknownEvent, asgi_app
from chatrest.webhooks.asgi import AsgiApp


async def on_event(event: Event) -> None:
    """Print an event. An error here is answered with 500, and the service delivers the event again."""
    match event:
        case MessageEvent(message=message):
            line = f"{event.trigger}: {message.sender} to {message.receiver}"
        case ReceiptEvent(data=receipt):
            line = f"{event.trigger}: {receipt.sender} has message {receipt.message_id}"
        case UnknownEvent():
            line = f"{event.trigger!a}: {event.reason}"
        case _:
            line = event.trigger
    # A user may write half of a character, which no terminal can show.
    sys.stdout.write(line.encode("utf-8", "backslashreplace").decode() + "\n")


def make_app(environment: Mapping[str, str] = os.environ) -> AsgiApp:
    """Return the application, with the credentials of the environment."""
    return asgi_app(
        on_event, username=environment["WEBHOOK_USERNAME"], password=environment["WEBHOOK_PASSWORD"]
    )


def main(port: str = "") -> None:
    """Serve on loopback, for a proxy in front that has the certificate; without a port, try it out."""
    if not port:
        credentials = {"WEBHOOK_USERNAME": USERNAME, "WEBHOOK_PASSWORD": PASSWORD}
        asyncio.run(send_events(serve_asgi(make_app(credentials))))
        return
    web.run_app(serve_asgi(make_app()), host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
