"""Deliveries of events to a receiver on loopback: what arrives, repetitions, and what is never sent."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from chatrest import AsyncManagement, AsyncSession, NewMessage
from chatrest._parameters.apps import NewWebhook, WebhookChanges
from chatrest.emulator import Delivery, Emulator
from tests.scripted_server import Faulty, cut, reply

pytestmark = pytest.mark.usefixtures("tidy")

HELLO = NewMessage.text("user-002", "hello")


class Stage(NamedTuple):
    """An emulator, its two clients, and the pauses that it has slept."""

    emulator: Emulator
    session: AsyncSession
    management: AsyncManagement
    pauses: list[float]

    async def hook(self, url: str, *triggers: str, **members: Any) -> None:
        """Make a webhook with these triggers."""
        webhook = NewWebhook(id="w1", name="Hook", webhook_url=url, **members)
        await self.management.webhooks.create("emulated", webhook)
        await self.management.triggers.add("emulated", "w1", triggers or ["message_sent"])

    async def send(self) -> list[Delivery]:
        """Send a message as user-001, and return the deliveries once they have ended."""
        await self.session.messages.send(HELLO, on_behalf_of="user-001")
        await self.emulator.drain()
        return list(self.emulator.deliveries)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with (
        Emulator(users=3, messages=0, groups=0, sleep=sleep) as emulator,
        AsyncSession(emulator.app) as session,
        AsyncManagement(
            emulator.management_url, key=emulator.management_key, secret=emulator.management_secret
        ) as management,
    ):
        yield Stage(emulator, session, management, pauses)


async def test_an_event_arrives_as_documented(stage: Stage) -> None:
    async with Faulty(reply()) as receiver:
        await stage.hook(f"{receiver.url}/hook")
        assert await stage.send() == [Delivery("w1", "message_sent", 1, 200)]
    [request] = receiver.requests
    event = json.loads(request.body)
    assert (request.method, request.target, request.header("Content-Type")) == (
        "POST", "/hook", "application/json",
    )  # fmt: skip
    assert request.header("Authorization") is None
    message = event.pop("data")["message"]
    assert event == {"trigger": "message_sent", "appId": "emulated", "region": "us", "webhook": "w1"}
    assert (message["sender"], message["data"]["text"]) == ("user-001", "hello")


@pytest.mark.parametrize(
    ("answers", "statuses", "pauses"),
    [
        ([reply(status=503), reply()], [503, 200], [10.0]),
        ([cut(b""), reply(status=302, location="/"), reply(b"", 204)], [None, 302, 204], [10.0, 30.0]),
        ([reply(status=500)], [500, 500, 500], [10.0, 30.0]),
    ],
)
async def test_what_failed_is_sent_twice_again(
    stage: Stage, answers: list[Any], statuses: list[int | None], pauses: list[float]
) -> None:
    async with Faulty(*answers) as receiver:
        await stage.hook(receiver.url, retry_on_failure=True)
        deliveries = await stage.send()
    assert [(each.attempt, each.status) for each in deliveries] == list(enumerate(statuses, start=1))
    assert stage.pauses == pauses


async def test_nothing_is_sent_without_the_trigger_or_when_switched_off(stage: Stage) -> None:
    async with Faulty(reply()) as receiver:
        await stage.hook(receiver.url, "message_edited")
        assert await stage.send() == []
        await stage.management.triggers.add("emulated", "w1", ["message_sent"])
        await stage.management.webhooks.update("emulated", "w1", WebhookChanges(enabled=False))
        assert await stage.send() == []
    assert receiver.requests == []


async def test_legacy_webhooks_get_nothing(stage: Stage) -> None:
    async with Faulty(reply()) as receiver:
        webhook = NewWebhook(id="w1", name="Old", webhook_url=receiver.url)
        await stage.management.webhooks.create("emulated", webhook, x_webhook_version=None)
        await stage.management.triggers.add("emulated", "w1", ["message_sent"], x_webhook_version=None)
        assert await stage.send() == []


async def test_another_host_is_never_asked(stage: Stage) -> None:
    await stage.hook("https://example.com/hook")
    assert await stage.send() == [Delivery("w1", "message_sent", 1, None)]


async def test_an_emulator_that_closes_breaks_its_deliveries_off() -> None:
    async with Faulty(reply(status=500)) as receiver:
        async with (
            Emulator(users=3, messages=0, groups=0) as emulator,
            AsyncSession(emulator.app) as session,
            AsyncManagement(
                emulator.management_url, key=emulator.management_key, secret=emulator.management_secret
            ) as management,
        ):
            stage = Stage(emulator, session, management, [])
            await stage.hook(receiver.url, retry_on_failure=True)
            await session.messages.send(HELLO)
            await receiver.arrived.wait()
        assert len(receiver.requests) == 1
