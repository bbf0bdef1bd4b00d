"""Apps of an account and their webhooks, on the management interface; API keys, usage and imports of an app.

Methods that take a key are plain functions: the frame of a coroutine would hold it as long as the call runs.
"""

from collections.abc import Awaitable, Sequence
from datetime import date
from typing import Any, Final, TypeVar, final

from msgspec import Struct

from .._core.replies.decode import ACK, Ack, Outcomes, bare, each, many, one
from .._core.requests.arguments import hides_arguments
from .._core.requests.dialects import BY_PAGE, BY_REPLY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.apps import ApiKey, AppInfo, MessageMetrics, Trigger, UsageMetrics, Webhook
from .._models.messages import MessageOutcome
from .._models.outcomes import ItemAck
from .._models.users import GroupOutcome, MemberOutcome, UserOutcome
from .._parameters.apps import (
    ApiKeyChanges,
    ApiKeyQuery,
    AppQuery,
    NewApiKey,
    NewApp,
    NewWebhook,
    TriggerIds,
    UsageQuery,
    Version,
    WebhookChanges,
    WebhookQuery,
    WebhookVersion,
)
from .._parameters.data_import import (
    GroupEntries,
    GroupImports,
    MemberEntries,
    MemberImports,
    MessageEntries,
    MessageImports,
    UserEntries,
    UserImports,
)
from .._walk.walk import Walk
from .collection import AnyCursor, Collection, crud_endpoints

T = TypeVar("T")

APPS_LIST: Final = Endpoint(
    "apps.list", "GET", "/apps", many(AppInfo), query=AppQuery, paging=BY_PAGE, interface="management"
)
APPS_CREATE: Final = Endpoint(
    "apps.create", "POST", "/apps", one(AppInfo), "never", body=NewApp, interface="management"
)


@final
class Apps(Collection):
    """The applications of an account: `management.apps`."""

    def list(self, query: AppQuery | None = None, *, cursor: AnyCursor = None) -> Walk[AppInfo]:
        """The apps of the account. One request per page."""
        return self._walk(APPS_LIST, query, cursor)

    async def create(self, app: NewApp) -> AppInfo:
        """Create an app, and return it with its keys. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(APPS_CREATE, app)


API_KEYS: Final = crud_endpoints(
    "api_keys.{}", "/apikeys", "apiKey", ApiKey, NewApiKey, ApiKeyChanges,
    list_options={"query": ApiKeyQuery, "paging": BY_REPLY_PAGE},
)  # fmt: skip


@final
class ApiKeys(Collection):
    """The API keys of an app, 25 at most: `session.api_keys`; `NotFoundError` for no such key."""

    def list(self, query: ApiKeyQuery | None = None, *, cursor: AnyCursor = None) -> Walk[ApiKey]:
        """The API keys of the app. One request per page; no cursor contains a key."""
        return self._walk(API_KEYS.list, query, cursor)

    @hides_arguments
    def get(self, api_key: str) -> Awaitable[ApiKey]:
        """An API key; `NotFoundError` if there is none."""
        return self._call(API_KEYS.get, apiKey=api_key)

    async def create(self, new_key: NewApiKey) -> ApiKey:
        """Create an API key, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(API_KEYS.create, new_key)

    @hides_arguments
    def update(self, api_key: str, changes: ApiKeyChanges) -> Awaitable[ApiKey]:
        """Change an API key, and return it; `PermissionDeniedError` for the session's key."""
        return self._call(API_KEYS.update, changes, apiKey=api_key)

    @hides_arguments
    def delete(self, api_key: str) -> Awaitable[Ack]:
        """Delete an API key; `PermissionDeniedError` for the session's key."""
        return self._call(API_KEYS.delete, apiKey=api_key)


GET_USAGE: Final = Endpoint("metrics.get_usage", "GET", "/stats", one(UsageMetrics), query=UsageQuery)
# Shown with and without `data` around it.
GET_MESSAGE_RECEIPTS: Final = Endpoint(
    "metrics.get_message_receipts", "GET", "/stats/messages", bare(MessageMetrics)
)


@final
class Metrics(Collection):
    """The usage figures of an app: `session.metrics`."""

    async def get_usage(self, from_date: int | date, to_date: int | date) -> UsageMetrics:
        """The usage in a window (dates or epoch ms); `RequestInvalidError` if it ends before it begins."""
        return await self._call(GET_USAGE, query=UsageQuery(from_date=from_date, to_date=to_date))

    async def get_message_receipts(self) -> MessageMetrics:
        """The messages and receipts of the last hour, in 12 buckets of five minutes."""
        return await self._call(GET_MESSAGE_RECEIPTS)


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
        cursor: AnyCursor = None,
        x_webhook_version: Version = 2,
    ) -> Walk[Webhook]:
        """The webhooks of an app. One request per page; `NotFoundError` if there is no such app."""
        return self._walk(WEBHOOKS.list, query, cursor, headers=_version(x_webhook_version), appId=app_id)

    async def get(self, app_id: str, webhook_id: str, *, x_webhook_version: Version = 2) -> Webhook:
        """A webhook; `NotFoundError` (`ERR_WEBHOOK_NOT_FOUND`) if there is none."""
        version = _version(x_webhook_version)
        return await self._call(WEBHOOKS.get, headers=version, appId=app_id, webhookId=webhook_id)

    async def create(self, app_id: str, webhook: NewWebhook, *, x_webhook_version: Version = 2) -> Webhook:
        """Create a webhook, at first without triggers. Sent once: `OutcomeUnknownError` if no reply came."""
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
        self, app_id: str, webhook_id: str, *, cursor: AnyCursor = None, x_webhook_version: Version = 2
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


def _import_endpoint(kind: str, outcome: type[T], body: type[Struct]) -> Endpoint[Outcomes[T]]:
    path = f"/data_import/{kind}"
    reply = each(outcome)
    return Endpoint(
        f"data_import.import_{kind}", "POST", path, reply, "never", body=body, rate_class="import"
    )


IMPORT_USERS: Final = _import_endpoint("users", UserOutcome, UserEntries)
IMPORT_GROUPS: Final = _import_endpoint("groups", GroupOutcome, GroupEntries)
IMPORT_MEMBERS: Final = _import_endpoint("members", MemberOutcome, MemberEntries)
IMPORT_MESSAGES: Final = _import_endpoint("messages", MessageOutcome, MessageEntries)


@final
class DataImport(Collection):
    """Imports of users, groups, members and messages with their own times: `session.data_import`.

    Each call is one request, of which the service takes 60 a minute, and gives an outcome for each record:
    `outcomes.check()` raises if one failed.
    """

    async def import_users(self, users: UserImports) -> Outcomes[UserOutcome]:
        """Import 1 to 50 users: an outcome per uid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_USERS, UserEntries(users=users))

    async def import_groups(self, groups: GroupImports) -> Outcomes[GroupOutcome]:
        """Import 1 to 50 groups: an outcome per guid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_GROUPS, GroupEntries(groups=groups))

    async def import_members(self, members: MemberImports) -> Outcomes[MemberOutcome]:
        """Import 1 to 50 members: an outcome for each. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_MEMBERS, MemberEntries(members=members))

    async def import_messages(self, messages: MessageImports) -> Outcomes[MessageOutcome]:
        """Import 1 to 50 messages: an outcome per muid. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(IMPORT_MESSAGES, MessageEntries(messages=messages))
