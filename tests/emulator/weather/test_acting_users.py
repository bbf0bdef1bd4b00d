"""A service that ignores the acting user, over a socket."""

from chatrest import AsyncSession, NewMessage
from chatrest.emulator import Emulator
from chatrest.emulator.weather import IgnoredActingUser


async def test_a_message_sent_for_a_user_is_stored_as_sent_by_the_app() -> None:
    ignores = Emulator(users=3, messages=0, weather=[IgnoredActingUser()])
    async with ignores as emulator, AsyncSession(emulator.app) as session:
        sent = await session.messages.send(NewMessage.text("user-02", "hi"), on_behalf_of="user-01")
    assert sent.sender == "app_system"


async def test_everybody_gets_the_conversations_of_one_user() -> None:
    async with Emulator(users=3, messages=0, weather=[IgnoredActingUser("user-01")]) as emulator:
        emulator.store.add_message("user-01", "user-02", "hi")
        emulator.store.add_message("user-03", "user-02", "ho")
        async with AsyncSession(emulator.app, check_acting_user=False) as session:
            conversations = await session.conversations.list(on_behalf_of="user-03").collect()
    assert [each.conversation_id for each in conversations] == ["user-01_user_user-02"]
