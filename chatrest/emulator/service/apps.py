"""The operations of an app's API keys, and of the management interface: apps, their webhooks and triggers.

The emulator serves one app; those that are created are listed beside it, and serve nothing. A key that was
made is accepted from then on, as far as its scope goes. Legacy webhooks are those of calls without
`X-Webhook-Version: 2`; triggers are the kinds of events that a webhook is sent.
"""

from collections.abc import Iterable
from typing import Any, Final

from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document, DocumentSet
from .context import Context, Handler, ServiceCall
from .documents import DocumentCollection, digest
from .refusals import ServiceRefusal, outcomes, refused
from .replies import ack, acked, numbered

# ── API keys ──


_OF_SETTINGS: Final = "api_keys.of_settings"
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}


KEYS: Final = DocumentCollection(
    kind="api_keys", missing="ERR_APIKEY_NOT_FOUND", key="apiKey", new_key="{digest}",
    most=25, stamp=None, completed=lambda context, key: {"createdAt": context.now, **key},
)  # fmt: skip


def set_keys(store: Store, full_access: str, auth_only: str) -> None:
    """Accept the two keys of the settings, and no longer those of settings before."""
    keys, of_settings = store.documents.of(KEYS.kind), store.documents.of(_OF_SETTINGS)
    for former in of_settings.list():
        keys.delete(former["apiKey"])
    of_settings.clear()
    for key, scope in ((full_access, "fullAccess"), (auth_only, "authOnly")):
        of_settings.put({"apiKey": key}, key)
        keys.put({"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdAt": EPOCH}, key)


def key_scope(store: Store, key: str) -> str:
    document = store.documents.of(KEYS.kind).get(key)
    if document is None:
        raise refused("AUTH_ERR_APIKEY_NOT_FOUND", "API key")
    return str(document["scope"])


def list_keys(call: ServiceCall) -> list[Document]:
    keys, scope = KEYS.list(call), call.query.get("scope")
    return [key for key in named(keys, call) if scope in (None, key["scope"])]


def named(documents: Iterable[Document], call: ServiceCall) -> list[Document]:
    """Return the documents with `searchKey` in their names, without regard to case."""
    text = call.query.get("searchKey", "").casefold()
    return [each for each in documents if text in str(each["name"]).casefold()]


def _of_another(operation: Handler) -> Handler:
    """Return the operation on a key, refused for the key of the very call."""

    def handle(call: ServiceCall) -> Any:
        if call.path["apiKey"] == call.headers.get("apikey"):
            raise refused("ERR_APIKEY_NO_SELF_ACTION")
        return operation(call)

    return handle


# ── apps ──


_KIND: Final = "apps"


def all_apps(context: Context) -> list[Document]:
    return [dict(context.app), *context.store.documents.of(_KIND).list()]


def list_apps(call: ServiceCall) -> list[Document]:
    text = call.query.get("searchKey", "").casefold()
    return [
        app
        for app in all_apps(call)
        if any(str(app[name]).casefold().startswith(text) for name in ("id", "name"))
    ]


def create_app(call: ServiceCall) -> Document:
    body, number = call.body, call.store.documents.next_number()
    app_id = digest(f"app {number}")[:16]
    keys = {scope: digest(f"{app_id} {scope}") for scope in _SCOPES}
    app = {
        "id": app_id, "name": body["name"], "plan": "free", "region": body["region"],
        "version": body.get("version", "3"), "state": "active", "owner": 1, "createdAt": call.now,
        "apiKeys": {
            key: {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdBy": "app_system"}
            for scope, key in keys.items()
        },
    }  # fmt: skip
    call.store.documents.of(_KIND).put(app, app_id)
    return app


# ── webhooks ──


VERSION: Final = "2"


def owner_of_webhooks(app_id: str, version: str = VERSION) -> str:
    """Return the parent of an app's webhooks in the store, by their version; "" for the legacy ones."""
    return f"{app_id}/{version}"


def _owner(call: ServiceCall) -> str:
    """Return the parent of the webhooks of the path's app; 404 for no such app (its code: not shown)."""
    app_id = call.path["appId"]
    if all(app["id"] != app_id for app in all_apps(call)):
        raise ServiceRefusal(404, "AUTH_ERR_INVALID_APPID", f"The app {app_id} does not exist.")
    return owner_of_webhooks(app_id, call.headers.get("x-webhook-version", ""))


WEBHOOKS: Final = DocumentCollection(
    kind="webhooks", missing="ERR_WEBHOOK_NOT_FOUND", parameter="webhookId", most=25, owner=_owner,
    completed=lambda _, webhook: {
        "useBasicAuth": False, "enabled": True, "retryOnFailure": False, **webhook
    },
)  # fmt: skip


def _search_webhooks(call: ServiceCall) -> list[Document]:
    return named(WEBHOOKS.list(call), call)


def _delete_webhook(call: ServiceCall) -> Document:
    _triggers(call).clear()
    WEBHOOKS.delete(call)
    return ack("The webhook has been deleted.")


# ── triggers ──


TRIGGER_KIND: Final = "triggers"
_CATEGORIES: Final = {
    "message": (
        "message_sent message_edited message_deleted message_delivery_receipt message_read_receipt "
        "message_reaction_added message_reaction_removed user_mentioned message_delivered_to_all "
        "message_read_by_all message_pinned message_unpinned conversation_pinned conversation_unpinned"
    ),
    "user": "user_blocked user_unblocked user_connection_status_changed",
    "group": (
        "group_created group_updated group_deleted group_member_joined group_member_left group_member_added "
        "group_member_kicked group_member_banned group_member_unbanned group_member_scope_changed "
        "group_owner_transferred"
    ),
    "call": "call_initiated call_started call_participant_joined call_participant_left call_ended",
    "meeting": (
        "meeting_started meeting_participant_joined meeting_participant_left meeting_ended "
        "recording_generated transcription_generated"
    ),
    "moderation": (
        "moderation_engine_approved moderation_engine_blocked moderation_manual_approved "
        "moderation_engine_failed"
    ),
    "legacy": "before_message after_message user_connection_status_change after_connection_status_changed",
}
TRIGGERS: Final = {name: category for category, names in _CATEGORIES.items() for name in names.split()}
"""The category of every trigger, by its id."""


def _triggers(call: ServiceCall) -> DocumentSet:
    webhook = WEBHOOKS.get(call)
    return call.store.documents.of(TRIGGER_KIND, f"{_owner(call)}/{webhook['id']}")


def list_triggers(call: ServiceCall) -> list[Document]:
    return _triggers(call).list()


def add_triggers(call: ServiceCall) -> Document:
    """Add triggers, and give an outcome for each: one that is there already is a success, too."""
    triggers = _triggers(call)

    def add(id: str) -> str:
        if id not in TRIGGERS:
            raise refused("ERR_TRIGGER_NOT_FOUND", id)
        triggers.put({"id": id, "description": id.replace("_", " "), "category": TRIGGERS[id]}, id)
        return f"The trigger {id} has been added."

    return outcomes(call.body["triggerIds"], add)


def remove_triggers(call: ServiceCall) -> Document:
    """Remove triggers; 404 where the webhook does not have one of them, and then all stay."""
    triggers, ids = _triggers(call), call.body["triggerIds"]
    for trigger_id in ids:
        if triggers.get(trigger_id) is None:
            raise refused("ERR_TRIGGER_NOT_FOUND", trigger_id)
    for trigger_id in ids:
        triggers.delete(trigger_id)
    return ack("The triggers have been removed.")


HANDLERS: Final[dict[str, Handler]] = {
    **KEYS.handlers("api_keys", deleted=acked("The API key has been deleted.")),
    "api_keys.list": numbered(list_keys),
    "apps.list": numbered(list_apps, 25),
    "apps.create": create_app,
    **WEBHOOKS.handlers("webhooks"),
    "webhooks.list": numbered(_search_webhooks),
    "webhooks.delete": _delete_webhook,
    "triggers.list": numbered(list_triggers),
    "triggers.add": add_triggers,
    "triggers.remove": remove_triggers,
}
for _name in ("api_keys.update", "api_keys.delete"):
    HANDLERS[_name] = _of_another(HANDLERS[_name])
