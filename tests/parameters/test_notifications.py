"""The filters and bodies of notifications, and the accounts of their providers."""

from typing import Any

import pytest

from chatrest._core.requests.wire import json_body
from chatrest._parameters.notifications import (
    ApnsProvider,
    ConversationsToMute,
    ConversationToMute,
    FcmProvider,
    MutePreferences,
    NewCustomEmailProvider,
    NewPushToken,
    NewTwilioProvider,
    NotificationLogQuery,
    PreferencesChanges,
    PushTokenQuery,
    SendgridProviderChanges,
)
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over

SECRET = "s3cr3t-5f7a"


def test_preferences_take_structs_and_plain_dicts() -> None:
    structs = PreferencesChanges(mute_preferences=MutePreferences(dnd=2, schedule={"monday": {"from": 900}}))
    dicts = PreferencesChanges(mute_preferences={"dnd": 2, "schedule": {"monday": {"from": 900}}})
    assert structs == dicts
    assert json_body(dicts) == b'{"mutePreferences":{"dnd":2,"schedule":{"monday":{"from":900}}}}'
    mute = ConversationsToMute(conversations=[ConversationToMute(id="bob", type="oneOnOne", until=5)])
    assert json_body(mute) == b'{"conversations":[{"id":"bob","type":"oneOnOne","until":5}]}'


@loop_over(
    "body",
    [
        FcmProvider(service_account_creds={"private_key": SECRET, "project_id": "p"}),
        ApnsProvider(p8_key=SECRET),
        NewTwilioProvider(
            twilio_account_sid="s", twilio_auth_token=SECRET, twilio_sender_phone_number="+1"
        ),
        SendgridProviderChanges(send_grid_api_key=SECRET),
        NewCustomEmailProvider(
            is_enabled=True, webhook_url="https://h", use_basic_auth=True, basic_auth_username="u",
            basic_auth_password=SECRET, use_stored_email_id=True,
        ),
        NewPushToken(auth_token=SECRET, fcm_token=SECRET, device_token=SECRET, voip_token=SECRET),
        PushTokenQuery(auth_token=SECRET),
    ],
)  # fmt: skip
def test_no_repr_shows_a_providers_secret(body: Any) -> None:
    assert SECRET not in repr(body)
    assert "[hidden]" in repr(body)
    assert SECRET.encode() in json_body(body)


def test_a_window_of_logs_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"to = 4: .* expected from_ \(5\) or later"):
        NotificationLogQuery(from_=5, to=4)
