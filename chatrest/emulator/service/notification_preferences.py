"""The operations of a user's notifications: preferences, muted conversations, time zone and addresses.

Preferences are kept in the form in which they are changed (`groupPreferences` …); a get shows them as
`preferences.group` and so on, and a reset as they are kept.
"""

from typing import Any, Final

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .documents import Operation, Settings, in_milliseconds, serve
from .envelopes import data_reply, member_reply, success_reply
from .refusals import bad_request
from .users import user_record

_MUTED: Final = "notifications.muted"


def queried_user(context: Context, call: Call) -> str:
    """Return the user in the query's `uid`; 400 without one, 404 for one that does not exist."""
    uid = call.query.text("uid")
    if uid is None:
        raise bad_request({"uid": ["The uid is required."]})
    user_record(context, uid)
    return uid


def acting_user(context: Context, call: Call) -> str:
    """Return the acting user, whom the operation requires."""
    return call.acting_user or ""


PREFERENCES: Final = Settings(
    kind="notifications.preferences",
    owner=queried_user,
    defaults={
        "groupPreferences": {"groupMessages": 2, "groupReplies": 2, "groupReactions": 2},
        "oneOnOnePreferences": {"oneOnOneMessages": 2, "oneOnOneReplies": 2, "oneOnOneReactions": 2},
        "mutePreferences": {"dnd": 1, "schedule": {}},
        "usePrivacyTemplate": False,
    },
)
TIMEZONE: Final = Settings(kind="notifications.timezone", owner=queried_user, defaults={"timezone": "UTC"})
CONTACT: Final = Settings(
    kind="notifications.contact", owner=acting_user,
    defaults={"email": None, "phno": None},
)  # fmt: skip


def show(operation: Operation) -> Operation:
    """Return an operation that gives preferences as a get shows them."""

    def get(context: Context, call: Call) -> Document:
        kept = operation(context, call)
        names = {"group": "groupPreferences", "oneOnOne": "oneOnOnePreferences", "mute": "mutePreferences"}
        return {
            "preferences": {name: kept[wire] for name, wire in names.items()},
            "sound": {},
            "templates": {"usePrivacyTemplate": kept["usePrivacyTemplate"]},
        }

    return get


def _muted(context: Context, call: Call) -> DocumentSet:
    return context.store.documents.of(_MUTED, queried_user(context, call))


def _key(conversation: dict[str, Any]) -> str:
    return f"{conversation.get('type', '')}/{conversation.get('id', '')}"


def list_muted(context: Context, call: Call) -> list[Document]:
    """Return the conversations that are muted now: those whose `until` has not passed."""
    now = in_milliseconds(context)
    return [each for each in _muted(context, call).list() if each.get("until", now + 1) > now]


def mute(context: Context, call: Call) -> None:
    """Mute conversations; one that is muted already gets the new `until`."""
    muted = _muted(context, call)
    for conversation in call.read()["conversations"]:
        muted.put(conversation, _key(conversation))


def unmute(context: Context, call: Call) -> None:
    """Unmute conversations; one that is not muted stays so."""
    muted = _muted(context, call)
    for conversation in call.read()["conversations"]:
        muted.delete(_key(conversation))


PREFERENCE_HANDLERS: Final[dict[str, Handler]] = {
    "notifications.get_preferences": serve(show(PREFERENCES.get), data_reply),
    "notifications.update_preferences": serve(show(PREFERENCES.merge), data_reply),
    "notifications.reset_preferences": serve(PREFERENCES.reset, data_reply),
    "notifications.list_muted": serve(list_muted, member_reply("mutedConversations")),
    "notifications.mute": serve(mute, success_reply),
    "notifications.unmute": serve(unmute, success_reply),
    "notifications.get_timezone": serve(TIMEZONE.get, data_reply),
    "notifications.update_timezone": serve(TIMEZONE.merge, data_reply),
    "notifications.get_contact_details": serve(CONTACT.get, data_reply),
    "notifications.update_contact_details": serve(CONTACT.merge, data_reply),
    "notifications.delete_contact_details": serve(CONTACT.reset, success_reply),
}
