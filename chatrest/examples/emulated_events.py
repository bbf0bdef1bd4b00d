"""A few events of an emulator, for the examples of webhooks."""

from typing import Final

from aiohttp import web

from chatrest import AsyncManagement, AsyncSession, MessageChanges, NewMessage, NewWebhook
from chatrest.emulator import Emulator

USERNAME: Final = "hook"
PASSWORD: Final = "of the emulated webhook"  # noqa: S105, for the emulator alone
TRIGGERS: Final = ("message_sent", "message_edited", "message_read_receipt")


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
        first, second = session.as_user("user-01"), session.as_user("user-02")
        message = await first.messages.send(NewMessage.text("user-02", "helo"))
        await emulator.drain()
        await first.messages.update(message.id, MessageChanges(data={"text": "hello"}))
        await emulator.drain()
        await second.conversations.mark_read_user("user-01", message_id=message.id)
        await emulator.drain()
