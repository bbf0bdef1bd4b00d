"""Applications of an account, on the management interface, and the API keys of one.

Methods that take a key are plain functions: the frame of a coroutine would hold it as long as the call runs.
"""

from collections.abc import Awaitable
from typing import Final, final

from ..core.paging.paging import BY_PAGE, BY_REPLY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.arguments import hides_arguments
from ..core.requests.endpoint import Endpoint
from ..models.apps import ApiKey, AppInfo
from ..parameters.apps import ApiKeyChanges, ApiKeyQuery, AppQuery, NewApiKey, NewApp
from ..walk.walk import Walk
from .collection import Collection, Start

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
        """GET {management_base_url}/apps: the applications, in the service's order. One request a page."""
        return self._walk(APPS_LIST, query, cursor)

    async def create(self, app: NewApp) -> AppInfo:
        """Make an application, and return it with its keys. Sent once."""
        return await self._call(APPS_CREATE, app)


# ── API keys ──

API_KEYS_LIST: Final = Endpoint(
    "api_keys.list", "GET", "/apikeys", many(ApiKey), query=ApiKeyQuery, paging=BY_REPLY_PAGE
)
API_KEYS_GET: Final = Endpoint("api_keys.get", "GET", "/apikeys/{apiKey}", one(ApiKey))
API_KEYS_CREATE: Final = Endpoint("api_keys.create", "POST", "/apikeys", one(ApiKey), "never", body=NewApiKey)
API_KEYS_UPDATE: Final = Endpoint(
    "api_keys.update", "PUT", "/apikeys/{apiKey}", one(ApiKey), "idempotent", body=ApiKeyChanges
)
API_KEYS_DELETE: Final = Endpoint("api_keys.delete", "DELETE", "/apikeys/{apiKey}", ACK, "idempotent")


@final
class ApiKeys(Collection):
    """The API keys of an app: `session.api_keys`."""

    def list(self, query: ApiKeyQuery | None = None, *, cursor: Start = None) -> Walk[ApiKey]:
        """The keys, in the service's order. One request a page; no cursor holds a key."""
        return self._walk(API_KEYS_LIST, query, cursor)

    @hides_arguments
    def get(self, api_key: str) -> Awaitable[ApiKey]:
        """One key; `NotFoundError` for no such key."""
        return self._call(API_KEYS_GET, apiKey=api_key)

    async def create(self, new_key: NewApiKey) -> ApiKey:
        """Make a key and return it; sent once. An app may have 25."""
        return await self._call(API_KEYS_CREATE, new_key)

    @hides_arguments
    def update(self, api_key: str, changes: ApiKeyChanges) -> Awaitable[ApiKey]:
        """Change a key and return it; `PermissionDeniedError` for the session's own key."""
        return self._call(API_KEYS_UPDATE, changes, apiKey=api_key)

    @hides_arguments
    def delete(self, api_key: str) -> Awaitable[Ack]:
        """Remove a key; `PermissionDeniedError` for the session's own key."""
        return self._call(API_KEYS_DELETE, apiKey=api_key)
