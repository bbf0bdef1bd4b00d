"""Webhooks of an app, and their triggers, on the management interface."""

from collections.abc import Sequence
from typing import Any, Final, final

from .._core.replies.decode import ACK, Ack, Outcomes, each, many
from .._core.requests.dialects import BY_PAGE, BY_REPLY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.outcomes import ItemAck
from .._models.webhooks import Trigger, Webhook
from .._parameters.webhooks import (
    NewWebhook,
    TriggerIds,
    Version,
    WebhookChanges,
    WebhookQuery,
    WebhookVersion,
)
from .._walk.walk import Walk
from .collection import Collection, Start
from .documents import documents

_MANAGED: Final[dict[str, Any]] = {"interface": "management", "headers": WebhookVersion}

WEBHOOKS: Final = documents(
    "webhooks.{}", "/apps/{appId}/webhooks", "webhookId", Webhook, NewWebhook, WebhookChanges,
    listing={"query": WebhookQuery, "paging": BY_PAGE}, **_MANAGED,
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
        """The webhooks of an app, in the service's order. One request per page."""
        return self._walk(WEBHOOKS.list, query, cursor, headers=_version(x_webhook_version), appId=app_id)

    async def get(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Webhook:
        """A webhook; `NotFoundError` for no such one (`ERR_WEBHOOK_NOT_FOUND`)."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.get, headers=version, appId=app_id, webhookId=webhook_id)

    async def create(self, app_id: str, webhook: NewWebhook, *, x_webhook_version: Version = 2) -> Webhook:
        """Make a webhook, which sends nothing until it has triggers. Sent once."""
        return await self._call(WEBHOOKS.create, webhook, headers=_version(x_webhook_version), appId=app_id)

    async def update(
        self, app_id: str, webhook_id: str, changes: WebhookChanges, *, x_webhook_version: Version = 2
    ) -> Webhook:
        """Change a webhook, and return it."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.update, changes, headers=version, appId=app_id, webhookId=webhook_id)

    async def delete(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Ack:
        """Remove a webhook with its triggers."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.delete, headers=version, appId=app_id, webhookId=webhook_id)


def _version(number: Version) -> WebhookVersion:
    return WebhookVersion(x_webhook_version=number)


# ── triggers ──

_TRIGGERS: Final = "/apps/{appId}/webhooks/{webhookId}/triggers"

TRIGGERS_LIST: Final = Endpoint(
    "triggers.list", "GET", _TRIGGERS, many(Trigger), paging=BY_REPLY_PAGE, **_MANAGED
)
TRIGGERS_ADD: Final = Endpoint(
    "triggers.add", "POST", _TRIGGERS, each(ItemAck), "idempotent", body=TriggerIds, **_MANAGED
)
TRIGGERS_REMOVE: Final = Endpoint(
    "triggers.remove", "DELETE", _TRIGGERS, ACK, "idempotent", body=TriggerIds, **_MANAGED
)


@final
class Triggers(Collection):
    """The kinds of events that webhooks are sent: `management.triggers`."""

    def list(
        self, app_id: str, webhook_id: str, *, cursor: Start = None, x_webhook_version: Version = 2
    ) -> Walk[Trigger]:
        """The triggers of a webhook, in the service's order."""
        version = _version(x_webhook_version)
        return self._walk(TRIGGERS_LIST, None, cursor, headers=version, appId=app_id, webhookId=webhook_id)

    async def add(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Outcomes[ItemAck]:
        """Add triggers, such as `message_sent`, to a webhook, and give the outcome of each by its id."""
        version, ids = _version(x_webhook_version), TriggerIds(trigger_ids=trigger_ids)
        return await self._call(TRIGGERS_ADD, ids, headers=version, appId=app_id, webhookId=webhook_id)

    async def remove(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Ack:
        """Take triggers from a webhook."""
        version, ids = _version(x_webhook_version), TriggerIds(trigger_ids=trigger_ids)
        return await self._call(TRIGGERS_REMOVE, ids, headers=version, appId=app_id, webhookId=webhook_id)
