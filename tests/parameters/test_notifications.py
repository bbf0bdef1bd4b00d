"""The filters and bodies of notifications, and the accounts of their providers."""

import pytest

from chatrest._core.requests.wire import json_body
from chatrest._parameters.notifications import (
    ConversationsToMute,
    ConversationToMute,
    MutePreferences,
    NotificationLogQuery,
    PreferencesChanges,
)
from chatrest.errors import RequestInvalidError


def test_preferences_take_structs_and_plain_dicts() -> None:
    structs = PreferencesChanges(mute_preferences=MutePreferences(dnd=2, schedule={"monday": {"from": 900}}))
    dicts = PreferencesChanges(mute_preferences={"dnd": 2, "schedule": {"monday": {"from": 900}}})
    assert structs == dicts
    assert json_body(dicts) == b'{"mutePreferences":{"dnd":2,"schedule":{"monday":{"from":900}}}}'
    mute = ConversationsToMute(conversations=[ConversationToMute(id="bob", type="oneOnOne", until=5)])
    assert json_body(mute) == b'{"conversations":[{"id":"bob","type":"oneOnOne","until":5}]}'


def test_a_window_of_logs_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match=r"to = 4: .* expected from_ \(5\) or later"):
        NotificationLogQuery(from_=5, to=4)
