"""`session.notifications` against the emulator: what is put can be got, changed and removed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatrest import AsyncSession, AuthenticationError, NotFoundError
from chatrest.emulator import Emulator
from chatrest.parameters.notifications import (
    ApnsProvider,
    ContactDetailsChanges,
    ConversationsToMute,
    ConversationsToUnmute,
    ConversationToMute,
    ConversationToUnmute,
    CustomEmailProviderChanges,
    CustomPushProviderChanges,
    CustomSmsProviderChanges,
    FcmProvider,
    MutePreferences,
    NewCustomEmailProvider,
    NewCustomPushProvider,
    NewCustomSmsProvider,
    NewPushToken,
    NewSendgridProvider,
    NewTwilioProvider,
    NotificationLogQuery,
    PreferencesChanges,
    SendgridProviderChanges,
    SettingsChanges,
    TwilioProviderChanges,
)
from chatrest.resources.notifications import Notifications

NOW = 2_000_000_000


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=3, messages=0, clock=lambda: NOW) as emulator:
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app) as session:
        yield session


async def test_settings_are_changed_in_parts_and_reset(session: AsyncSession) -> None:
    notifications = session.notifications
    first = await notifications.get_settings()
    change = SettingsChanges(preferences={"group": {"messagesSetting": 1}}, sound={"chat": "bell"})
    assert (await notifications.update_settings(change)).success
    changed = await notifications.get_settings()
    assert first.preferences
    assert changed.preferences
    assert first.preferences.group
    assert changed.preferences.group == {**first.preferences.group, "messagesSetting": 1}
    assert changed.sound == {**(first.sound or {}), "chat": "bell"}
    assert (await notifications.reset_settings()).success
    assert await notifications.get_settings() == first


async def test_preferences_are_of_one_user(session: AsyncSession) -> None:
    notifications = session.notifications
    change = PreferencesChanges(
        group_preferences={"groupMessages": 3}, mute_preferences=MutePreferences(dnd=2),
        use_privacy_template=True,
    )  # fmt: skip
    changed = await notifications.update_preferences("user-01", change)
    assert changed == await notifications.get_preferences("user-01")
    other = await notifications.get_preferences("user-02")
    assert changed.preferences
    assert other.preferences
    assert changed.preferences.group
    assert other.preferences.group
    assert (changed.preferences.group["groupMessages"], other.preferences.group["groupMessages"]) == (3, 2)
    assert changed.preferences.mute == {"dnd": 2, "schedule": {}}
    kept = await notifications.reset_preferences("user-01")
    assert kept.use_privacy_template is False
    assert await notifications.get_preferences("user-01") == other
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await notifications.get_preferences("nobody")


async def test_muted_conversations_are_listed_until_their_time(session: AsyncSession) -> None:
    notifications = session.notifications
    conversations = [
        ConversationToMute(id="user-02", type="oneOnOne", until=(NOW + 60) * 1000),
        ConversationToMute(id="user-03", type="oneOnOne", until=(NOW - 60) * 1000),
        ConversationToMute(id="den", type="group"),
    ]
    assert (await notifications.mute("user-01", ConversationsToMute(conversations=conversations))).success
    assert await muted(notifications) == ["user-02", "den"]
    unmute = ConversationsToUnmute(conversations=[ConversationToUnmute(id="user-02", type="oneOnOne")])
    assert (await notifications.unmute("user-01", unmute)).success
    assert await muted(notifications) == ["den"]
    assert (await notifications.list_muted("user-02")).muted_conversations == ()


async def muted(notifications: Notifications) -> list[str]:
    conversations = (await notifications.list_muted("user-01")).muted_conversations
    return [conversation["id"] for conversation in conversations or ()]


async def test_time_zone_and_contact_details_of_a_user(session: AsyncSession) -> None:
    notifications = session.notifications
    assert (await notifications.get_timezone("user-01")).timezone == "UTC"
    assert (await notifications.update_timezone("user-01", "Asia/Tokyo")).timezone == "Asia/Tokyo"
    assert (await notifications.get_timezone("user-01")).timezone == "Asia/Tokyo"
    assert (await notifications.get_timezone("user-02")).timezone == "UTC"
    mine = session.as_user("user-01").notifications
    await mine.update_contact_details(ContactDetailsChanges(email="a@x"))
    details = await mine.update_contact_details(ContactDetailsChanges(phno="+1"))
    assert (details.email, details.phno) == ("a@x", "+1")
    assert (await notifications.get_contact_details(on_behalf_of="user-02")).email is None
    assert (await mine.delete_contact_details()).success
    assert (await mine.get_contact_details()).phno is None


@pytest.mark.parametrize("kind", ["fcm", "apns"])
async def test_push_providers_are_added_changed_made_default_and_removed(
    session: AsyncSession, kind: str
) -> None:
    notifications = session.notifications
    provider: Any = FcmProvider if kind == "fcm" else ApnsProvider
    operations = ("add_{}_provider", "update_{}_provider", "set_default_{}_provider", "delete_{}_provider")
    add, update, set_default, delete = (
        getattr(notifications, name.format(kind)) for name in operations
    )  # fmt: skip

    async def listed() -> list[dict[str, Any]]:
        providers = await getattr(notifications, f"list_{kind}_providers")()
        return list(providers.push_providers)

    await add(provider(provider_id="one"))
    await add(provider(provider_id="two"))
    change = {"service_account_filename": "f"} if kind == "fcm" else {"p8_key": "k", "team_id": "t"}
    assert (await update(provider(provider_id="two", **change))).success
    assert (await set_default("two")).success
    wire = {"serviceAccountFilename": "f"} if kind == "fcm" else {"p8Key": "k", "teamId": "t"}
    assert await listed() == [
        {"providerId": "one", "isDefault": False}, {"providerId": "two", **wire, "isDefault": True}
    ]  # fmt: skip
    assert (await delete("one")).success
    assert [each["providerId"] for each in await listed()] == ["two"]
    for refused in (delete("one"), set_default("one"), update(provider(provider_id="one"))):
        with pytest.raises(NotFoundError):
            await refused


async def test_an_added_apns_provider_comes_with_all_others(session: AsyncSession) -> None:
    await session.notifications.add_apns_provider(ApnsProvider(provider_id="one"))
    providers = await session.notifications.add_apns_provider(ApnsProvider(provider_id="two"))
    assert [each["providerId"] for each in providers.push_providers or ()] == ["one", "two"]


WEB: dict[str, Any] = {
    "is_enabled": True, "webhook_url": "https://h", "use_basic_auth": True, "basic_auth_username": "u",
    "basic_auth_password": "p",
}  # fmt: skip
ACCOUNTS: dict[str, tuple[Any, Any, tuple[str, Any]]] = {
    "twilio": (
        NewTwilioProvider(
            twilio_account_sid="s", twilio_auth_token="t", twilio_sender_phone_number="+1", is_enabled=True
        ),
        TwilioProviderChanges(twilio_sender_phone_number="+2"), ("twilio_sender_phone_number", "+2"),
    ),
    "sendgrid": (
        NewSendgridProvider(
            send_grid_api_key="k", send_grid_template_id="t", send_grid_unsubscribe_group_id="5",
            sender_name="n", sender_email="e",
        ),
        SendgridProviderChanges(sender_name="m"), ("sender_name", "m"),
    ),
    "custom_sms": (
        NewCustomSmsProvider(**WEB), CustomSmsProviderChanges(use_stored_ph_no=True),
        ("use_stored_ph_no", True),
    ),
    "custom_email": (
        NewCustomEmailProvider(**WEB, use_stored_email_id=False),
        CustomEmailProviderChanges(use_stored_email_id=True), ("use_stored_email_id", True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCOUNTS)
async def test_an_account_is_created_got_changed_and_removed(session: AsyncSession, name: str) -> None:
    new, change, (field, value) = ACCOUNTS[name]
    verbs = ("get", "create", "update", "delete")
    get, create, update, delete = (
        getattr(session.notifications, f"{verb}_{name}_provider") for verb in verbs
    )
    for missing in (get(), update(change), delete()):
        with pytest.raises(NotFoundError):
            await missing
    created = await create(new)
    changed = await update(change)
    assert getattr(created, field) != value == getattr(changed, field)
    if name != "sendgrid":
        assert await get() == changed
    assert (await delete()).success
    with pytest.raises(NotFoundError):
        await get()


async def test_the_mail_account_is_got_without_its_members_about_replies(session: AsyncSession) -> None:
    created = await session.notifications.create_sendgrid_provider(ACCOUNTS["sendgrid"][0])
    account = await session.notifications.get_sendgrid_provider()
    assert created.allow_email_replies is False
    assert "allowEmailReplies" in created.to_dict()
    assert created.to_dict() == {**account.to_dict(), "allowEmailReplies": False}


async def test_the_webhook_of_push_notifications_is_a_list_of_one(session: AsyncSession) -> None:
    notifications = session.notifications
    assert (await notifications.list_custom_push_providers()).push_providers == ()
    [created] = (
        await notifications.create_custom_push_provider(NewCustomPushProvider(**WEB))
    ).push_providers or ()
    change = CustomPushProviderChanges(webhook_url="https://i")
    [changed] = (await notifications.update_custom_push_provider(change)).push_providers or ()
    assert (created.webhook_url, changed.webhook_url) == ("https://h", "https://i")
    assert (await notifications.list_custom_push_providers()).push_providers == (changed,)
    assert (await notifications.delete_custom_push_provider()).success
    assert (await notifications.list_custom_push_providers()).push_providers == ()


async def test_push_tokens_belong_to_a_login_of_a_user(session: AsyncSession) -> None:
    notifications = session.notifications
    logins = [(await session.auth_tokens.create("user-01", force=True)).auth_token for _ in range(2)]
    other = (await session.auth_tokens.create("user-02")).auth_token
    for login, token in ((logins[0], "a"), (logins[1], "b"), (other, "c")):
        new = NewPushToken(auth_token=login, platform="fcm_web", provider_id="p", fcm_token=token)
        assert (await notifications.register_push_token(new)).success
    own = (await notifications.list_push_tokens(logins[0])).push_tokens or ()
    assert [(each.push_token, each.uid, each.push_token_type) for each in own] == [("a", "user-01", "fcm")]
    assert own[0].created_at == "2033-05-18T03:33:20.000Z"
    every = (await notifications.list_push_tokens(logins[0], all=True)).push_tokens or ()
    assert [each.push_token for each in every] == ["a", "b"]
    [gone] = (await notifications.delete_push_token("a", logins[0])).push_tokens or ()
    assert gone == own[0]
    with pytest.raises(NotFoundError):
        await notifications.delete_push_token("c", logins[0])
    gone_too = (await notifications.unregister_push_tokens(logins[0], all=True)).push_tokens or ()
    assert [each.push_token for each in gone_too] == ["b"]
    assert (await notifications.list_push_tokens(logins[0], all=True)).push_tokens == ()
    assert len((await notifications.list_push_tokens(other)).push_tokens or ()) == 1
    with pytest.raises(AuthenticationError, match="AUTH_ERR_AUTH_TOKEN_NOT_FOUND"):
        await notifications.list_push_tokens("wrong")


async def test_the_log_is_filtered_and_walked_by_log_ids(emulator: Emulator, session: AsyncSession) -> None:
    logs = emulator.store.documents.of("notifications.logs")
    for number in range(50):
        log = {
            "_id": f"log-{number}", "channel": ("push", "sms")[number % 2], "messageId": 100 + number // 2,
            "messageSentAtMS": 1000 + number, "notificationTriggered": number % 5 > 0, "sender": "user-01",
        }  # fmt: skip
        logs.put(log, str(log["_id"]))
    walk = session.notifications.list_logs()
    assert [log._id async for log in walk] == [f"log-{number}" for number in range(50)]
    query = NotificationLogQuery(channel="sms", from_=1010, to=1030, notification_triggered=True)
    assert [log._id async for log in session.notifications.list_logs(query)] == [
        f"log-{number}" for number in range(11, 31, 2) if number % 5
    ]
    last = session.notifications.list_logs(NotificationLogQuery(affix="prepend")).limit(4)
    assert [log.message_id for log in await last.collect()] == [124, 124, 123, 123]
    assert await session.notifications.list_logs(NotificationLogQuery(sender="user-02")).collect() == []
