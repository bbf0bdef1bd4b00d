"""Sends whose outcome is unknown, and `messages.find_sent`, which asks the service for the message."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from chatrest import (
    ActingUserIgnoredError,
    AsyncSession,
    DeadlineOutcomeUnknownError,
    NewMessage,
    OutcomeUnknownError,
    RequestInvalidError,
    ServerOutcomeUnknownError,
    TextMessage,
    parse,
)
from chatrest._parameters.messages import MultipleReceivers, NewBotMessage, NewThreadMessage
from chatrest._resources import sent_messages
from chatrest._resources.messages import Messages
from chatrest.emulator import Chance, Cut, Emulator, HalfOpen, Reset, Status
from tests.resources.conftest import NOW
from tests.support.session_double import Sender

BOB = NewMessage.text("bob", "hello")


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0, clock=lambda: NOW) as emulator:
        for uid in ("ann", "bob", "cat"):
            emulator.store.add_user(uid)
        emulator.store.add_group("den")
        yield emulator


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
async def session(emulator: Emulator, slept: list[float]) -> AsyncIterator[AsyncSession]:
    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with AsyncSession(emulator.app, sleep=sleep) as session:
        yield session


def stored(emulator: Emulator) -> list[Any]:
    return [json.loads(record).get("muid") for record in emulator.store.records(emulator.store.ids())]


async def test_a_message_without_a_muid_gets_a_fresh_one(session: AsyncSession) -> None:
    ann = session.as_user("ann")
    first, second = [await ann.messages.send(BOB) for _ in range(2)]
    assert isinstance(first.muid, str)
    assert isinstance(second.muid, str)
    assert (len(first.muid), len(second.muid)) == (32, 32)
    assert first.muid != second.muid
    assert (await ann.messages.send(structs.replace(BOB, muid="mine"))).muid == "mine"


async def test_all_receivers_of_a_message_get_one_muid_and_that_of_a_bot_has_one(
    session: AsyncSession,
) -> None:
    several = MultipleReceivers(uids=["bob", "cat"])
    message = NewMessage(multiple_receivers=several, type="text", data={"text": "all"})
    outcomes = await session.as_user("ann").messages.send_each(message)
    assert len({outcome.data.muid for outcome in outcomes.values() if outcome.data}) == 1
    assert (await session.messages.send_bot("ann", NewBotMessage.text("bob", "beep"))).muid


async def test_a_reply_in_a_thread_has_none() -> None:
    sender = Sender(
        lambda call: parse(TextMessage, {"id": "1", "category": "message", "data": {}}), acting_user="ann"
    )
    await Messages(sender).send_thread("7", NewThreadMessage.text("yes", receiver="bob"))
    assert not hasattr(sender.call.body, "muid")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Reset(processed=True), OutcomeUnknownError),
        (Cut(after=9), OutcomeUnknownError),
        (Status(503), ServerOutcomeUnknownError),
        (HalfOpen(processed=True), DeadlineOutcomeUnknownError),
    ],
)
async def test_every_unknown_outcome_of_a_send_has_its_muid(
    emulator: Emulator, fault: Any, kind: type[OutcomeUnknownError]
) -> None:
    emulator.weather.add(structs.replace(fault, route="messages.send"))
    deadline = 0.2 if kind is DeadlineOutcomeUnknownError else None
    async with AsyncSession(emulator.app, deadline=deadline) as session:
        with pytest.raises(kind) as caught:
            await session.as_user("ann").messages.send(structs.replace(BOB, muid="m1"))
        assert caught.value.muid == "m1"
        emulator.weather.clear()


async def test_each_message_is_stored_once_despite_lost_replies(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.weather.add(Reset(route="messages.send", processed=True, when=Chance(0.3)))
    emulator.weather.add(Reset(route="messages.send", processed=False, when=Chance(0.15)))
    ann, lost = session.as_user("ann"), 0
    for number in range(30):
        message = NewMessage.text("bob", str(number), muid=f"m{number}")
        while True:
            try:
                await ann.messages.send(message)
                break
            except OutcomeUnknownError as error:
                if await ann.messages.find_sent(str(error.muid), receiver="bob"):
                    break
                lost += 1
    assert stored(emulator) == [f"m{number}" for number in range(30)]
    assert lost


@pytest.mark.parametrize("acting_user", ["ann", None])
@pytest.mark.parametrize(("receiver", "receiver_type"), [("bob", "user"), ("den", "group")])
async def test_users_and_groups_with_an_acting_user_and_without(
    session: AsyncSession, acting_user: str | None, receiver: str, receiver_type: Any
) -> None:
    for muid in ("m1", "m2"):
        message = NewMessage.text(receiver, muid, receiver_type=receiver_type, muid=muid)
        await session.messages.send(message, on_behalf_of=acting_user)

    async def find(muid: str) -> Any:
        return await session.messages.find_sent(
            muid, receiver=receiver, receiver_type=receiver_type, on_behalf_of=acting_user
        )

    assert (await find("m1")).muid == "m1"
    assert (await find("m2")).muid == "m2"
    assert await find("m3") is None


async def test_a_message_that_is_shown_late_is_there_after_a_pause(emulator: Emulator) -> None:
    async def store(_: float) -> None:
        emulator.store.add_message("ann", "bob", muid="m1")

    async with AsyncSession(emulator.app, sleep=store) as session:
        assert await session.as_user("ann").messages.find_sent("m1", receiver="bob") is not None


async def find(session: AsyncSession, **arguments: Any) -> Any:
    return await session.as_user("ann").messages.find_sent(**{"muid": "m1", "receiver": "bob", **arguments})


async def test_the_same_muid_of_the_other_side_proves_nothing(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.store.add_message("bob", "ann", muid="m1")
    with pytest.raises(OutcomeUnknownError, match=r"a message of 'bob' to 'ann' has the same") as caught:
        await find(session)
    assert (caught.value.muid, caught.value.operation) == ("m1", "messages.find_sent")


async def test_the_newest_messages_are_read_and_no_more(
    emulator: Emulator, session: AsyncSession, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_messages, "MAX_SEARCHED", 21)
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=5)
    for number in range(20):
        emulator.store.add_message("bob", "ann", sent_at=5, muid=f"x{number}")
    assert ((await find(session)).muid, slept) == ("m1", [])
    emulator.store.add_message("bob", "ann", sent_at=NOW, muid="x")
    assert (await find(session), slept) == (None, [1.0])


@pytest.mark.parametrize("unit", [1, 1000])
async def test_many_messages_of_a_few_minutes_do_not_prove_a_loss(
    emulator: Emulator, session: AsyncSession, monkeypatch: pytest.MonkeyPatch, unit: int
) -> None:
    monkeypatch.setattr(sent_messages, "MAX_SEARCHED", 10)
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=NOW * unit)
    for number in range(10):
        emulator.store.add_message("bob", "ann", muid=f"x{number}", sent_at=(NOW + 30 * number) * unit)
    with pytest.raises(OutcomeUnknownError, match=r"the newest 10 messages, .* of 5 minutes"):
        await find(session)
    emulator.store.add_message("bob", "ann", muid="y", sent_at=(NOW + 400) * unit)
    assert await find(session) is None


async def test_a_list_without_muids_proves_nothing(emulator: Emulator, session: AsyncSession) -> None:
    emulator.store.add_message("bob", "ann", sent_at=NOW)
    assert await find(session) is None
    emulator.store.add_message("ann", "bob", sent_at=NOW)
    with pytest.raises(
        OutcomeUnknownError, match="2 messages were read and none has a muid, 1 of this sender"
    ):
        await find(session)
    emulator.store.add_message("ann", "bob", sent_at=NOW, muid="m0")
    assert await find(session) is None


@pytest.mark.parametrize(
    "arguments", [{"receiver_type": "app"}, {"receiver": ""}, {"muid": None}, {"muid": 5}]
)
async def test_wrong_arguments_are_named(session: AsyncSession, arguments: dict[str, Any]) -> None:
    with pytest.raises(
        RequestInvalidError, match=f"^{'uid' if 'receiver' in arguments else next(iter(arguments))} = "
    ):
        await find(session, **arguments)


@pytest.mark.parametrize(
    ("sender", "receiver", "muid", "result"),
    [
        ("Ann", "Bob", "m-1", "1"),  # services may change the case of a uid
        ("app_system", "bob", "m-1", "1"),
        ("app_system", "bob", "m-2", None),
        ("carl", "bob", "m-1", ActingUserIgnoredError),
        ("", "", "m-2", OutcomeUnknownError),
    ],
)
async def test_a_listed_message_with_the_muid_proves_the_send(
    sender: str, receiver: str, muid: str, result: Any
) -> None:
    record = {"id": "1", "sender": sender, "receiver": receiver, "receiverType": "user", "muid": "m-1"}
    record |= {"category": "message", "data": {}} if sender else {"category": "poll"}
    first, later = json.dumps({"data": [record]}).encode(), b'{"data":[]}'
    sender_double = Sender(lambda call: call.endpoint.reply(later if "id" in dict(call.position) else first))
    search = Messages(sender_double).find_sent(muid, receiver="bob", on_behalf_of="ann")
    if isinstance(result, type):
        with pytest.raises(result):
            await search
    else:
        message = await search
        assert (message and message.id) == result


async def test_the_acting_user_of_a_search_is_the_argument_before_that_of_the_view() -> None:
    sender = Sender(b'{"data":[{"id":"1","sender":"ann","receiver":"bob","muid":"m-1"}]}', acting_user="carl")
    message = await Messages(sender).find_sent("m-1", receiver="bob", on_behalf_of="ann")
    assert message is not None
    assert message.id == "1"


@pytest.mark.parametrize("acting_user", [None, "ann"])
async def test_lists_of_a_login_tokens_user_do_not_prove_that_nothing_arrived(
    acting_user: str | None,
) -> None:
    sender = Sender(b'{"data":[]}')
    sender.has_reader_token = True
    messages = Messages(sender)
    with pytest.raises(OutcomeUnknownError, match="a login token is sent with the app's key"):
        await messages.find_sent("m-1", receiver="bob", on_behalf_of=acting_user)
    assert await messages.find_sent("m-1", receiver="den", receiver_type="group") is None
    sender.answers = [b'{"data":[{"id":"1","sender":"app_system","receiver":"bob","muid":"m-1"}]}']
    assert await messages.find_sent("m-1", receiver="bob", on_behalf_of=acting_user) is not None
