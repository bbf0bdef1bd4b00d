"""The filters and bodies of notifications, and the accounts of their providers."""

from chatrest._core.requests.wire import json_body
from chatrest._parameters.notifications import (
    ConversationsToMute,
    ConversationToMute,
    MutePreferences,
    PreferencesChanges,
)


def test_preferences_take_structs_and_plain_dicts() -> None:
    structs = PreferencesChanges(mute_preferences=MutePreferences(dnd=2, schedule={"monday": {"from": 900}}))
    dicts = PreferencesChanges(mute_preferences={"dnd": 2, "schedule": {"monday": {"from": 900}}})
    assert structs == dicts
    assert json_body(dicts) == b'{"mutePreferences":{"dnd":2,"schedule":{"monday":{"from":900}}}}'
    mute = ConversationsToMute(conversations=[ConversationToMute(id="bob", type="oneOnOne", until=5)])
    assert json_body(mute) == b'{"conversations":[{"id":"bob","type":"oneOnOne","until":5}]}'
