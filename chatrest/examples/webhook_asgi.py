"""Receive events with an ASGI server, and print the messages.

    WEBHOOK_USERNAME=hook WEBHOOK_PASSWORD=… uvicorn --factory chatrest.examples.webhook_asgi:make_app

In a web framework, mount the same application: `app.mount("/webhook", make_app())`. Started as
`python -m chatrest.examples.webhook_asgi [PORT]` it is served by aiohttp, which is installed anyway.
"""

import os
import sys

from aiohttp import web

from chatrest.examples.asgi_bridge import serve_asgi
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


def make_app() -> AsgiApp:
    """Return the application, with the credentials of the environment."""
    return asgi_app(
        on_event, username=os.environ["WEBHOOK_USERNAME"], password=os.environ["WEBHOOK_PASSWORD"]
    )


def main(port: str = "8080") -> None:
    """Serve on loopback, for a proxy in front that has the certificate."""
    web.run_app(serve_asgi(make_app()), host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
