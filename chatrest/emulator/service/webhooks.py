"""The operations of webhooks. Legacy webhooks are those of calls without `X-Webhook-Version: 2`."""

from typing import Final

from ..store.documents import Document
from .apps import app_of_path
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, with_quota
from .envelopes import acked, data_reply
from .numbered_pages import serve_pages

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


def _search(context: Context, call: Call) -> list[Document]:
    """Return the webhooks with `searchKey` in their names."""
    text = (call.query.text("searchKey") or "").casefold()
    return [each for each in WEBHOOKS.list(context, call) if text in str(each["name"]).casefold()]


def _delete(context: Context, call: Call) -> Document:
    """Remove a webhook and its triggers."""
    context.store.documents.of("triggers", triggers_of(context, call)).clear()
    return WEBHOOKS.delete(context, call)


HANDLERS: Final[dict[str, Handler]] = {
    "webhooks.list": serve_pages(_search),
    "webhooks.get": serve(WEBHOOKS.get, data_reply),
    "webhooks.create": serve(with_quota(WEBHOOKS.create, WEBHOOKS, _MOST), data_reply),
    "webhooks.update": serve(WEBHOOKS.update, data_reply),
    "webhooks.delete": serve(_delete, acked("The webhook has been deleted.")),
}
