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

from ...parameters.notifications import NotificationLogQuery
from ..store.documents import Document, DocumentSet
from .context import Context, Handler, ServiceCall
from .documents import DocumentCollection, SingleDocument, selected
from .refusals import bad_request, refused
from .replies import PositionedPages, acked, member, then
from .users import user_record

_MISSING: Final = "ERR_PROVIDER_NOT_FOUND"
_providers: Final = member("pushProviders")
_done: Final = acked()


def _levels(**levels: int) -> dict[str, int | bool]:
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
SETTINGS: Final = SingleDocument(kind="notifications.settings", defaults=_DEFAULTS)
FCM, APNS = (
    DocumentCollection(kind=f"notifications.{name}", missing=_MISSING, key="providerId", stamp=None)
    for name in ("fcm", "apns")
)
CUSTOM_PUSH: Final = SingleDocument(kind="notifications.custom_push", missing=_MISSING)


def _push_providers(name: str, providers: DocumentCollection) -> dict[str, Handler]:
    def set_default(call: ServiceCall) -> None:
        chosen, documents = providers.get(call), providers.documents(call)
        for provider in documents.list():
            key = provider["providerId"]
            documents.put({**provider, "isDefault": key == chosen["providerId"]}, key)

    return {
        **providers.handlers(f"notifications.{name}_provider", _done, listed=_providers),
        f"notifications.set_default_{name}_provider": then(set_default, _done),
    }


def add_apns_provider(call: ServiceCall) -> list[Document]:
    """Add an APNs provider, and return all of them, as its twin does not."""
    APNS.create(call)
    return APNS.list(call)


def list_custom_push(call: ServiceCall) -> list[Document]:
    return call.store.documents.of(CUSTOM_PUSH.kind).list()


def _then_list(operation: Handler) -> Handler:
    return lambda call: (operation(call), _providers(list_custom_push(call)))[1]


def _account(name: str, *hidden: str) -> dict[str, Handler]:
    account = SingleDocument(kind=f"notifications.{name}", missing=_MISSING, hidden=hidden)
    return {
        f"notifications.get_{name}_provider": account.get,
        f"notifications.create_{name}_provider": account.put,
        f"notifications.update_{name}_provider": account.merge,
        f"notifications.delete_{name}_provider": then(account.reset, _done),
    }


def _without_replies(account: Document) -> Document:
    hidden = ("allowEmailReplies", "senderEmailForReplies", "repliesWebhook")
    return {name: value for name, value in account.items() if name not in hidden}


_SENDGRID: Final = _account("sendgrid", "isEnabled")

# ── preferences of users ──


def queried_user(call: ServiceCall) -> str:
    user_record(call, call.query["uid"])
    return str(call.query["uid"])


PREFERENCES: Final = SingleDocument(
    kind="notifications.preferences",
    owner=queried_user,
    defaults={
        "groupPreferences": {"groupMessages": 2, "groupReplies": 2, "groupReactions": 2},
        "oneOnOnePreferences": {"oneOnOneMessages": 2, "oneOnOneReplies": 2, "oneOnOneReactions": 2},
        "mutePreferences": {"dnd": 1, "schedule": {}},
        "usePrivacyTemplate": False,
    },
)
TIMEZONE: Final = SingleDocument(
    kind="notifications.timezone", owner=queried_user, defaults={"timezone": "UTC"}
)
CONTACT: Final = SingleDocument(
    kind="notifications.contact",
    owner=lambda call: call.acting_user or "",
    defaults={"email": None, "phno": None},
)


def _shown(kept: Document) -> Document:
    preferences = {name: kept[f"{name}Preferences"] for name in ("group", "oneOnOne", "mute")}
    templates = {"usePrivacyTemplate": kept["usePrivacyTemplate"]}
    return {"preferences": preferences, "sound": {}, "templates": templates}


def _muted(call: ServiceCall) -> DocumentSet:
    return call.store.documents.of("notifications.muted", queried_user(call))


def list_muted(call: ServiceCall) -> list[Document]:
    now = call.now_ms
    return [each for each in _muted(call).list() if each.get("until", now + 1) > now]


def _each_conversation(act: Any) -> Handler:
    """Return the handler that mutes or unmutes conversations; one that is muted gets the new `until`."""

    def handle(call: ServiceCall) -> Document:
        for each in call.body["conversations"]:
            act(_muted(call), each, f"{each.get('type', '')}/{each.get('id', '')}")
        return {"success": True}

    return handle


# ── push tokens, and the log ──


_LOG_PAGES: Final = PositionedPages(member="messageId", parameter="logId", default_size=20)
_LOG_FILTERS: Final = tuple(
    name
    for name in NotificationLogQuery.__struct_encode_fields__
    if name not in ("from", "to", "logId", "affix")
)
"""The parameters of the log that are about a member of that name."""
_push_tokens: Final = member("pushTokens")


def _tokens(context: Context, auth_token: str) -> DocumentSet:
    uid = context.store.auth_tokens.owner(auth_token)
    if uid is None:
        raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
    return context.store.documents.of("notifications.push_tokens", uid)


def list_push_tokens(call: ServiceCall) -> list[Document]:
    auth_token = call.query.get("authToken") or call.body["authToken"]
    tokens = _tokens(call, auth_token).list()
    return [token for token in tokens if call.query.get("all") or token["authToken"] == auth_token]


def register_push_token(call: ServiceCall) -> None:
    auth_token = call.body.get("authToken", "")
    tokens = _tokens(call, auth_token)
    names = [name for name in ("fcmToken", "deviceToken", "voipToken") if name in call.body]
    if not names:
        words = ["One of the tokens is required."]
        raise bad_request(dict.fromkeys(("fcmToken", "deviceToken", "voipToken"), words))
    push_token = call.body[names[0]]
    token: Document = selected(call.body, ("authToken", "platform", "providerId")) | {
        "uid": call.store.auth_tokens.owner(auth_token), "pushToken": push_token,
        "pushTokenType": names[0].removesuffix("Token"),
        **dict.fromkeys(("createdAt", "updatedAt"), call.now_text),
    }  # fmt: skip
    tokens.put(token, push_token)


def unregister_push_tokens(call: ServiceCall) -> list[Document]:
    """Remove the push tokens of a login, or the one of the path, and return them; 404 for no such token."""
    tokens, key = _tokens(call, call.body["authToken"]), call.path.get("pushToken")
    chosen = list_push_tokens(call)
    if key is not None:
        chosen = [token for token in tokens.list() if token["pushToken"] == key]
        if not chosen:
            raise refused("ERR_PUSH_TOKEN_NOT_FOUND")
    for token in chosen:
        tokens.delete(token["pushToken"])
    return chosen


def list_logs(call: ServiceCall) -> list[Document]:
    """Return the log; `from` and `to` are about `messageSentAtMS`, both ends included."""
    wanted = selected(call.query, _LOG_FILTERS)
    return [
        log
        for log in call.store.documents.of("notifications.logs").list()
        if all(log.get(name) == value for name, value in wanted.items())
        and call.query.get("from", 0)
        <= log.get("messageSentAtMS", 0)
        <= call.query.get("to", log.get("messageSentAtMS", 0))
    ]


HANDLERS: Final[dict[str, Handler]] = {
    "notifications.get_settings": SETTINGS.get,
    "notifications.update_settings": then(SETTINGS.merge, _done),
    "notifications.reset_settings": then(SETTINGS.reset, _done),
    **_push_providers("fcm", FCM),
    **_push_providers("apns", APNS),
    "notifications.add_apns_provider": then(add_apns_provider, _providers),
    **_account("twilio", "isEnabled"),
    **_SENDGRID,
    "notifications.get_sendgrid_provider": then(
        _SENDGRID["notifications.get_sendgrid_provider"], _without_replies
    ),
    **_account("custom_sms"),
    **_account("custom_email"),
    "notifications.list_custom_push_providers": then(list_custom_push, _providers),
    "notifications.create_custom_push_provider": _then_list(CUSTOM_PUSH.put),
    "notifications.update_custom_push_provider": _then_list(CUSTOM_PUSH.merge),
    "notifications.delete_custom_push_provider": then(CUSTOM_PUSH.reset, _done),
    "notifications.get_preferences": then(PREFERENCES.get, _shown),
    "notifications.update_preferences": then(PREFERENCES.merge, _shown),
    "notifications.reset_preferences": PREFERENCES.reset,
    "notifications.list_muted": then(list_muted, member("mutedConversations")),
    "notifications.mute": _each_conversation(DocumentSet.put),
    "notifications.unmute": _each_conversation(lambda muted, _, key: muted.delete(key)),
    "notifications.get_timezone": TIMEZONE.get,
    "notifications.update_timezone": TIMEZONE.merge,
    "notifications.get_contact_details": CONTACT.get,
    "notifications.update_contact_details": CONTACT.merge,
    "notifications.delete_contact_details": then(CONTACT.reset, _done),
    "notifications.list_push_tokens": then(list_push_tokens, _push_tokens),
    "notifications.register_push_token": then(register_push_token, _done),
    "notifications.unregister_push_tokens": then(unregister_push_tokens, _push_tokens),
    "notifications.delete_push_token": then(unregister_push_tokens, _push_tokens),
    "notifications.list_logs": _LOG_PAGES.serve(list_logs),
}
