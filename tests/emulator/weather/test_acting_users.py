"""A service that ignores the acting user, over a socket."""

from chatrest import AsyncSession, NewMessage
from chatrest.emulator import Emulator, IgnoredActingUser


async def test_a_message_sent_for_a_user_is_stored_as_sent_by_the_app() -> None:
    ignores = Emulator(users=3, messages=0, weather=[IgnoredActingUser()])
    async with ignores as emulator, AsyncSession(emulator.app) as session:
        sent = await session.messages.send(NewMessage.text("user-002", "hi"), on_behalf_of="user-001")
    assert sent.sender == "app_system"


async def test_everybody_gets_the_conversations_of_one_user() -> None:
    async with Emulator(users=3, messages=0, weather=[IgnoredActingUser("user-001")]) as emulator:
        emulator.store.add_message("user-001", "user-002", "hi")
        emulator.store.add_message("user-003", "user-002", "ho")
        async with AsyncSession(emulator.app, check_acting_user=False) as session:
            conversations = await session.conversations.list(on_behalf_of="user-003").collect()
    assert [each.conversation_id for each in conversations] == ["user-001_user_user-002"]
