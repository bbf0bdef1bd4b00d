"""Events for receivers: what the service delivers to a webhook, typed, and handlers that take it.

    from chatrest.webhooks import MessageEvent, aiohttp_handler

    async def on_event(event):
        if isinstance(event, MessageEvent):
            print(event.message.sender, event.trigger)

    app.router.add_post("/webhook", aiohttp_handler(on_event, username="…", password="…"))

`asgi_app(on_event, …)` takes the same arguments. `on_event` must be idempotent: a delivery is acknowledged
only after it has returned, and one that was not is repeated, so an event may arrive twice, and in any order.
"""

from .events import (
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
from .handlers import aiohttp_handler, asgi_app
from .parsing import parse
from .receiver import authorized

__all__ = [
    "CallEvent", "CallSessionEvent", "CampaignEvent", "ConversationEvent", "Event", "GroupEvent",
    "MessageEvent", "ModerationEvent", "NotificationEvent", "ReactionEvent", "ReceiptEvent", "RecordingEvent",
    "TranscriptionEvent", "UnknownEvent", "UserBlockEvent", "UserConnectionEvent", "aiohttp_handler",
    "asgi_app", "authorized", "parse",
]  # fmt: skip
