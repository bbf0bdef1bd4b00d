"""Triggers of webhooks, on the management interface."""

from collections.abc import Sequence
from typing import Final, final

from ..core.paging.paging import BY_REPLY_PAGE
from ..core.replies.decode import ACK, Ack, Outcomes, each, many
from ..core.requests.endpoint import Endpoint
from ..models.item_ack import ItemAck
from ..models.webhook import Trigger
from ..queries.webhooks import TriggerIds, Version, WebhookVersion
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "triggers.list", "GET", "/apps/{appId}/webhooks/{webhookId}/triggers", many(Trigger),
    paging=BY_REPLY_PAGE, interface="management", headers=WebhookVersion,
)  # fmt: skip
ADD: Final = Endpoint(
    "triggers.add", "POST", "/apps/{appId}/webhooks/{webhookId}/triggers", each(ItemAck), "idempotent",
    body=TriggerIds, interface="management", headers=WebhookVersion,
)  # fmt: skip
REMOVE: Final = Endpoint(
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
        return self._walk(LIST, None, cursor, headers=version, appId=app_id, webhookId=webhook_id)

    async def add(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Outcomes[ItemAck]:
        """Add triggers, such as `message_sent`, to a webhook, and give the outcome of each by its id."""
        version, ids = (
            WebhookVersion(x_webhook_version=x_webhook_version),
            TriggerIds(trigger_ids=trigger_ids),
        )
        return await self._call(ADD, ids, headers=version, appId=app_id, webhookId=webhook_id)

    async def remove(
        self, app_id: str, webhook_id: str, trigger_ids: Sequence[str], *, x_webhook_version: Version = 2
    ) -> Ack:
        """Take triggers from a webhook."""
        version, ids = (
            WebhookVersion(x_webhook_version=x_webhook_version),
            TriggerIds(trigger_ids=trigger_ids),
        )
        return await self._call(REMOVE, ids, headers=version, appId=app_id, webhookId=webhook_id)
