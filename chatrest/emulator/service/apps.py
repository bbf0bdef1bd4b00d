"""The operations of the management interface: apps, their webhooks, and the triggers of these.

The emulator serves one app; those that are created are listed beside it, and serve nothing. Legacy webhooks
are those of calls without `X-Webhook-Version: 2`; triggers are the kinds of events that a webhook is sent.
"""

from hashlib import sha256
from typing import Any, Final

from msgspec.json import encode

from ..store.documents import Document
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, with_quota
from .envelopes import ack_reply, acked, data_reply
from .pages import numbered_reply, page_number, serve_pages
from .refusals import Refusal, item_acks, refused

# ── apps ──


_KIND: Final = "apps"
_ID_LENGTH: Final = 16
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}


def all_apps(context: Context) -> list[dict[str, Any]]:
    """Return the records of all apps, the served one first."""
    return [dict(context.app), *context.store.documents.of(_KIND).list()]


def app_of_path(context: Context, call: Call) -> str:
    """Return the app id of the path; 404 for no such app (its code: not shown)."""
    app_id = call.path["appId"]
    if all(app["id"] != app_id for app in all_apps(context)):
        raise Refusal(404, "AUTH_ERR_INVALID_APPID", f"The app {app_id} does not exist.")
    return app_id


def list_apps(context: Context, call: Call) -> bytes:
    """A page of the apps whose id or name begins with `searchKey`."""
    number = page_number(call.query, 25)
    text = (call.query.text("searchKey") or "").casefold()
    call.query.check()
    matches = [
        app
        for app in all_apps(context)
        if any(str(app[name]).casefold().startswith(text) for name in ("id", "name"))
    ]
    start = (number.page - 1) * number.size
    page = [encode(app) for app in matches[start : start + number.size]]
    return numbered_reply(page, len(matches), number)


def create_app(context: Context, call: Call) -> bytes:
    body, apps = call.read(), context.store.documents.of(_KIND)
    number = context.store.documents.next_number()
    app_id = sha256(f"app {number}".encode()).hexdigest()[:_ID_LENGTH]
    keys = {scope: sha256(f"{app_id} {scope}".encode()).hexdigest()[:40] for scope in _SCOPES}
    app = {
        "id": app_id,
        "name": body["name"],
        "plan": "free",
        "region": body["region"],
        "version": body.get("version", "3"),
        "state": "active",
        "owner": 1,
        "createdAt": context.now,
        "apiKeys": {
            key: {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdBy": "app_system"}
            for scope, key in keys.items()
        },
    }
    apps.put(app, app_id)
    return data_reply(app)


# ── webhooks ──


VERSION: Final = "2"
_MOST: Final = 25
"""Webhooks of an app."""


def owner_of_webhooks(app_id: str, version: str = VERSION) -> str:
    """Return the parent of an app's webhooks in the store, by their version; "" for the legacy ones."""
    return f"{app_id}/{version}"


def _owner(context: Context, call: Call) -> str:
    return owner_of_webhooks(app_of_path(context, call), call.headers.get("x-webhook-version", ""))


def _with_defaults(context: Context, webhook: Document) -> Document:
    return {"useBasicAuth": False, "enabled": True, "retryOnFailure": False, **webhook}


WEBHOOKS: Final = DocumentCollection(
    kind="webhooks",
    missing="ERR_WEBHOOK_NOT_FOUND",
    parameter="webhookId",
    owner=_owner,
    written=_with_defaults,
)


def triggers_of(context: Context, call: Call) -> str:
    """Return the parent of a webhook's triggers in the store; 404 for no such webhook."""
    webhook = WEBHOOKS.get(context, call)
    return f"{_owner(context, call)}/{webhook['id']}"


def _search_webhooks(context: Context, call: Call) -> list[Document]:
    text = (call.query.text("searchKey") or "").casefold()
    return [each for each in WEBHOOKS.list(context, call) if text in str(each["name"]).casefold()]


def _delete_webhook(context: Context, call: Call) -> Document:
    context.store.documents.of("triggers", triggers_of(context, call)).clear()
    return WEBHOOKS.delete(context, call)


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
    "legacy": ("before_message after_message user_connection_status_change after_connection_status_changed"),
}
TRIGGERS: Final = {name: category for category, names in _CATEGORIES.items() for name in names.split()}
"""The category of every trigger, by its id."""


def list_triggers(context: Context, call: Call) -> list[dict[str, Any]]:
    return context.store.documents.of(TRIGGER_KIND, triggers_of(context, call)).list()


def add_triggers(context: Context, call: Call) -> dict[str, Any]:
    """Add triggers, and give an outcome for each: one that is there already is a success, too."""
    triggers = context.store.documents.of(TRIGGER_KIND, triggers_of(context, call))

    def add(trigger_id: str) -> str:
        if trigger_id not in TRIGGERS:
            raise refused("ERR_TRIGGER_NOT_FOUND", trigger_id)
        triggers.put(_trigger(trigger_id), trigger_id)
        return f"The trigger {trigger_id} has been added."

    return item_acks(call.read()["triggerIds"], add)


def _trigger(trigger_id: str) -> dict[str, str]:
    return {
        "id": trigger_id,
        "description": trigger_id.replace("_", " "),
        "category": TRIGGERS[trigger_id],
    }


def remove_triggers(context: Context, call: Call) -> bytes:
    """Remove triggers; 404 where the webhook does not have one of them, and then all stay."""
    triggers = context.store.documents.of(TRIGGER_KIND, triggers_of(context, call))
    ids = call.read()["triggerIds"]
    for trigger_id in ids:
        if triggers.get(trigger_id) is None:
            raise refused("ERR_TRIGGER_NOT_FOUND", trigger_id)
    for trigger_id in ids:
        triggers.delete(trigger_id)
    return ack_reply("The triggers have been removed.")


HANDLERS: Final[dict[str, Handler]] = {
    "apps.list": list_apps,
    "apps.create": create_app,
    "webhooks.list": serve_pages(_search_webhooks),
    "webhooks.get": serve(WEBHOOKS.get, data_reply),
    "webhooks.create": serve(with_quota(WEBHOOKS.create, WEBHOOKS, _MOST), data_reply),
    "webhooks.update": serve(WEBHOOKS.update, data_reply),
    "webhooks.delete": serve(_delete_webhook, acked("The webhook has been deleted.")),
    "triggers.list": serve_pages(list_triggers),
    "triggers.add": serve(add_triggers, data_reply),
    "triggers.remove": remove_triggers,
}
