"""Webhooks of an app, and their triggers, on the management interface."""

from collections.abc import Sequence
from typing import Final, final

from ..core.paging.paging import BY_PAGE, BY_REPLY_PAGE
from ..core.replies.decode import ACK, Ack, Outcomes, each, many, one
from ..core.requests.endpoint import Endpoint
from ..models.outcomes import ItemAck
from ..models.webhooks import Trigger, Webhook
from ..parameters.webhooks import (
    NewWebhook,
    TriggerIds,
    Version,
    WebhookChanges,
    WebhookQuery,
    WebhookVersion,
)
from ..walk.walk import Walk
from .collection import Collection, Start

WEBHOOKS_LIST: Final = Endpoint(
    "webhooks.list", "GET", "/apps/{appId}/webhooks", many(Webhook), query=WebhookQuery, paging=BY_PAGE,
    interface="management", headers=WebhookVersion,
)  # fmt: skip
WEBHOOKS_GET: Final = Endpoint(
    "webhooks.get", "GET", "/apps/{appId}/webhooks/{webhookId}", one(Webhook),
    interface="management", headers=WebhookVersion,
)  # fmt: skip
WEBHOOKS_CREATE: Final = Endpoint(
    "webhooks.create", "POST", "/apps/{appId}/webhooks", one(Webhook), "never", body=NewWebhook,
    interface="management", headers=WebhookVersion,
)  # fmt: skip
WEBHOOKS_UPDATE: Final = Endpoint(
    "webhooks.update", "PUT", "/apps/{appId}/webhooks/{webhookId}", one(Webhook), "idempotent",
    body=WebhookChanges, interface="management", headers=WebhookVersion,
)  # fmt: skip
WEBHOOKS_DELETE: Final = Endpoint(
    "webhooks.delete", "DELETE", "/apps/{appId}/webhooks/{webhookId}", ACK, "idempotent",
    interface="management", headers=WebhookVersion,
)  # fmt: skip


@final
class Webhooks(Collection):
    """The webhooks of an app: `management.webhooks`. `x_webhook_version=None` is for the legacy ones."""

    def list(
        self,
        app_id: str,
        query: WebhookQuery | None = None,
        *,
        cursor: Start = None,
        x_webhook_version: Version = 2,
    ) -> Walk[Webhook]:
        """The webhooks of an app, in the service's order. One request a page."""
        return self._walk(WEBHOOKS_LIST, query, cursor, headers=_version(x_webhook_version), appId=app_id)

    async def get(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Webhook:
        """A webhook; `NotFoundError` for no such one (`ERR_WEBHOOK_NOT_FOUND`)."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS_GET, headers=version, appId=app_id, webhookId=webhook_id)

    async def create(self, app_id: str, webhook: NewWebhook, *, x_webhook_version: Version = 2) -> Webhook:
        """Make a webhook, which sends nothing until it has triggers. Sent once."""
        return await self._call(WEBHOOKS_CREATE, webhook, headers=_version(x_webhook_version), appId=app_id)

    async def update(
        self, app_id: str, webhook_id: str, changes: WebhookChanges, *, x_webhook_version: Version = 2
    ) -> Webhook:
        """Change a webhook, and return it."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS_UPDATE, changes, headers=version, appId=app_id, webhookId=webhook_id)

    async def delete(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Ack:
        """Remove a webhook with its triggers."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS_DELETE, headers=version, appId=app_id, webhookId=webhook_id)


def _version(number: Version) -> WebhookVersion:
    return WebhookVersion(x_webhook_version=number)


# ── triggers ──

TRIGGERS_LIST: Final = Endpoint(
    "triggers.list", "GET", "/apps/{appId}/webhooks/{webhookId}/triggers", many(Trigger),
    paging=BY_REPLY_PAGE, interface="management", headers=WebhookVersion,
)  # fmt: skip
TRIGGERS_ADD: Final = Endpoint(
    "triggers.add", "POST", "/apps/{appId}/webhooks/{webhookId}/triggers", each(ItemAck), "idempotent",
    body=TriggerIds, interface="management", headers=WebhookVersion,
)  # fmt: skip
TRIGGERS_REMOVE: Final = Endpoint(
    "triggers.remove", "DELETE", "/apps/{appId}/webhooks/{webhookId}/triggers", ACK, "idempotent",
    body=TriggerIds, interface="management", headers=WebhookVersion,
)  # fmt: skip


@final
class Triggers(Collection):
    """The kinds of events that webhooks are sent: `management.triggers`."""

    def list(
        self, app_id: str, webhook_id: str, *, cursor: Start = None, x_webhook_version: Version = 2
    ) -> Walk[Trigger]:
        """The triggers of a webhook, in the service's order."""
        version = WebhookVersion(x_webhook_version=x_webhook_version)
        return self._walk(TRIGGERS_LIST, None, cursor, headers=version, appId=app_id, webhookId=webhook_id)

    async def add(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Outcomes[ItemAck]:
        """Add triggers, such as `message_sent`, to a webhook, and give the outcome of each by its id."""
        version, ids = (
            WebhookVersion(x_webhook_version=x_webhook_version),
            TriggerIds(trigger_ids=trigger_ids),
        )
        return await self._call(TRIGGERS_ADD, ids, headers=version, appId=app_id, webhookId=webhook_id)

    async def remove(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Ack:
        """Take triggers from a webhook."""
        version, ids = (
            WebhookVersion(x_webhook_version=x_webhook_version),
            TriggerIds(trigger_ids=trigger_ids),
        )
        return await self._call(TRIGGERS_REMOVE, ids, headers=version, appId=app_id, webhookId=webhook_id)
