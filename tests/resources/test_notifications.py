"""`session.notifications`, through a double of the session: what operations give, and what they refuse."""

from typing import Any

import pytest

from chatrest._parameters.notifications import NotificationLogQuery
from chatrest._resources.notifications import Notifications
from chatrest.errors import CursorError, RequestInvalidError
from tests.sending import Sender

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
TOKENS = (
    b'{"data":{"pushTokens":[{"uid":"bob","authToken":"a","pushToken":"p","pushTokenType":"fcm",'
    b'"platform":"fcm_web","providerId":"x","createdAt":"2020-01-01T00:00:00.000Z",'
    b'"updatedAt":"2020-01-02T00:00:00.000Z"}]}}'
)

CALLS: dict[str, tuple[Any, bytes]] = {
    "list_push_tokens": (lambda each: each.list_push_tokens("a", all=True), TOKENS),
    "unregister_push_tokens": (lambda each: each.unregister_push_tokens("a", all=False), TOKENS),
    "delete_push_token": (lambda each: each.delete_push_token("p/p", "a"), TOKENS),
    "get_twilio_provider": (lambda each: each.get_twilio_provider(), TWILIO),
    "get_sendgrid_provider": (lambda each: each.get_sendgrid_provider(), SENDGRID),
    "list_custom_push_providers": (lambda each: each.list_custom_push_providers(), CUSTOM_PUSH),
    "get_custom_sms_provider": (lambda each: each.get_custom_sms_provider(), CUSTOM),
}


async def asked(name: str) -> Any:
    """The record that an operation gives."""
    ask, reply = CALLS[name]
    return await ask(Notifications(Sender(reply)))


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
        lambda each: each.list_push_tokens("tok\ud800en"),
        lambda each: each.unregister_push_tokens(["tok\ud800en"]),
        lambda each: each.delete_push_token("p", "tok\ud800en"),
    ],
)
def test_a_wrong_token_is_refused_and_not_shown(ask: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^auth_token = \[hidden\]: expected a text"):
        ask(Notifications(Sender(TOKENS)))


async def test_the_log_ends_where_its_last_entry_comes_again() -> None:
    page = b'{"data":[{"_id":"a","messageId":7}],"meta":{"next":{"affix":"append","messageId":7}}}'
    sender = Sender(page)
    assert [log._id for log in await Notifications(sender).list_logs().collect()] == ["a"]
    assert len(sender.calls) == 2
    stuck = Sender(page.replace(b'"messageId":7}]', b'"messageId":7},{"_id":"b","messageId":8}]'))
    with pytest.raises(CursorError, match="the cursor does not move"):
        await Notifications(stuck).list_logs().collect()
