"""Notifications: the push tokens of users' devices, and the log of what was sent."""

from collections.abc import Awaitable
from typing import Final

from ...core.paging.paging import Paging
from ...core.replies.decode import ACK, Ack, many, one
from ...core.requests.arguments import hides_arguments
from ...core.requests.endpoint import Endpoint
from ...models.notification import NotificationLog, PushTokens
from ...queries.notifications import (
    AllPushTokens,
    NewPushToken,
    NotificationLogQuery,
    PushTokenOwner,
    PushTokenQuery,
)
from ...walk.walk import Walk
from ..collection import Collection, Start

_TOKENS: Final = "/notifications/push/v1/tokens"
_BY_LOG: Final = Paging(size="", renames=(("messageId", "logId"),))
"""The log asks for `logId` and answers `messageId`."""

LIST_PUSH_TOKENS: Final = Endpoint(
    "notifications.list_push_tokens", "GET", _TOKENS, one(PushTokens), query=PushTokenQuery
)
REGISTER_PUSH_TOKEN: Final = Endpoint(
    "notifications.register_push_token", "POST", _TOKENS, ACK, "never", body=NewPushToken
)
UNREGISTER_PUSH_TOKENS: Final = Endpoint(
    "notifications.unregister_push_tokens", "DELETE", _TOKENS, one(PushTokens), "idempotent",
    query=AllPushTokens, body=PushTokenOwner,
)  # fmt: skip
DELETE_PUSH_TOKEN: Final = Endpoint(
    "notifications.delete_push_token", "DELETE", f"{_TOKENS}/{{pushToken}}", one(PushTokens), "idempotent",
    body=PushTokenOwner,
)  # fmt: skip
LIST_LOGS: Final = Endpoint(
    "notifications.list_logs", "GET", "/notifications/v1/logs", many(NotificationLog),
    query=NotificationLogQuery, paging=_BY_LOG,
)  # fmt: skip


class PushTokenOperations(Collection):
    """The operations of push tokens and of the log. Tokens are credentials: no frame keeps them."""

    @hides_arguments
    def list_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """The push tokens of a login; `all`: of all logins of its user. The auth token is in the address."""
        return self._call(LIST_PUSH_TOKENS, query=PushTokenQuery(all=all, auth_token=auth_token))

    async def register_push_token(self, token: NewPushToken) -> Ack:
        """Register the push token of a device for the user of `token.auth_token`. Sent once."""
        return await self._call(REGISTER_PUSH_TOKEN, token)

    @hides_arguments
    def unregister_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """Remove the push tokens of a login, or of all logins of its user (`all`), and give them."""
        owner, query = PushTokenOwner(auth_token=auth_token), AllPushTokens(all=all)
        return self._call(UNREGISTER_PUSH_TOKENS, owner, query=query)

    @hides_arguments
    def delete_push_token(self, push_token: str, auth_token: str) -> Awaitable[PushTokens]:
        """Remove one push token of a login, and give it."""
        owner = PushTokenOwner(auth_token=auth_token)
        return self._call(DELETE_PUSH_TOKEN, owner, pushToken=push_token)

    def list_logs(
        self, query: NotificationLogQuery | None = None, *, cursor: Start = None
    ) -> Walk[NotificationLog]:
        """The log of notifications, sent or held back, in the service's order. One request a page."""
        return self._walk(LIST_LOGS, query, cursor)
