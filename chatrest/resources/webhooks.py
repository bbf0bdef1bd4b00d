"""Webhooks of an app, on the management interface."""

from typing import Final, final

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.endpoint import Endpoint
from ..models.webhook import Webhook
from ..queries.webhooks import NewWebhook, Version, WebhookChanges, WebhookQuery, WebhookVersion
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "webhooks.list", "GET", "/apps/{appId}/webhooks", many(Webhook), query=WebhookQuery, paging=BY_PAGE,
    interface="management", headers=WebhookVersion,
)  # fmt: skip
GET: Final = Endpoint(
    "webhooks.get", "GET", "/apps/{appId}/webhooks/{webhookId}", one(Webhook),
    interface="management", headers=WebhookVersion,
)  # fmt: skip
CREATE: Final = Endpoint(
    "webhooks.create", "POST", "/apps/{appId}/webhooks", one(Webhook), "never", body=NewWebhook,
    interface="management", headers=WebhookVersion,
)  # fmt: skip
UPDATE: Final = Endpoint(
    "webhooks.update", "PUT", "/apps/{appId}/webhooks/{webhookId}", one(Webhook), "idempotent",
    body=WebhookChanges, interface="management", headers=WebhookVersion,
)  # fmt: skip
DELETE: Final = Endpoint(
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
        return self._walk(LIST, query, cursor, headers=_version(x_webhook_version), appId=app_id)

    async def get(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Webhook:
        """A webhook; `NotFoundError` for no such one (`ERR_WEBHOOK_NOT_FOUND`)."""
        version = _version(x_webhook_version)
        return await self._call(GET, headers=version, appId=app_id, webhookId=webhook_id)

    async def create(self, app_id: str, webhook: NewWebhook, *, x_webhook_version: Version = 2) -> Webhook:
        """Make a webhook, which sends nothing until it has triggers. Sent once."""
        return await self._call(CREATE, webhook, headers=_version(x_webhook_version), appId=app_id)

    async def update(
        self, app_id: str, webhook_id: str, changes: WebhookChanges, *, x_webhook_version: Version = 2
    ) -> Webhook:
        """Change a webhook, and return it."""
        version = _version(x_webhook_version)
        return await self._call(UPDATE, changes, headers=version, appId=app_id, webhookId=webhook_id)

    async def delete(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Ack:
        """Remove a webhook with its triggers."""
        version = _version(x_webhook_version)
        return await self._call(DELETE, headers=version, appId=app_id, webhookId=webhook_id)


def _version(number: Version) -> WebhookVersion:
    return WebhookVersion(x_webhook_version=number)
