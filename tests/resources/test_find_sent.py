"""Sends whose outcome is unknown, and `messages.find_sent`, which asks the service for the message."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from msgspec import structs

from chatrest import (
    ActingUserIgnoredError,
    AsyncSession,
    CursorError,
    DeadlineOutcomeUnknownError,
    Message,
    NewMessage,
    OutcomeUnknownError,
    RequestInvalidError,
    ServerOutcomeUnknownError,
    TextMessage,
    parse,
)
from chatrest._parameters.messages import MultipleReceivers, NewBotMessage, NewThreadMessage
from chatrest._resources.messages import Messages
from chatrest._resources.sent_messages import SentMark
from chatrest.emulator import (
    Cut,
    Emulator,
    Every,
    HalfOpen,
    Reset,
    Status,
)
from tests.list_faults import ListFault
from tests.resources.conftest import NOW
from tests.session_double import Sender

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


# ── the muid of a send ──


async def test_a_message_gets_a_muid_of_its_own_unless_it_has_one(session: AsyncSession) -> None:
    ann = session.as_user("ann")
    first, second = [await ann.messages.send(BOB) for _ in range(2)]
    assert isinstance(first.muid, str)
    assert isinstance(second.muid, str)
    assert (len(first.muid), len(second.muid)) == (32, 32)
    assert first.muid != second.muid
    assert (await ann.messages.send(structs.replace(BOB, muid="mine"))).muid == "mine"


async def test_the_muids_can_be_given(session: AsyncSession) -> None:
    numbers = count(1)
    messages = Messages(session.as_user("ann").sender, new_muid=lambda: f"m{next(numbers)}")
    assert [(await messages.send(BOB)).muid for _ in range(2)] == ["m1", "m2"]
    several = NewMessage(
        multiple_receivers=MultipleReceivers(uids=["bob", "cat"]), type="text", data={"text": "all"}
    )
    outcomes = await messages.send_each(several)
    assert {outcome.data.muid for outcome in outcomes.values() if outcome.data} == {"m3"}
    assert (await messages.send_bot("ann", NewBotMessage.text("bob", "beep"))).muid == "m4"


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
        messages = Messages(session.as_user("ann").sender, new_muid=lambda: "m1")
        with pytest.raises(kind) as caught:
            await messages.send(BOB)
        assert caught.value.muid == "m1"
        emulator.weather.clear()


# ── asking for it ──


async def test_each_message_stands_once_where_every_third_reply_is_lost(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.weather.add(Reset(route="messages.send", processed=True, when=Every(3)))
    emulator.weather.add(Reset(route="messages.send", processed=False, when=Every(7)))
    ann, lost = session.as_user("ann"), 0
    for number in range(30):
        message = NewMessage.text("bob", str(number), muid=f"m{number}")
        while True:
            try:
                await ann.messages.send(message)
                break
            except OutcomeUnknownError as error:
                if await ann.messages.find_sent(str(error.muid), receiver="bob", pauses=()):
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


@pytest.mark.parametrize(("sender", "receiver", "is_ours"), [("ann", "bob", True), ("bob", "ann", False)])
async def test_uids_are_the_same_in_any_case(sender: str, receiver: str, is_ours: bool) -> None:
    mark = SentMark.checked("m1", "Bob", "ANN", None)
    served = {"id": "1", "category": "message", "sender": sender, "receiver": receiver, "data": {}}
    message = parse(TextMessage, served)
    assert mark.is_from_sender(message) is is_ours


async def test_the_same_muid_of_the_other_side_proves_nothing(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.store.add_message("bob", "ann", muid="m1")
    with pytest.raises(OutcomeUnknownError, match=r"a message of 'bob' to 'ann' has the same"):
        await find(session)


# ── how far back, and what proves nothing ──


def fill(emulator: Emulator, number: int, sent_at: int, **members: Any) -> None:
    for index in range(number):
        emulator.store.add_message(
            "bob", "ann", sent_at=sent_at, **{"muid": f"x{sent_at}-{index}", **members}
        )


async def find(session: AsyncSession, **arguments: Any) -> Any:
    return await session.as_user("ann").messages.find_sent(
        **{"muid": "m1", "receiver": "bob", "pauses": (), **arguments}
    )


async def test_the_newest_messages_are_read_and_no_more(emulator: Emulator, session: AsyncSession) -> None:
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=NOW)
    fill(emulator, 20, NOW)
    assert await find(session, limit=20) is None
    assert (await find(session, limit=21)).muid == "m1"


async def test_a_limit_that_ends_before_the_send_proves_nothing(
    emulator: Emulator, session: AsyncSession
) -> None:
    fill(emulator, 20, NOW)
    with pytest.raises(OutcomeUnknownError, match="20 newest messages do not reach back") as caught:
        await find(session, limit=20, since=NOW)
    assert (caught.value.muid, caught.value.operation) == ("m1", "messages.find_sent")


@pytest.mark.parametrize("since", [NOW, NOW * 1000, datetime.fromtimestamp(NOW, UTC)])
async def test_the_search_ends_at_messages_of_before_the_send(
    emulator: Emulator, session: AsyncSession, since: Any
) -> None:
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=NOW - 1000)
    fill(emulator, 100, NOW - 301)
    fill(emulator, 3, NOW)
    assert await find(session, since=since) is None
    assert await find(session, since=NOW - 10) is not None


async def test_imported_messages_have_old_times_and_end_no_search(
    emulator: Emulator, session: AsyncSession
) -> None:
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=NOW)
    fill(emulator, 99, 5)
    assert await find(session, since=NOW) is not None


async def test_a_list_in_the_wrong_order_hides_nothing(emulator: Emulator, session: AsyncSession) -> None:
    emulator.store.add_message("ann", "bob", muid="m1", sent_at=NOW)
    fill(emulator, 60, NOW)
    emulator.weather.add(ListFault("capped", 25, route="messages.list_user"))
    emulator.weather.add(ListFault("ignored", "affix", route="messages.list_user"))
    with pytest.raises(CursorError):
        await find(session)


async def test_a_list_without_muids_proves_nothing(emulator: Emulator, session: AsyncSession) -> None:
    emulator.store.add_message("bob", "ann", sent_at=NOW)
    assert await find(session) is None
    emulator.store.add_message("ann", "bob", sent_at=NOW)
    with pytest.raises(
        OutcomeUnknownError, match="2 messages were read and none has a muid, 1 of this sender"
    ):
        await find(session)
    assert await find(session, since=NOW + 301) is None
    emulator.store.add_message("ann", "bob", sent_at=NOW, muid="m0")
    assert await find(session) is None


@pytest.mark.parametrize(
    "arguments",
    [{"limit": 0}, {"since": "tomorrow"}, {"since": datetime(2020, 1, 1)}, {"pauses": [-1]}, {"pauses": 1},
     {"receiver_type": "app"}, {"receiver": ""}, {"muid": None}],
)  # fmt: skip
async def test_wrong_arguments_are_named(session: AsyncSession, arguments: dict[str, Any]) -> None:
    with pytest.raises(
        RequestInvalidError, match=f"^{'uid' if 'receiver' in arguments else next(iter(arguments))} = "
    ):
        await find(session, **arguments)


# ── services that ignore the acting user, and login tokens ──


async def test_a_message_that_was_stored_as_sent_by_the_app_is_found_and_others_are_no_evidence() -> None:
    async def find(sender: str, muid: str) -> Any:
        record = {"id": "1", "sender": sender, "receiver": "bob", "receiverType": "user", "muid": "m-1"}
        reply = json.dumps({"data": [record | {"category": "message", "data": {}}]}).encode()
        return await Messages(Sender(reply)).find_sent(
            muid, receiver="bob", on_behalf_of="ann", pauses=(), limit=1
        )

    assert (await find("app_system", "m-1")).id == "1"
    assert await find("app_system", "m-2") is None
    with pytest.raises(ActingUserIgnoredError):
        await find("carl", "m-1")


@pytest.mark.parametrize("acting_user", [None, "ann"])
async def test_lists_of_a_login_tokens_user_do_not_prove_that_nothing_arrived(
    acting_user: str | None,
) -> None:
    sender = Sender(b'{"data":[]}')
    sender.has_reader_token = True
    with pytest.raises(OutcomeUnknownError, match="a login token is sent with the app's key") as caught:
        await Messages(sender).find_sent("m-1", receiver="bob", on_behalf_of=acting_user, pauses=())
    assert caught.value.muid == "m-1"
    messages = Messages(sender)
    assert await messages.find_sent("m-1", receiver="den", receiver_type="group", pauses=()) is None
    sender.answers = [b'{"data":[{"id":"1","sender":"app_system","receiver":"bob","muid":"m-1"}]}']
    assert await messages.find_sent("m-1", receiver="bob", on_behalf_of=acting_user, pauses=()) is not None


@pytest.mark.parametrize("sent_at", [10**17, 10**18, -(10**18)])
def test_a_time_of_no_calendar_shows_nothing(sent_at: int) -> None:
    mark = SentMark.checked("m-1", "bob", "ann", NOW)
    message = parse(Message, {"id": "1", "sender": "ann", "receiver": "bob", "sentAt": sent_at})
    assert not mark.is_before(message)
