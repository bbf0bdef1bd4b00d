"""The webhooks of an app and their triggers, on the management interface."""

from collections.abc import Sequence
from typing import Any, Final, final

from .._core.replies.decode import ACK, Ack, Outcomes, each, many
from .._core.requests.dialects import BY_PAGE, BY_REPLY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.apps import Trigger, Webhook
from .._models.outcomes import ItemAck
from .._parameters.apps import NewWebhook, TriggerIds, Version, WebhookChanges, WebhookQuery, WebhookVersion
from .._walk.walk import Walk
from .collection import Collection, WalkStart, crud_endpoints

_MANAGEMENT: Final[dict[str, Any]] = {"interface": "management", "headers": WebhookVersion}

WEBHOOKS: Final = crud_endpoints(
    "webhooks.{}", "/apps/{appId}/webhooks", "webhookId", Webhook, NewWebhook, WebhookChanges,
    list_options={"query": WebhookQuery, "paging": BY_PAGE}, **_MANAGEMENT,
)  # fmt: skip


@final
class Webhooks(Collection):
    """The webhooks of an app: `management.webhooks`. `x_webhook_version=None` is for the legacy ones.

    `NotFoundError` if there is no such app or webhook.
    """

    def list(
        self,
        app_id: str,
        query: WebhookQuery | None = None,
        *,
        cursor: WalkStart = None,
        x_webhook_version: Version = 2,
    ) -> Walk[Webhook]:
        """The webhooks of an app. One request per page; `NotFoundError` if there is no such app."""
        return self._walk(WEBHOOKS.list, query, cursor, headers=_version(x_webhook_version), appId=app_id)

    async def get(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Webhook:
        """A webhook; `NotFoundError` (`ERR_WEBHOOK_NOT_FOUND`) if there is none."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.get, headers=version, appId=app_id, webhookId=webhook_id)

    async def create(self, app_id: str, webhook: NewWebhook, *, x_webhook_version: Version = 2) -> Webhook:
        """Create a webhook without triggers; return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(WEBHOOKS.create, webhook, headers=_version(x_webhook_version), appId=app_id)

    async def update(
        self, app_id: str, webhook_id: str, changes: WebhookChanges, *, x_webhook_version: Version = 2
    ) -> Webhook:
        """Change a webhook, and return it; `NotFoundError` if there is none."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.update, changes, headers=version, appId=app_id, webhookId=webhook_id)

    async def delete(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Ack:
        """Delete a webhook with its triggers; `NotFoundError` if there is none."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.delete, headers=version, appId=app_id, webhookId=webhook_id)


def _version(number: Version) -> WebhookVersion:
    return WebhookVersion(x_webhook_version=number)


_TRIGGERS: Final = "/apps/{appId}/webhooks/{webhookId}/triggers"

TRIGGERS_LIST: Final = Endpoint(
    "triggers.list", "GET", _TRIGGERS, many(Trigger), paging=BY_REPLY_PAGE, **_MANAGEMENT
)
TRIGGERS_ADD: Final = Endpoint(
    "triggers.add", "POST", _TRIGGERS, each(ItemAck), "idempotent", body=TriggerIds, **_MANAGEMENT
)
TRIGGERS_REMOVE: Final = Endpoint(
    "triggers.remove", "DELETE", _TRIGGERS, ACK, "idempotent", body=TriggerIds, **_MANAGEMENT
)


@final
class Triggers(Collection):
    """The kinds of events that webhooks are sent: `management.triggers`; `NotFoundError` for no webhook."""

    def list(
        self, app_id: str, webhook_id: str, *, cursor: WalkStart = None, x_webhook_version: Version = 2
    ) -> Walk[Trigger]:
        """The triggers of a webhook. One request per page; `NotFoundError` if there is no such webhook."""
        version = _version(x_webhook_version)
        return self._walk(TRIGGERS_LIST, None, cursor, headers=version, appId=app_id, webhookId=webhook_id)

    async def add(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Outcomes[ItemAck]:
        """Add triggers to a webhook; the outcome of each by id: `outcomes.check()` raises if one failed."""
        version, ids = _version(x_webhook_version), TriggerIds(trigger_ids=trigger_ids)
        return await self._call(TRIGGERS_ADD, ids, headers=version, appId=app_id, webhookId=webhook_id)

    async def remove(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Ack:
        """Remove triggers from a webhook; `NotFoundError` if there is no such webhook."""
        version, ids = _version(x_webhook_version), TriggerIds(trigger_ids=trigger_ids)
        return await self._call(TRIGGERS_REMOVE, ids, headers=version, appId=app_id, webhookId=webhook_id)
