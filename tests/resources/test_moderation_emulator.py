"""`session.moderation` against the emulator: rules, reasons, flags, and messages that are handed in."""

from collections.abc import AsyncIterator

import pytest
from msgspec import UNSET

from chatrest import AsyncSession, ConflictError, NewMessage, NotFoundError
from chatrest.emulator import Emulator
from chatrest.errors import ApiError
from chatrest.parameters.moderation import (
    ModerationQuery,
    NewFlag,
    NewModeratedMessage,
    NewReason,
    NewRule,
    RuleCondition,
    RuleFilter,
)


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=5, messages=0) as emulator:
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        yield session


def handed_in(text: str, sender: str = "user-01") -> NewModeratedMessage:
    return NewModeratedMessage(sender=sender, receiver="user-02", receiver_type="user", data={"text": text})


async def test_a_rule_is_made_changed_listed_and_deleted(session: AsyncSession) -> None:
    moderation = session.moderation
    rule = await moderation.create_rule(NewRule(id="r", name="R", action=["blockMessage"]))
    assert (rule.id, rule.enabled, rule.active) == ("r", True, True)
    changed = await moderation.update_rule("r", NewRule(name="S", enabled=False))
    assert (changed.name, changed.enabled, changed.action) == ("S", False, ("blockMessage",))
    assert [each.name async for each in moderation.list_rules()] == ["S"]
    revisions = await moderation.list_rule_revisions("r").collect()
    assert [(each.revision_id, each.name, each.active) for each in revisions] == [
        (changed.revision_id, "S", True), (rule.revision_id, "R", False)
    ]  # fmt: skip
    assert (await moderation.delete_rule("r")).success
    for gone in (
        moderation.get_rule("r"),
        moderation.delete_rule("r"),
        moderation.update_rule("r", NewRule()),
    ):
        with pytest.raises(NotFoundError, match="ERR_RULE_NOT_FOUND"):
            await gone
    assert await moderation.list_rules().collect() == []


async def test_a_reason_is_made_named_listed_and_deleted(session: AsyncSession) -> None:
    moderation = session.moderation
    reason = await moderation.create_reason(NewReason(id="spam", name="Spam"))
    with pytest.raises(ConflictError):
        await moderation.create_reason(NewReason(id="spam", name="Spam"))
    assert (await moderation.update_reason("spam", "Junk")).created_at == reason.created_at
    assert [(each.id, each.name, each.created_at) async for each in moderation.list_reasons()] == [
        ("spam", "Junk", reason.created_at)
    ]
    assert (await moderation.get_reason("spam")).name == "Junk"
    assert (await moderation.delete_reason("spam")).success
    with pytest.raises(NotFoundError, match="ERR_REASON_NOT_FOUND"):
        await moderation.get_reason("spam")


async def test_flags_are_counted_until_the_message_is_reviewed(
    emulator: Emulator, session: AsyncSession
) -> None:
    moderation = session.moderation
    message_id = emulator.store.add_message("user-01", "user-02", "bad")["id"]
    await moderation.create_reason(NewReason(id="spam", name="Spam", description="junk"))
    for uid in ("user-02", "user-03", "user-03"):
        assert (
            await moderation.flag_message(message_id, NewFlag(id="spam", remark="x"), on_behalf_of=uid)
        ).success
    [message] = await moderation.list_flagged_messages().collect()
    assert (message.id, message.flagged_count, message.app_id) == (message_id, 2, emulator.app.app_id)
    flags = message.flagged_by or ()
    assert [(flag.uid, flag.reason_name, flag.remark) for flag in flags] == [
        ("user-02", "Spam", "x"), ("user-03", "Spam", "x")
    ]  # fmt: skip
    with pytest.raises(NotFoundError, match="ERR_REASON_NOT_FOUND"):
        await moderation.flag_message(message_id, NewFlag(id="none"), on_behalf_of="user-02")
    with pytest.raises(NotFoundError, match="ERR_MESSAGE_ID_NOT_FOUND"):
        await moderation.flag_message("99", NewFlag(id="spam"), on_behalf_of="user-02")
    assert (await moderation.review_flagged_message(message_id, "approved")).success
    assert await moderation.list_flagged_messages().collect() == []
    with pytest.raises(NotFoundError, match="ERR_MESSAGE_ID_NOT_FOUND"):
        await moderation.review_flagged_message(message_id, "approved")


async def test_a_message_that_is_handed_in_is_got_changed_listed_and_deleted(session: AsyncSession) -> None:
    moderation = session.moderation
    first = await moderation.create_message(handed_in("hello"))
    others = [await moderation.create_message(handed_in(str(n), "user-03")) for n in range(120)]
    assert first.data.moderation == {"status": "pending"}
    assert (first.sender, first.conversation_id) == ("user-01", "user-01_user_user-02")
    changed = await moderation.update_message(first.id, {"text": "hi"})
    assert (changed.data.text, changed.edited_by) == ("hi", "app_system")
    assert (await moderation.get_message(first.id)).data.text == "hi"
    ids = [message.id async for message in moderation.list_messages()]
    assert ids == [first.id, *(message.id for message in others)]
    of_one = moderation.list_messages(ModerationQuery(sender="user-01", receiver_uid="user-02"))
    assert [message.id async for message in of_one] == [first.id]
    assert await moderation.list_messages(ModerationQuery(receiver_guid="den")).collect() == []
    assert (await moderation.delete_message(first.id)).success
    with pytest.raises(NotFoundError, match="ERR_MESSAGE_ID_NOT_FOUND"):
        await moderation.get_message(first.id)


async def test_unknown_parties_need_their_details(session: AsyncSession) -> None:
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.moderation.create_message(handed_in("hello", "nobody"))
    message = NewModeratedMessage(
        sender="nobody", receiver="den", receiver_type="group",
        sender_user_details={"uid": "nobody"}, receiver_group_details={"guid": "den"},
    )  # fmt: skip
    assert (await session.moderation.create_message(message)).conversation_id == "group_den"


async def test_a_rule_blocks_a_message_until_it_is_reviewed(session: AsyncSession) -> None:
    moderation = session.moderation
    await moderation.create_rule(
        NewRule(
            id="r",
            name="R",
            filters=[
                RuleFilter(
                    type="sender", entity="user", operand="uid", operator="not equals", value="user-05"
                )
            ],
            conditions=[RuleCondition(operand="text", category="word", operator="contains", value=["Darn"])],
            action=["blockMessage"],
        )
    )
    bad = await moderation.create_message(handed_in("oh darn it"))
    for text, sender in (("fine", "user-01"), ("darn", "user-05")):
        assert (await moderation.create_message(handed_in(text, sender))).data.moderation == {
            "status": "pending"
        }
    assert bad.data.moderation == {"status": "disapproved", "rule": {"id": "r", "name": "R"}}
    disapproved = ModerationQuery(moderation_status="disapproved")
    assert [each.id async for each in moderation.list_messages(disapproved)] == [bad.id]
    [blocked] = await moderation.list_blocked_messages().collect()
    assert blocked.message
    assert (blocked.message.id, blocked.rule_id, blocked.action) == (bad.id, "r", ("blockMessage",))
    await moderation.review_blocked_message(bad.id, "approved")
    assert await moderation.list_blocked_messages().collect() == []
    [reviewed] = await moderation.list_reviewed_messages().collect()
    assert (reviewed.rule_id, reviewed.revision_id) == ("r", blocked.revision_id)
    assert (await moderation.get_message(bad.id)).data.moderation["status"] == "approved"
    with pytest.raises(ApiError, match="ERR_MESSAGE_ID_NOT_FOUND"):
        await moderation.review_blocked_message(bad.id, "approved")


async def test_a_rule_meets_messages_that_are_sent(session: AsyncSession) -> None:
    condition = RuleCondition(operand="text", category="word", operator="contains", value="darn")
    await session.moderation.create_rule(NewRule(id="r", name="R", conditions=[condition]))
    fine = await session.messages.send(NewMessage.text("user-02", "hello"), on_behalf_of="user-01")
    bad = await session.messages.send(NewMessage.text("user-02", "oh darn"), on_behalf_of="user-01")
    assert fine.data.moderation is UNSET
    assert bad.data.moderation["status"] == "disapproved"
    [blocked] = await session.moderation.list_blocked_messages().collect()
    assert blocked.message
    assert (blocked.message.id, blocked.rule_name) == (bad.id, "R")
    await session.moderation.review_blocked_message(bad.id, "approved")
    assert (await session.messages.get(bad.id)).data.moderation["status"] == "approved"
    assert await session.moderation.list_blocked_messages().collect() == []
