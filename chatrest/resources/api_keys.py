"""API keys of an app.

Methods that take a key are plain functions: the frame of a coroutine would hold it as long as the call runs.
"""

from collections.abc import Awaitable
from typing import Final, final

from ..core.paging.paging import BY_REPLY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.arguments import hides_arguments
from ..core.requests.endpoint import Endpoint
from ..models.api_key import ApiKey
from ..queries.api_keys import ApiKeyChanges, ApiKeyQuery, NewApiKey
from ..walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "api_keys.list", "GET", "/apikeys", many(ApiKey), query=ApiKeyQuery, paging=BY_REPLY_PAGE
)
GET: Final = Endpoint("api_keys.get", "GET", "/apikeys/{apiKey}", one(ApiKey))
CREATE: Final = Endpoint("api_keys.create", "POST", "/apikeys", one(ApiKey), "never", body=NewApiKey)
UPDATE: Final = Endpoint(
    "api_keys.update", "PUT", "/apikeys/{apiKey}", one(ApiKey), "idempotent", body=ApiKeyChanges
)
DELETE: Final = Endpoint("api_keys.delete", "DELETE", "/apikeys/{apiKey}", ACK, "idempotent")


@final
class ApiKeys(Collection):
    """The API keys of an app: `session.api_keys`."""

    def list(self, query: ApiKeyQuery | None = None, *, cursor: Start = None) -> Walk[ApiKey]:
        """The keys, in the service's order. One request a page; no cursor holds a key."""
        return self._walk(LIST, query, cursor)

    @hides_arguments
    def get(self, api_key: str) -> Awaitable[ApiKey]:
        """One key; `NotFoundError` for no such key."""
        return self._call(GET, apiKey=api_key)

    async def create(self, new_key: NewApiKey) -> ApiKey:
        """Make a key and return it; sent once. An app may have 25."""
        return await self._call(CREATE, new_key)

    @hides_arguments
    def update(self, api_key: str, changes: ApiKeyChanges) -> Awaitable[ApiKey]:
        """Change a key and return it; `PermissionDeniedError` for the session's own key."""
        return self._call(UPDATE, changes, apiKey=api_key)

    @hides_arguments
    def delete(self, api_key: str) -> Awaitable[Ack]:
        """Remove a key; `PermissionDeniedError` for the session's own key."""
        return self._call(DELETE, apiKey=api_key)
