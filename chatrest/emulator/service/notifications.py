"""The operations of notifications: settings and providers of the app, preferences and push tokens of users.

The emulator sends no notifications: the log holds what a test puts into the store, as documents of the kind
`notifications.logs`. What the documents leave open: a second creation of a provider that is the only one of
its channel replaces the first, and a provider that does not exist is a 404 with the code
ERR_PROVIDER_NOT_FOUND.

Preferences are kept in the form in which they are changed (`groupPreferences` …); a get shows them as
`preferences.group` and so on, and a reset as they are kept. A push token belongs to a login, which is an auth
token of a user; one that is registered again is the newest login's.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .documents import (
    DocumentCollection,
    Operation,
    Settings,
    Written,
    as_iso_text,
    as_sent,
    in_milliseconds,
    serve,
)
from .envelopes import data_reply, member_reply, success_reply
from .pages import PositionedPages
from .refusals import bad_request, refused
from .users import user_record

_REPLY_MEMBERS: Final = ("allowEmailReplies", "senderEmailForReplies", "repliesWebhook")
_providers: Final = member_reply("pushProviders")


def _levels(**levels: int) -> dict[str, int | bool]:
    """Return a level for each name, and that users may choose differently."""
    settings: dict[str, int | bool] = {f"{name}Setting": level for name, level in levels.items()}
    return settings | dict.fromkeys([f"{name}Override" for name in levels], True)


_DEFAULTS: Final[Mapping[str, Any]] = {
    "preferences": {
        "group": _levels(messages=2, replies=2, reactions=2, memberJoined=1, memberLeft=1),
        "oneOnOne": _levels(messages=2, replies=2, reactions=2),
        "call": _levels(call=2),
        "mute": _levels(dnd=1),
        "email": _levels(messages=1),
        "sms": _levels(messages=1),
        "push": _levels(messages=2),
        "bypassPreferencesForMentions": True,
        "bypassPreferencesForGroupMentions": True,
    },
    "sound": {"chat": "default", "call": "default"},
    "templates": {"usePrivacyTemplate": 1},
}

SETTINGS: Final = Settings(kind="notifications.settings", defaults=_DEFAULTS)
FCM: Final = DocumentCollection(
    kind="notifications.fcm", missing="ERR_PROVIDER_NOT_FOUND", key="providerId", parameter="providerId",
    stamp=None,
)  # fmt: skip
APNS: Final = DocumentCollection(
    kind="notifications.apns", missing="ERR_PROVIDER_NOT_FOUND", key="providerId",
    parameter="providerId", stamp=None,
)  # fmt: skip


def _without_flag(context: Context, document: Document) -> Document:
    """Leave out `isEnabled`, which is accepted and never returned."""
    return {name: value for name, value in document.items() if name != "isEnabled"}


_ACCOUNTS: Final[Mapping[str, Written]] = {
    "twilio": _without_flag, "sendgrid": _without_flag, "custom_sms": as_sent, "custom_email": as_sent,
}  # fmt: skip
ACCOUNTS: Final = {
    name: Settings(kind=f"notifications.{name}", missing="ERR_PROVIDER_NOT_FOUND", written=written)
    for name, written in _ACCOUNTS.items()
}
"""The only providers of their channels."""
CUSTOM_PUSH: Final = Settings(kind="notifications.custom_push", missing="ERR_PROVIDER_NOT_FOUND")


def set_default(providers: DocumentCollection) -> Operation:
    """Return the operation that makes one of the providers the default one."""

    def operation(context: Context, call: Call) -> None:
        chosen, documents = providers.get(context, call), providers.documents(context, call)
        for provider in documents.list():
            key = provider["providerId"]
            documents.put({**provider, "isDefault": key == chosen["providerId"]}, key)

    return operation


def add_apns_provider(context: Context, call: Call) -> list[Document]:
    """Add an APNs provider, and return all of them, as its twin does not."""
    APNS.create(context, call)
    return APNS.list(context, call)


def get_sendgrid(context: Context, call: Call) -> Document:
    """Return the account without its members about replies."""
    account = ACCOUNTS["sendgrid"].get(context, call)
    return {name: value for name, value in account.items() if name not in _REPLY_MEMBERS}


def list_custom_push(context: Context, call: Call) -> list[Document]:
    return context.store.documents.of(CUSTOM_PUSH.kind).list()


def _then_list(operation: Operation) -> Operation:
    """Return an operation that does the same, and gives the custom providers of push notifications."""

    def both(context: Context, call: Call) -> list[Document]:
        operation(context, call)
        return list_custom_push(context, call)

    return both


def _account(name: str, get: Operation | None = None) -> dict[str, Handler]:
    """Return the handlers of an account that is the only one of its channel."""
    account = ACCOUNTS[name]
    return {
        f"notifications.get_{name}_provider": serve(get or account.get, data_reply),
        f"notifications.create_{name}_provider": serve(account.put, data_reply),
        f"notifications.update_{name}_provider": serve(account.merge, data_reply),
        f"notifications.delete_{name}_provider": serve(account.reset, success_reply),
    }


# ── preferences of users ──


_MUTED: Final = "notifications.muted"


def queried_user(context: Context, call: Call) -> str:
    """Return the user in the query's `uid`; 400 without one, 404 for one that does not exist."""
    uid = call.query.text("uid")
    if uid is None:
        raise bad_request({"uid": ["The uid is required."]})
    user_record(context, uid)
    return uid


def acting_user(context: Context, call: Call) -> str:
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


# ── push tokens, and the log ──


_KIND: Final = "notifications.push_tokens"
LOGS: Final = "notifications.logs"
_TOKENS: Final = ("fcmToken", "deviceToken", "voipToken")
_LOG_PAGES: Final = PositionedPages(member="messageId", parameter="logId", default_size=20)
_NUMBERS: Final = ("messageId", "reactionId")
_FLAGS: Final = ("notificationTriggered", "success")
_LOG_TEXTS: Final = (
    "messageCategory", "messageType", "trigger", "sender", "reactionSender", "receiver", "receiverType",
    "reactionReceiver", "member", "channel", "provider", "reason",
)  # fmt: skip


def _user(context: Context, auth_token: object) -> str:
    """Return the user of an auth token; 401 for one that is nobody's."""
    uid = context.store.auth_tokens.owner(str(auth_token or ""))
    if uid is None:
        raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
    return uid


def _tokens(context: Context, uid: str) -> DocumentSet:
    return context.store.documents.of(_KIND, uid)


def _selected(context: Context, call: Call, auth_token: str) -> list[Document]:
    """Return the push tokens of a login, or of all logins of its user with `all=true`."""
    every = call.query.flag("all")
    call.query.check()
    tokens = _tokens(context, _user(context, auth_token)).list()
    return [token for token in tokens if every or token["authToken"] == auth_token]


def list_push_tokens(context: Context, call: Call) -> list[Document]:
    auth_token = call.query.text("authToken")
    if auth_token is None:
        raise bad_request({"authToken": ["The authToken is required."]})
    return _selected(context, call, auth_token)


def register_push_token(context: Context, call: Call) -> None:
    body = call.read()
    uid = _user(context, body.get("authToken"))
    name = next((name for name in _TOKENS if body.get(name)), None)
    if name is None:
        raise bad_request({name: ["One of the tokens is required."] for name in _TOKENS})
    times = dict.fromkeys(("createdAt", "updatedAt"), as_iso_text(context))
    names = ("authToken", "platform", "providerId")
    token: Document = {name: body[name] for name in names if name in body}
    token |= {"uid": uid, "pushToken": body[name], "pushTokenType": name.removesuffix("Token"), **times}
    _tokens(context, uid).put(token, token["pushToken"])


def unregister_push_tokens(context: Context, call: Call) -> list[Document]:
    auth_token = call.read()["authToken"]
    selected = _selected(context, call, auth_token)
    for token in selected:
        _tokens(context, token["uid"]).delete(token["pushToken"])
    return selected


def delete_push_token(context: Context, call: Call) -> list[Document]:
    """Remove one push token of a login's user, and return it; 404 where the user has no such token."""
    auth_token = call.read()["authToken"]
    tokens, key = _tokens(context, _user(context, auth_token)), call.path["pushToken"]
    token = tokens.get(key)
    if token is None:
        raise refused("ERR_PUSH_TOKEN_NOT_FOUND")
    tokens.delete(key)
    return [token]


def list_logs(context: Context, call: Call) -> bytes:
    """A page of the log, by `logId`; `from` and `to` are about `messageSentAtMS`, both ends included."""
    query = call.query
    wanted: dict[str, Any] = {name: query.text(name) for name in _LOG_TEXTS}
    wanted |= {name: query.number(name) for name in _NUMBERS}
    wanted |= {name: query.flag(name) for name in _FLAGS if query.text(name) is not None}
    start, end = query.number("from") or 0, query.number("to")
    query.check()
    wanted = {name: value for name, value in wanted.items() if value is not None}
    logs = [
        log
        for log in context.store.documents.of(LOGS).list()
        if all(log.get(name) == value for name, value in wanted.items())
        and start <= log.get("messageSentAtMS", 0)
        and (end is None or log.get("messageSentAtMS", 0) <= end)
    ]
    return _LOG_PAGES.reply(logs, query)


_push_tokens: Final = member_reply("pushTokens")


HANDLERS: Final[dict[str, Handler]] = {
    "notifications.get_settings": serve(SETTINGS.get, data_reply),
    "notifications.update_settings": serve(SETTINGS.merge, success_reply),
    "notifications.reset_settings": serve(SETTINGS.reset, success_reply),
    "notifications.list_fcm_providers": serve(FCM.list, _providers),
    "notifications.add_fcm_provider": serve(FCM.create, success_reply),
    "notifications.update_fcm_provider": serve(FCM.update, success_reply),
    "notifications.delete_fcm_provider": serve(FCM.delete, success_reply),
    "notifications.set_default_fcm_provider": serve(set_default(FCM), success_reply),
    "notifications.list_apns_providers": serve(APNS.list, _providers),
    "notifications.add_apns_provider": serve(add_apns_provider, _providers),
    "notifications.update_apns_provider": serve(APNS.update, success_reply),
    "notifications.delete_apns_provider": serve(APNS.delete, success_reply),
    "notifications.set_default_apns_provider": serve(set_default(APNS), success_reply),
    **_account("twilio"),
    **_account("sendgrid", get_sendgrid),
    **_account("custom_sms"),
    **_account("custom_email"),
    "notifications.list_custom_push_providers": serve(list_custom_push, _providers),
    "notifications.create_custom_push_provider": serve(_then_list(CUSTOM_PUSH.put), _providers),
    "notifications.update_custom_push_provider": serve(_then_list(CUSTOM_PUSH.merge), _providers),
    "notifications.delete_custom_push_provider": serve(CUSTOM_PUSH.reset, success_reply),
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
    "notifications.list_push_tokens": serve(list_push_tokens, _push_tokens),
    "notifications.register_push_token": serve(register_push_token, success_reply),
    "notifications.unregister_push_tokens": serve(unregister_push_tokens, _push_tokens),
    "notifications.delete_push_token": serve(delete_push_token, _push_tokens),
    "notifications.list_logs": list_logs,
}
