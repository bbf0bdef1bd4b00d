"""Types as a type checker sees them: mypy reads this file in strict mode, nothing runs it.

A line with `type: ignore` is an error in an editor; without the error, mypy would refuse the comment.
"""

from typing import assert_type

from msgspec import UnsetType

from chatrest import (
    Ack,
    AppInfo,
    AsyncManagement,
    AsyncSession,
    AuthToken,
    Failure,
    File,
    Member,
    Message,
    MessageCount,
    MessageQuery,
    NewMembers,
    NewMessage,
    NotFoundError,
    Outcome,
    Outcomes,
    Page,
    Success,
    User,
    UserQuery,
    Walk,
)
from chatrest._models.apps import Trigger, Webhook
from chatrest._models.messages import AddedMember
from chatrest._models.outcomes import ItemAck
from chatrest._models.users import UserOutcome
from chatrest._parameters.apps import NewWebhook
from chatrest._parameters.data_import import UserImport
from chatrest._resources.groups import Members


async def lists(session: AsyncSession) -> None:
    """Lists are walks of typed records."""
    assert_type(session.users.list(), Walk[User])
    assert_type(session.messages.list_user("bob", on_behalf_of="alice"), Walk[Message])
    async for user in session.users.list(UserQuery(search_key="al", per_page=10)):
        assert_type(user, User)
        assert_type(user.uid, str)
    async for page in session.members.list("den").pages():
        assert_type(page, Page[Member])
    assert_type(await session.members.list("den").limit(5).collect(), list[Member])


async def records(session: AsyncSession) -> None:
    """Single records, acknowledgements and outcomes are typed."""
    assert_type(await session.messages.send(NewMessage.text("bob", "hello")), Message)
    assert_type(await session.auth_tokens.create("alice"), AuthToken)
    assert_type(await session.members.kick("den", "bob"), Ack)
    outcomes = await session.members.add("den", NewMembers(participants=["bob"]))
    assert_type(outcomes, Outcomes[AddedMember])
    assert_type(outcomes.failed, dict[str, AddedMember])
    imported = await session.data_import.import_users([UserImport(uid="zoe", name="Zoe")])
    assert_type(imported["zoe"], UserOutcome)
    await session.data_import.import_users({"zoe": {"uid": "zoe", "name": "Zoe"}})


async def outcomes(session: AsyncSession) -> None:
    """An outcome of a fan-out is a `Success` or a `Failure`, by `ok` and by its class."""

    async def length(uid: str) -> int:
        return len(await session.messages.list_user(uid).collect())

    async with session.fan_out(["a", "b"], length) as outcomes:
        async for outcome in outcomes:
            assert_type(outcome, Outcome[str, int])
            assert_type(outcome.result(), int)
            if outcome.ok:
                assert_type(outcome, Success[str, int])
                assert_type(outcome.value, int)
            else:
                assert_type(outcome.error, BaseException)
            match outcome:
                case Success(value=value):
                    assert_type(value, int)
                case Failure(error=error):
                    assert_type(error, BaseException)


async def nested_messages(session: AsyncSession, message: Message) -> None:
    """Messages inside of records are messages, every message has a text, and counts are numbers."""
    assert_type(message.text, str | None)
    if message.quoted_message:
        assert_type(message.quoted_message, Message)
        assert_type(message.quoted_message.text, str | None)
    conversation = await session.conversations.get_user("bob")
    if conversation.last_message:
        assert_type(conversation.last_message, Message)
    assert_type(conversation.unread_message_count, int | UnsetType | None)
    sent = await session.messages.send_each(NewMessage.text("bob", "hi"), on_behalf_of="alice")
    assert_type(sent["bob"].data, Message | UnsetType | None)
    assert_type(await session.messages.counts(MessageQuery(unread=True)), list[MessageCount])


async def management(management: AsyncManagement) -> None:
    """The management interface is typed in the same way."""
    assert_type(management.apps.list(), Walk[AppInfo])
    assert_type(management.webhooks.list("app"), Walk[Webhook])
    assert_type(management.triggers.list("app", "w1"), Walk[Trigger])
    assert_type(await management.triggers.add("app", "w1", ["message_sent"]), Outcomes[ItemAck])
    await management.webhooks.get("app", "w1", x_webhook_version=None)


def views(session: AsyncSession) -> None:
    """A view is a session, and its collections have their own types."""
    assert_type(session.as_user("alice"), AsyncSession)
    assert_type(session.with_options(deadline=5).members, Members)


def errors() -> NotFoundError:
    """An error of a double takes its attributes by keyword, each with its type."""
    error = NotFoundError("no such user", status=404, code="ERR_UID_NOT_FOUND", operation="users.get")
    assert_type(error.code, str | None)
    return error


async def mistakes(session: AsyncSession, management: AsyncManagement) -> None:
    """A mistake is an error before it runs."""
    UserQuery(search_kye="al")  # type: ignore[call-arg]
    UserQuery(per_page="10")  # type: ignore[arg-type]
    MessageQuery(affix="after")  # type: ignore[arg-type]
    NewWebhook(id="w1", name="Hook")  # type: ignore[call-arg]
    File(5)  # type: ignore[arg-type]
    NotFoundError("no such user", sttus=404)  # type: ignore[call-arg]
    NotFoundError("no such user", status="404")  # type: ignore[arg-type]
    print(session.groops)  # type: ignore[attr-defined]
    print(management.users)  # type: ignore[attr-defined]
    session.members.list()  # type: ignore[call-arg]
    await session.members.change_scope("den", "bob", "owner")  # type: ignore[arg-type]
    await session.members.kick("den", "bob", on_behalf_of=5)  # type: ignore[arg-type]
    await session.users.list()  # type: ignore[misc]
    for _ in session.users.list():  # type: ignore[attr-defined]
        pass
    async for user in session.users.list():
        print(user.guid)  # type: ignore[attr-defined]
        user.name = "x"  # type: ignore[misc]
