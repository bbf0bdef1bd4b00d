"""The operations of notifications: the settings of the app, and its providers, as documents.

Preferences of users are in `notification_preferences`, push tokens and the log in `push_tokens`. The emulator
sends no notifications. What the documents leave open: a second creation of a provider that is the only one of
its channel replaces the first, and a provider that does not exist is a 404 with the code
ERR_PROVIDER_NOT_FOUND.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..store.documents import Document
from .context import Call, Context, Handler
from .documents import DocumentCollection, Operation, Settings, serve
from .envelopes import data_reply, member_reply, success_reply
from .notification_preferences import PREFERENCE_HANDLERS
from .push_tokens import TOKEN_HANDLERS

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


TWILIO: Final = Settings(
    kind="notifications.twilio", missing="ERR_PROVIDER_NOT_FOUND",
    written=_without_flag,
)  # fmt: skip
SENDGRID: Final = Settings(
    kind="notifications.sendgrid",
    missing="ERR_PROVIDER_NOT_FOUND", written=_without_flag,
)  # fmt: skip
CUSTOM_PUSH: Final = Settings(
    kind="notifications.custom_push",
    missing="ERR_PROVIDER_NOT_FOUND",
)  # fmt: skip
CUSTOM_SMS: Final = Settings(
    kind="notifications.custom_sms",
    missing="ERR_PROVIDER_NOT_FOUND",
)  # fmt: skip
CUSTOM_EMAIL: Final = Settings(
    kind="notifications.custom_email",
    missing="ERR_PROVIDER_NOT_FOUND",
)  # fmt: skip


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
    account = SENDGRID.get(context, call)
    return {name: value for name, value in account.items() if name not in _REPLY_MEMBERS}


def list_custom_push(context: Context, call: Call) -> list[Document]:
    """Return the custom provider of push notifications, if there is one."""
    return context.store.documents.of(CUSTOM_PUSH.kind).list()


def _then_list(operation: Operation) -> Operation:
    """Return an operation that does the same, and gives the custom providers of push notifications."""

    def both(context: Context, call: Call) -> list[Document]:
        operation(context, call)
        return list_custom_push(context, call)

    return both


def _account(name: str, account: Settings, get: Operation | None = None) -> dict[str, Handler]:
    """Return the handlers of an account that is the only one of its channel."""
    return {
        f"notifications.get_{name}_provider": serve(get or account.get, data_reply),
        f"notifications.create_{name}_provider": serve(account.put, data_reply),
        f"notifications.update_{name}_provider": serve(account.merge, data_reply),
        f"notifications.delete_{name}_provider": serve(account.reset, success_reply),
    }


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
    **_account("twilio", TWILIO),
    **_account("sendgrid", SENDGRID, get_sendgrid),
    **_account("custom_sms", CUSTOM_SMS),
    **_account("custom_email", CUSTOM_EMAIL),
    "notifications.list_custom_push_providers": serve(list_custom_push, _providers),
    "notifications.create_custom_push_provider": serve(_then_list(CUSTOM_PUSH.put), _providers),
    "notifications.update_custom_push_provider": serve(_then_list(CUSTOM_PUSH.merge), _providers),
    "notifications.delete_custom_push_provider": serve(CUSTOM_PUSH.reset, success_reply),
    **PREFERENCE_HANDLERS,
    **TOKEN_HANDLERS,
}
