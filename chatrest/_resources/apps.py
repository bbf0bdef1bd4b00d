"""Apps of an account, on the management interface; the API keys and the usage of an app.

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
from .collection import Collection, WalkStart, crud_endpoints

APPS_LIST: Final = Endpoint(
    "apps.list", "GET", "/apps", many(AppInfo), query=AppQuery, paging=BY_PAGE, interface="management"
)
APPS_CREATE: Final = Endpoint(
    "apps.create", "POST", "/apps", one(AppInfo), "never", body=NewApp, interface="management"
)


@final
class Apps(Collection):
    """The applications of an account: `management.apps`."""

    def list(self, query: AppQuery | None = None, *, cursor: WalkStart = None) -> Walk[AppInfo]:
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

    def list(self, query: ApiKeyQuery | None = None, *, cursor: WalkStart = None) -> Walk[ApiKey]:
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
