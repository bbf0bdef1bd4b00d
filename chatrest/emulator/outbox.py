"""Deliveries of events to webhooks: real requests, to loopback addresses alone.

Rules:
- An event goes to every enabled webhook that has its trigger, in the order in which the webhooks were made.
- A receiver answers with 2xx within 2 s; a redirect is no answer. With `retryOnFailure` a failed delivery is
  tried again after 10 s, and again after 30 s.
- An address that is not loopback gets nothing: an emulator reaches no one outside of its machine.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, final
from urllib.parse import urlsplit

import aiohttp
from msgspec.json import encode

from ..app import is_loopback
from .service.administered import TRIGGERS, WEBHOOKS
from .service.events import Event
from .store import Store
from .store.documents import Document

LAST_DELIVERIES: Final = 10_000
_VERSION: Final = 2
"""Of the webhooks that get events; those of calls without this version are legacy ones, and never are."""
_PAUSES: Final = (10.0, 30.0)
"""Seconds before the second and the third attempt."""
_ANSWER_WITHIN: Final = aiohttp.ClientTimeout(total=2.0)


class Delivery(NamedTuple):
    """One attempt to deliver an event."""

    webhook: str
    """The webhook's id."""
    trigger: str
    attempt: int
    """From 1."""
    status: int | None
    """Of the receiver's answer; None if none came, or where nothing was sent."""

    @property
    def succeeded(self) -> bool:
        """True for an answer of 2xx."""
        return self.status is not None and 200 <= self.status < 300


@final
class WebhookOutbox:
    """The deliveries of one emulator: `publish` starts them, `drain` waits for their end."""

    def __init__(
        self,
        store: Store,
        app: Mapping[str, Any],
        sleep: Callable[[float], Awaitable[None]],
        deliveries: deque[Delivery],
    ) -> None:
        self.deliveries = deliveries
        """The attempts, the oldest first."""
        self._store, self._app, self._sleep = store, app, sleep
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: aiohttp.ClientSession | None = None

    def publish(self, event: Event) -> None:
        for webhook in self._receivers(event.trigger):
            task = asyncio.get_running_loop().create_task(self._deliver(webhook, event))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _receivers(self, trigger: str) -> list[Document]:
        documents, app_id = self._store.documents, self._app["id"]
        return [
            webhook
            for webhook in documents.of(WEBHOOKS, f"{_VERSION}/{app_id}").list()
            if webhook.get("enabled", True)
            and documents.of(TRIGGERS, f"{_VERSION}/{app_id}/{webhook['id']}").get(trigger) is not None
        ]

    async def _deliver(self, webhook: Document, event: Event) -> None:
        body = encode(
            {
                "trigger": event.trigger,
                "data": event.data,
                "appId": self._app["id"],
                "region": self._app.get("region", "us"),
                "webhook": webhook["id"],
            }
        )
        pauses = _PAUSES if webhook.get("retryOnFailure") else ()
        for attempt, pause in enumerate((0.0, *pauses), start=1):
            if pause:
                await self._sleep(pause)
            status = await self._post(webhook, body)
            delivery = Delivery(webhook["id"], event.trigger, attempt, status)
            self.deliveries.append(delivery)
            if delivery.succeeded:
                return

    async def _post(self, webhook: Document, body: bytes) -> int | None:
        """Send a body to a webhook; return the status of the answer, None for none."""
        url, auth = str(webhook["webhookURL"]), None
        if not is_loopback(urlsplit(url).hostname or ""):
            return None
        if webhook.get("useBasicAuth"):
            auth = aiohttp.encode_basic_auth(webhook.get("username", ""), webhook.get("password", ""))
        headers = {"Content-Type": "application/json"} | ({"Authorization": auth} if auth else {})
        if self._client is None:
            self._client = aiohttp.ClientSession(trust_env=False, timeout=_ANSWER_WITHIN)
        try:
            async with self._client.post(url, data=body, headers=headers, allow_redirects=False) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None

    async def drain(self) -> None:
        """Wait until all deliveries have ended, their repetitions included."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def close(self) -> None:
        """Break off the deliveries that still run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
