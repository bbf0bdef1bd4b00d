"""Events for receivers: what the service delivers to a webhook, typed, and handlers that take it.

    from chatrest.webhooks import MessageEvent, aiohttp_handler

    async def on_event(event):
        if isinstance(event, MessageEvent):
            print(event.message.sender, event.trigger)

    app.router.add_post("/webhook", aiohttp_handler(on_event, username="…", password="…"))

`asgi_app(on_event, …)` takes the same arguments. A delivery is acknowledged only after `on_event` has
returned, so `on_event` may see an event twice (it should be idempotent), and in any order.
"""

from .aiohttp_receiver import aiohttp_handler
from .asgi import asgi_app
from .credentials import authorized
from .event import (
    CallEvent,
    CallSessionEvent,
    CampaignEvent,
    ConversationEvent,
    Event,
    GroupEvent,
    MessageEvent,
    ModerationEvent,
    NotificationEvent,
    ReactionEvent,
    ReceiptEvent,
    RecordingEvent,
    TranscriptionEvent,
    UnknownEvent,
    UserBlockEvent,
    UserConnectionEvent,
)
from .parsing import parse

__all__ = [
    "CallEvent", "CallSessionEvent", "CampaignEvent", "ConversationEvent", "Event", "GroupEvent",
    "MessageEvent", "ModerationEvent", "NotificationEvent", "ReactionEvent", "ReceiptEvent", "RecordingEvent",
    "TranscriptionEvent", "UnknownEvent", "UserBlockEvent", "UserConnectionEvent", "aiohttp_handler",
    "asgi_app", "authorized", "parse",
]  # fmt: skip
