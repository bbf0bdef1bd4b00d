"""Applications of an account, on the management interface, the API keys and the usage figures of one.

Methods that take a key are plain functions: the frame of a coroutine would hold it as long as the call runs.
"""

from collections.abc import Awaitable
from datetime import date
from typing import Final, final

from .._core.replies.decode import Ack, bare, many, one
from .._core.requests.arguments import hides_arguments
from .._core.requests.dialects import BY_PAGE, BY_REPLY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.apps import ApiKey, AppInfo, MessageMetrics, UsageMetrics
from .._parameters.apps import ApiKeyChanges, ApiKeyQuery, AppQuery, NewApiKey, NewApp, UsageQuery
from .._walk.walk import Walk
from .collection import Collection, Start
from .documents import documents

APPS_LIST: Final = Endpoint(
    "apps.list", "GET", "/apps", many(AppInfo), query=AppQuery, paging=BY_PAGE, interface="management"
)
APPS_CREATE: Final = Endpoint(
    "apps.create", "POST", "/apps", one(AppInfo), "never", body=NewApp, interface="management"
)


@final
class Apps(Collection):
    """The applications of an account: `management.apps`."""

    def list(self, query: AppQuery | None = None, *, cursor: Start = None) -> Walk[AppInfo]:
        """GET {management_base_url}/apps: the applications, in the service's order. One request per page."""
        return self._walk(APPS_LIST, query, cursor)

    async def create(self, app: NewApp) -> AppInfo:
        """Make an application, and return it with its keys. Sent once."""
        return await self._call(APPS_CREATE, app)


# ── API keys ──

API_KEYS: Final = documents(
    "api_keys.{}", "/apikeys", "apiKey", ApiKey, NewApiKey, ApiKeyChanges,
    listing={"query": ApiKeyQuery, "paging": BY_REPLY_PAGE},
)  # fmt: skip


@final
class ApiKeys(Collection):
    """The API keys of an app: `session.api_keys`."""

    def list(self, query: ApiKeyQuery | None = None, *, cursor: Start = None) -> Walk[ApiKey]:
        """The keys, in the service's order. One request per page; no cursor holds a key."""
        return self._walk(API_KEYS.list, query, cursor)

    @hides_arguments
    def get(self, api_key: str) -> Awaitable[ApiKey]:
        """One key; `NotFoundError` for no such key."""
        return self._call(API_KEYS.get, apiKey=api_key)

    async def create(self, new_key: NewApiKey) -> ApiKey:
        """Make a key and return it; sent once. An app may have 25."""
        return await self._call(API_KEYS.create, new_key)

    @hides_arguments
    def update(self, api_key: str, changes: ApiKeyChanges) -> Awaitable[ApiKey]:
        """Change a key and return it; `PermissionDeniedError` for the session's own key."""
        return self._call(API_KEYS.update, changes, apiKey=api_key)

    @hides_arguments
    def delete(self, api_key: str) -> Awaitable[Ack]:
        """Remove a key; `PermissionDeniedError` for the session's own key."""
        return self._call(API_KEYS.delete, apiKey=api_key)


# ── usage figures ──

GET_USAGE: Final = Endpoint("metrics.get_usage", "GET", "/stats", one(UsageMetrics), query=UsageQuery)
# Shown with and without `data` around it.
GET_MESSAGE_RECEIPTS: Final = Endpoint(
    "metrics.get_message_receipts", "GET", "/stats/messages", bare(MessageMetrics)
)


@final
class Metrics(Collection):
    """The usage figures of an app: `session.metrics`."""

    async def get_usage(self, from_date: int | date, to_date: int | date) -> UsageMetrics:
        """GET /stats: the figures of a window; numbers are epoch milliseconds, as in the reply.

        Raises `RequestInvalidError` for a window that ends before it begins.
        """
        return await self._call(GET_USAGE, query=UsageQuery(from_date=from_date, to_date=to_date))

    async def get_message_receipts(self) -> MessageMetrics:
        """GET /stats/messages: messages and receipts of the last hour, in 12 buckets of five minutes."""
        return await self._call(GET_MESSAGE_RECEIPTS)
