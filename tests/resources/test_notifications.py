"""`session.notifications`, through a double of the session: what each operation sends, and what it gives."""

from typing import Any

import pytest

from chatrest.core.wire import json_body
from chatrest.errors import CursorError, RequestInvalidError
from chatrest.models.outcomes import Ack
from chatrest.parameters.notifications import (
    ApnsProvider,
    ContactDetailsChanges,
    ConversationsToMute,
    ConversationsToUnmute,
    CustomEmailProviderChanges,
    CustomPushProviderChanges,
    CustomSmsProviderChanges,
    FcmProvider,
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
from chatrest.resources import OPERATIONS
from chatrest.resources.notifications import Notifications
from tests.cases import loop_over
from tests.sending import Sender

DONE = b'{"data":{"success":true}}'
PUSH = b'{"data":{"pushProviders":[{"providerId":"p","p8Key":"k"}]}}'
TWILIO = b'{"data":{"twilioAccountSID":"s","twilioAuthToken":"t","twilioSenderPhoneNumber":"+1"}}'
SENDGRID = (
    b'{"data":{"sendGridApiKey":"k","sendGridTemplateID":"t","sendGridUnsubscribeGroupID":"5",'
    b'"senderEmail":"e","senderName":"n","allowEmailReplies":true,"senderEmailForReplies":null,'
    b'"repliesWebhook":"w"}}'
)
WEBHOOK = (
    b'{"isEnabled":true,"webhookURL":"https://h","useBasicAuth":true,"basicAuthUsername":"u",'
    b'"basicAuthPassword":"p","useStoredPhNo":true,"useStoredEmailID":false}'
)
CUSTOM = b'{"data":%b}' % WEBHOOK
CUSTOM_PUSH = b'{"data":{"pushProviders":[%b]}}' % WEBHOOK
SHOWN = (
    b'{"data":{"preferences":{"group":{"a":1},"oneOnOne":{"b":2},"mute":{"dnd":1},"call":{},"email":{},'
    b'"sms":{},"push":{},"bypassPreferencesForMentions":true,"bypassPreferencesForGroupMentions":false},'
    b'"sound":{"chat":"c","call":"d"},"templates":{"usePrivacyTemplate":1}}}'
)
KEPT = (
    b'{"data":{"groupPreferences":{"a":1},"oneOnOnePreferences":{"b":2},"mutePreferences":{"dnd":1},'
    b'"usePrivacyTemplate":true}}'
)
TOKENS = (
    b'{"data":{"pushTokens":[{"uid":"bob","authToken":"a","pushToken":"p","pushTokenType":"fcm",'
    b'"platform":"fcm_web","providerId":"x","createdAt":"2020-01-01T00:00:00.000Z",'
    b'"updatedAt":"2020-01-02T00:00:00.000Z"}]}}'
)
CONTACT = b'{"data":{"email":"e@x","phno":"+1"}}'
WEB: dict[str, Any] = {
    "is_enabled": True, "webhook_url": "https://h", "use_basic_auth": True, "basic_auth_username": "u",
    "basic_auth_password": "p",
}  # fmt: skip
SENT_WEB = (
    '"isEnabled":true,"webhookURL":"https://h","useBasicAuth":true,"basicAuthUsername":"u",'
    '"basicAuthPassword":"p"'
)
NEW_SENDGRID = NewSendgridProvider(
    send_grid_api_key="k", send_grid_template_id="t", send_grid_unsubscribe_group_id="5", sender_name="n",
    sender_email="e", allow_email_replies=True,
)  # fmt: skip
V1, PUSH1 = "/notifications/v1", "/notifications/push/v1"

CALLS: dict[str, tuple[Any, bytes, str]] = {
    "get_settings": (lambda each: each.get_settings(), SHOWN, f"GET {V1}/settings"),
    "update_settings": (
        lambda each: each.update_settings(SettingsChanges(sound={"chat": "c"}, templates={}, preferences={})),
        DONE, f'PATCH {V1}/settings {{"preferences":{{}},"sound":{{"chat":"c"}},"templates":{{}}}}',
    ),
    "reset_settings": (lambda each: each.reset_settings(), DONE, f"DELETE {V1}/settings"),
    "list_fcm_providers": (lambda each: each.list_fcm_providers(), PUSH, f"GET {PUSH1}/providers/fcm"),
    "add_fcm_provider": (
        lambda each: each.add_fcm_provider(FcmProvider(provider_id="p", service_account_creds={"a": "b"})),
        DONE, f'POST {PUSH1}/providers/fcm {{"providerId":"p","serviceAccountCreds":{{"a":"b"}}}}',
    ),
    "update_fcm_provider": (
        lambda each: each.update_fcm_provider(FcmProvider(service_account_filename="f")), DONE,
        f'PUT {PUSH1}/providers/fcm {{"serviceAccountFilename":"f"}}',
    ),
    "delete_fcm_provider": (
        lambda each: each.delete_fcm_provider("a/b"), DONE, f"DELETE {PUSH1}/providers/fcm/a%2Fb"
    ),
    "set_default_fcm_provider": (
        lambda each: each.set_default_fcm_provider("p"), DONE, f"PUT {PUSH1}/providers/fcm/default/p"
    ),
    "list_apns_providers": (lambda each: each.list_apns_providers(), PUSH, f"GET {PUSH1}/providers/apns"),
    "add_apns_provider": (
        lambda each: each.add_apns_provider(ApnsProvider(p8_key="k", include_content_available=True)), PUSH,
        f'POST {PUSH1}/providers/apns {{"p8Key":"k","includeContentAvailable":true}}',
    ),
    "update_apns_provider": (
        lambda each: each.update_apns_provider(ApnsProvider(p8_key_filename="f", key_id="i")), DONE,
        f'PUT {PUSH1}/providers/apns {{"keyId":"i","p8KeyFilename":"f"}}',
    ),
    "delete_apns_provider": (
        lambda each: each.delete_apns_provider("p"), DONE, f"DELETE {PUSH1}/providers/apns/p"
    ),
    "set_default_apns_provider": (
        lambda each: each.set_default_apns_provider("p"), DONE, f"PUT {PUSH1}/providers/apns/default/p"
    ),
    "get_preferences": (lambda each: each.get_preferences("bob"), SHOWN, f"GET {V1}/preferences?uid=bob"),
    "update_preferences": (
        lambda each: each.update_preferences("bob", PreferencesChanges(group_preferences={"a": 1})), SHOWN,
        f'PATCH {V1}/preferences?uid=bob {{"groupPreferences":{{"a":1}}}}',
    ),
    "reset_preferences": (
        lambda each: each.reset_preferences("bob"), KEPT, f"DELETE {V1}/preferences?uid=bob"
    ),
    "list_push_tokens": (
        lambda each: each.list_push_tokens("a", all=True), TOKENS, f"GET {PUSH1}/tokens?all=true&authToken=a"
    ),
    "register_push_token": (
        lambda each: each.register_push_token(NewPushToken(auth_token="a", voip_token="v")), DONE,
        f'POST {PUSH1}/tokens {{"authToken":"a","voipToken":"v"}}',
    ),
    "unregister_push_tokens": (
        lambda each: each.unregister_push_tokens("a", all=False), TOKENS,
        f'DELETE {PUSH1}/tokens?all=false {{"authToken":"a"}}',
    ),
    "delete_push_token": (
        lambda each: each.delete_push_token("p/p", "a"), TOKENS,
        f'DELETE {PUSH1}/tokens/p%2Fp {{"authToken":"a"}}',
    ),
    "list_muted": (
        lambda each: each.list_muted("bob"), b'{"data":{"mutedConversations":[{"id":"x"}]}}',
        f"GET {V1}/preferences/mute?uid=bob",
    ),
    "mute": (
        lambda each: each.mute("bob", ConversationsToMute(conversations=[{"id": "x", "until": 5}])), DONE,
        f'PUT {V1}/preferences/mute?uid=bob {{"conversations":[{{"id":"x","until":5}}]}}',
    ),
    "unmute": (
        lambda each: each.unmute("bob", ConversationsToUnmute(conversations=[{"id": "x", "type": "group"}])),
        DONE, f'DELETE {V1}/preferences/mute?uid=bob {{"conversations":[{{"id":"x","type":"group"}}]}}',
    ),
    "get_timezone": (
        lambda each: each.get_timezone("bob"), b'{"data":{"timezone":"UTC"}}',
        f"GET {V1}/preferences/timezone?uid=bob",
    ),
    "update_timezone": (
        lambda each: each.update_timezone("bob", "Europe/Berlin"), b'{"data":{"timezone":"Europe/Berlin"}}',
        f'PATCH {V1}/preferences/timezone?uid=bob {{"timezone":"Europe/Berlin"}}',
    ),
    "get_contact_details": (
        lambda each: each.get_contact_details(on_behalf_of="bob"), CONTACT, f"GET {V1}/contact-details"
    ),
    "update_contact_details": (
        lambda each: each.update_contact_details(
            ContactDetailsChanges(email="e@x", phno="+1"), on_behalf_of="bob"
        ),
        CONTACT, f'PATCH {V1}/contact-details {{"email":"e@x","phno":"+1"}}',
    ),
    "delete_contact_details": (
        lambda each: each.delete_contact_details(on_behalf_of="bob"), DONE, f"DELETE {V1}/contact-details"
    ),
    "get_twilio_provider": (
        lambda each: each.get_twilio_provider(), TWILIO, "GET /notifications/sms/v1/providers/twilio"
    ),
    "create_twilio_provider": (
        lambda each: each.create_twilio_provider(
            NewTwilioProvider(
                twilio_account_sid="s", twilio_auth_token="t", twilio_sender_phone_number="+1",
                is_enabled=True,
            )
        ),
        TWILIO,
        (
            'POST /notifications/sms/v1/providers/twilio {"twilioAccountSID":"s","twilioAuthToken":"t",'
            '"twilioSenderPhoneNumber":"+1","isEnabled":true}'
        ),
    ),
    "update_twilio_provider": (
        lambda each: each.update_twilio_provider(TwilioProviderChanges(twilio_auth_token="t")), TWILIO,
        'PUT /notifications/sms/v1/providers/twilio {"twilioAuthToken":"t"}',
    ),
    "delete_twilio_provider": (
        lambda each: each.delete_twilio_provider(), DONE, "DELETE /notifications/sms/v1/providers/twilio"
    ),
    "get_sendgrid_provider": (
        lambda each: each.get_sendgrid_provider(), SENDGRID, "GET /notifications/email/v1/providers/sendgrid"
    ),
    "create_sendgrid_provider": (
        lambda each: each.create_sendgrid_provider(NEW_SENDGRID), SENDGRID,
        (
            'POST /notifications/email/v1/providers/sendgrid {"sendGridApiKey":"k","sendGridTemplateID":"t",'
            '"sendGridUnsubscribeGroupID":"5","senderName":"n","senderEmail":"e","allowEmailReplies":true}'
        ),
    ),
    "update_sendgrid_provider": (
        lambda each: each.update_sendgrid_provider(SendgridProviderChanges(sender_email_for_replies=None)),
        SENDGRID, 'PUT /notifications/email/v1/providers/sendgrid {"senderEmailForReplies":null}',
    ),
    "delete_sendgrid_provider": (
        lambda each: each.delete_sendgrid_provider(), DONE,
        "DELETE /notifications/email/v1/providers/sendgrid",
    ),
    "list_custom_push_providers": (
        lambda each: each.list_custom_push_providers(), CUSTOM_PUSH, f"GET {PUSH1}/providers/custom"
    ),
    "create_custom_push_provider": (
        lambda each: each.create_custom_push_provider(NewCustomPushProvider(**WEB)), CUSTOM_PUSH,
        f"POST {PUSH1}/providers/custom {{{SENT_WEB}}}",
    ),
    "update_custom_push_provider": (
        lambda each: each.update_custom_push_provider(CustomPushProviderChanges(is_enabled=False)),
        CUSTOM_PUSH, f'PUT {PUSH1}/providers/custom {{"isEnabled":false}}',
    ),
    "delete_custom_push_provider": (
        lambda each: each.delete_custom_push_provider(), DONE, f"DELETE {PUSH1}/providers/custom"
    ),
    "get_custom_sms_provider": (
        lambda each: each.get_custom_sms_provider(), CUSTOM, "GET /notifications/sms/v1/providers/custom"
    ),
    "create_custom_sms_provider": (
        lambda each: each.create_custom_sms_provider(NewCustomSmsProvider(**WEB, use_stored_ph_no=True)),
        CUSTOM, f'POST /notifications/sms/v1/providers/custom {{{SENT_WEB},"useStoredPhNo":true}}',
    ),
    "update_custom_sms_provider": (
        lambda each: each.update_custom_sms_provider(CustomSmsProviderChanges(use_stored_ph_no=False)),
        CUSTOM, 'PUT /notifications/sms/v1/providers/custom {"useStoredPhNo":false}',
    ),
    "delete_custom_sms_provider": (
        lambda each: each.delete_custom_sms_provider(), DONE, "DELETE /notifications/sms/v1/providers/custom"
    ),
    "get_custom_email_provider": (
        lambda each: each.get_custom_email_provider(), CUSTOM, "GET /notifications/email/v1/providers/custom"
    ),
    "create_custom_email_provider": (
        lambda each: each.create_custom_email_provider(
            NewCustomEmailProvider(**WEB, use_stored_email_id=True)
        ),
        CUSTOM, f'POST /notifications/email/v1/providers/custom {{{SENT_WEB},"useStoredEmailID":true}}',
    ),
    "update_custom_email_provider": (
        lambda each: each.update_custom_email_provider(CustomEmailProviderChanges(webhook_url="https://i")),
        CUSTOM, 'PUT /notifications/email/v1/providers/custom {"webhookURL":"https://i"}',
    ),
    "delete_custom_email_provider": (
        lambda each: each.delete_custom_email_provider(), DONE,
        "DELETE /notifications/email/v1/providers/custom",
    ),
}  # fmt: skip


def test_every_operation_but_the_log_is_called_here() -> None:
    names = {name.partition(".")[2] for name in OPERATIONS if name.startswith("notifications.")}
    assert CALLS.keys() == names - {"list_logs"}


@loop_over("name", CALLS)
async def test_what_is_sent(name: str) -> None:
    ask, reply, expected = CALLS[name]
    sender = Sender(reply)
    result = await ask(Notifications(sender))
    call = sender.call
    query = "&".join(f"{key}={value}" for key, value in sender.asked().items())
    body = "" if call.body is None else f" {json_body(call.body).decode()}"
    assert f"{call.endpoint.method} {call.path}{'?' if query else ''}{query}{body}" == expected
    assert call.acting_user == ("bob" if "contact" in name else None)
    assert (result == Ack(success=True)) is (reply == DONE)


async def asked(name: str) -> Any:
    """The record that an operation gives."""
    ask, reply, _ = CALLS[name]
    return await ask(Notifications(Sender(reply)))


@pytest.mark.parametrize("name", ["get_settings", "get_preferences", "update_preferences"])
async def test_settings_and_preferences_are_typed(name: str) -> None:
    shown = await asked(name)
    groups = shown.preferences
    assert (groups.group, groups.one_on_one, groups.mute) == ({"a": 1}, {"b": 2}, {"dnd": 1})
    assert (groups.call, groups.email, groups.sms, groups.push) == ({}, {}, {}, {})
    assert groups.bypass_preferences_for_mentions is True
    assert groups.bypass_preferences_for_group_mentions is False
    assert (shown.sound, shown.templates) == ({"chat": "c", "call": "d"}, {"usePrivacyTemplate": 1})


async def test_a_reset_gives_the_preferences_in_the_form_of_a_change() -> None:
    kept = await asked("reset_preferences")
    assert (kept.group_preferences, kept.one_on_one_preferences) == ({"a": 1}, {"b": 2})
    assert (kept.mute_preferences, kept.use_privacy_template) == ({"dnd": 1}, True)


@pytest.mark.parametrize("name", ["list_push_tokens", "unregister_push_tokens", "delete_push_token"])
async def test_push_tokens_are_typed_and_not_shown(name: str) -> None:
    tokens = await asked(name)
    [token] = tokens.push_tokens
    assert (token.uid, token.auth_token, token.push_token) == ("bob", "a", "p")
    assert (token.push_token_type, token.platform, token.provider_id) == ("fcm", "fcm_web", "x")
    assert token.created_at < token.updated_at
    assert "auth_token=[hidden], push_token=[hidden]" in repr(tokens)


async def test_the_accounts_of_providers_are_typed_and_their_keys_not_shown() -> None:
    twilio, sendgrid = await asked("get_twilio_provider"), await asked("get_sendgrid_provider")
    assert (twilio.twilio_account_sid, twilio.twilio_auth_token) == ("s", "t")
    assert twilio.twilio_sender_phone_number == "+1"
    assert (sendgrid.send_grid_api_key, sendgrid.send_grid_template_id) == ("k", "t")
    assert (sendgrid.send_grid_unsubscribe_group_id, sendgrid.sender_email) == ("5", "e")
    assert (sendgrid.sender_name, sendgrid.allow_email_replies) == ("n", True)
    assert (sendgrid.sender_email_for_replies, sendgrid.replies_webhook) == (None, "w")
    assert "twilio_auth_token=[hidden]" in repr(twilio)
    assert "send_grid_api_key=[hidden]" in repr(sendgrid)


@pytest.mark.parametrize("name", ["get_custom_sms_provider", "list_custom_push_providers"])
async def test_webhooks_are_typed_and_their_passwords_not_shown(name: str) -> None:
    result = await asked(name)
    [webhook] = getattr(result, "push_providers", (result,))
    assert (webhook.is_enabled, webhook.webhook_url, webhook.use_basic_auth) == (True, "https://h", True)
    assert (webhook.basic_auth_username, webhook.basic_auth_password) == ("u", "p")
    assert (webhook.use_stored_ph_no, webhook.use_stored_email_id) == (True, False)
    assert "basic_auth_password=[hidden]" in repr(result)


async def test_the_rest_is_typed() -> None:
    providers = await asked("list_apns_providers")
    assert providers.push_providers == ({"providerId": "p", "p8Key": "k"},)
    assert "'p8Key': [hidden]" in repr(providers)
    contact = await asked("get_contact_details")
    assert (contact.email, contact.phno) == ("e@x", "+1")
    assert (await asked("get_timezone")).timezone == "UTC"
    assert (await asked("list_muted")).muted_conversations == ({"id": "x"},)


async def test_the_log_goes_on_by_log_ids_and_is_asked_for_no_size() -> None:
    first = (
        b'{"data":[{"_id":"a","channel":"push","messageId":7,"messageSentAtMS":5,"notificationTriggered":false,'
        b'"processingStartedAtMS":6,"processingEndedAtMS":8,"totalProcessingTimeInMS":2,"pushToken":"t",'
        b'"payload":{"x":null}},{"_id":"b","messageId":7}],'
        b'"meta":{"current":{"limit":20,"count":2},"next":{"affix":"append","messageId":7}}}'
    )
    sender = Sender(first, b'{"data":[],"meta":{"next":{"affix":"append","messageId":7}}}')
    query = NotificationLogQuery(channel="push", from_=5)
    log, other = await Notifications(sender).list_logs(query).collect()
    assert (log._id, log.channel, log.message_id, log.notification_triggered) == ("a", "push", 7, False)
    assert (log.message_sent_at_ms, log.processing_started_at_ms, log.processing_ended_at_ms) == (5, 6, 8)
    assert (log.total_processing_time_in_ms, log.payload, other._id) == (2, {"x": None}, "b")
    assert "push_token=[hidden]" in repr(log)
    assert [call.position for call in sender.calls] == [(), (("affix", "append"), ("logId", "7"))]
    assert sender.asked() == {"channel": "push", "from": "5", "affix": "append", "logId": "7"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda each: each.get_preferences(""),
        lambda each: each.update_preferences("bob", SettingsChanges()),
        lambda each: each.mute("bob", None),
        lambda each: each.get_contact_details(),
        lambda each: each.delete_fcm_provider(".."),
        lambda each: each.create_twilio_provider(TwilioProviderChanges()),
        lambda each: each.update_timezone("bob", ""),
    ],
)
async def test_a_wrong_argument_is_refused_before_anything_is_sent(ask: Any) -> None:
    sender = Sender(DONE)
    with pytest.raises(RequestInvalidError):
        await ask(Notifications(sender))
    assert sender.calls == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda each: each.list_push_tokens("tok\ud800en"),
        lambda each: each.unregister_push_tokens(["tok\ud800en"]),
        lambda each: each.delete_push_token("p", "tok\ud800en"),
    ],
)
def test_a_wrong_token_is_refused_and_not_shown(ask: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^auth_token = \[hidden\]: allowed is a text"):
        ask(Notifications(Sender(TOKENS)))


async def test_the_log_ends_where_its_last_entry_comes_again() -> None:
    page = b'{"data":[{"_id":"a","messageId":7}],"meta":{"next":{"affix":"append","messageId":7}}}'
    sender = Sender(page)
    assert [log._id for log in await Notifications(sender).list_logs().collect()] == ["a"]
    assert len(sender.calls) == 2
    stuck = Sender(page.replace(b'"messageId":7}]', b'"messageId":7},{"_id":"b","messageId":8}]'))
    with pytest.raises(CursorError, match="the cursor does not move"):
        await Notifications(stuck).list_logs().collect()
