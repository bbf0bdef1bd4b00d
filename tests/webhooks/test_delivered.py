"""The emulator's deliveries to receivers and examples, over real sockets: late, twice, out of order."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chatrest import (
    AsyncManagement,
    AsyncSession,
    NewMessage,
    NewWebhook,
    RequestInvalidError,
)
from chatrest.emulator import Emulator
from chatrest.examples import webhook_aiohttp
from chatrest.examples.webhook_aiohttp import EventStore
from chatrest.webhooks import (
    MessageEvent,
    aiohttp_handler,
    parse,
)
from chatrest.webhooks.event import EVENT_CLASSES
from tests.virtual_time import virtual
from tests.webhooks.asgi_client import PASSWORD, USERNAME, Handler, takes
from tests.webhooks.relay import Relay


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    """Serve an application on loopback, and give the address of its webhook."""
    async with TestServer(app) as server:
        yield str(server.make_url("/webhook"))


def application(handler: Any) -> web.Application:
    """Return an application with the handler."""
    app = web.Application()
    app.router.add_post("/webhook", aiohttp_handler(handler, username=USERNAME, password=PASSWORD))
    return app


@asynccontextmanager
async def service(url: str, *triggers: str, **members: Any) -> AsyncIterator[tuple[Emulator, AsyncSession]]:
    """Run an emulator whose webhook has this address and these triggers, by default all; and a session."""
    clock = asyncio.get_running_loop().time
    async with (
        Emulator(users=3, messages=0, groups=1, clock=lambda: 1_700_000_000 + clock()) as emulator,
        AsyncSession(emulator.app, clock=clock) as session,
        AsyncManagement(
            emulator.management_url, key=emulator.management_key, secret=emulator.management_secret
        ) as management,
    ):
        options = {"use_basic_auth": True, "username": USERNAME, "password": PASSWORD, **members}
        webhook = NewWebhook(id="w1", name="Hook", webhook_url=url, retry_on_failure=True, **options)
        await management.webhooks.create("emulated", webhook)
        await management.triggers.add("emulated", "w1", triggers or list(EVENT_CLASSES))
        yield emulator, session


async def send(session: AsyncSession, *texts: str) -> list[str]:
    """Send messages as user-001, and return their ids."""
    messages = [
        await session.messages.send(NewMessage.text("user-002", text), on_behalf_of="user-001")
        for text in texts
    ]
    return [message.id for message in messages]


# ── what the emulator delivers ──


@virtual
async def test_no_event_is_lost_whatever_the_network_does() -> None:
    handler = Handler(takes(0.2))
    texts = [f"text {number}" for number in range(40)]
    async with (
        served(application(handler)) as url,
        Relay(url) as relay,
        service(relay.address, "message_sent") as (emulator, session),
    ):
        ids = await send(session, *texts)
        await emulator.drain()
        assert len(relay.arrived) > len(ids)
        assert len(relay.statuses) == 2 * len(relay.arrived)
    handled = [event.message.id for event in handler.events if isinstance(event, MessageEvent)]
    assert set(handled) == set(ids)
    assert list(dict.fromkeys(handled)) != ids


# ── the examples ──


@virtual
async def test_the_aiohttp_example_stores_each_event_once(tmp_path: Path) -> None:
    path = str(tmp_path / "events.sqlite")
    async with (
        served(webhook_aiohttp.make_app(path, USERNAME, PASSWORD)) as url,
        Relay(url, seed=1) as relay,
        service(relay.address) as (emulator, session),
    ):
        ids = await send(session, "a", "b", "c")
        await session.messages.delete(ids[0], on_behalf_of="user-001")
        await emulator.drain()
    stored = [parse(raw) for raw in EventStore(path).all()]
    assert Counter(event.trigger for event in stored) == {"message_sent": 4, "message_deleted": 1}
    assert len({event.raw for event in stored}) == 5


def test_the_examples_want_credentials(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match=r"^password: expected a non-empty text"):
        webhook_aiohttp.make_app(str(tmp_path / "events.sqlite"), USERNAME, "")
