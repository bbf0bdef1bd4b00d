"""Auth tokens: with one of them an end user's client logs in.

Methods that take a token are plain functions: a coroutine's frame would hold it as long as the call runs.
"""

from collections.abc import Awaitable
from typing import Final, final

from msgspec import UNSET

from ..core.paging.paging import BY_PAGE
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.arguments import hides_arguments
from ..core.requests.endpoint import Endpoint
from ..models.user import AuthToken
from ..queries.auth_tokens import NewToken, TokenChanges
from ..queries.pages import PageQuery
from ..walk.walk import Walk
from .collection import Collection, Start

_TOKENS: Final = "/users/{uid}/auth_tokens"
_TOKEN: Final = "/users/{uid}/auth_tokens/{authToken}"  # noqa: S105, a path

LIST: Final = Endpoint("auth_tokens.list", "GET", _TOKENS, many(AuthToken), query=PageQuery, paging=BY_PAGE)
GET: Final = Endpoint("auth_tokens.get", "GET", _TOKEN, one(AuthToken))
CREATE: Final = Endpoint("auth_tokens.create", "POST", _TOKENS, one(AuthToken), "never", body=NewToken)
UPDATE: Final = Endpoint("auth_tokens.update", "PUT", _TOKEN, one(AuthToken), "idempotent", body=TokenChanges)
DELETE: Final = Endpoint("auth_tokens.delete", "DELETE", _TOKEN, ACK, "idempotent")
FLUSH: Final = Endpoint("auth_tokens.flush", "DELETE", _TOKENS, ACK, "idempotent")


@final
class AuthTokens(Collection):
    """The login tokens of users: `session.auth_tokens`."""

    def list(self, uid: str, query: PageQuery | None = None, *, cursor: Start = None) -> Walk[AuthToken]:
        """The tokens of a user, in the service's order. One request a page; no cursor holds a token."""
        return self._walk(LIST, query, cursor, uid=uid)

    @hides_arguments
    def get(self, uid: str, auth_token: str) -> Awaitable[AuthToken]:
        """One token of a user; `NotFoundError` for no such token."""
        return self._call(GET, uid=uid, authToken=auth_token)

    async def create(self, uid: str, *, force: bool | None = None) -> AuthToken:
        """POST /users/{uid}/auth_tokens: a login token for `uid`; `force` asks for a fresh one.

        Raises `NotFoundError` for a user that the app does not have. Sent once: where no reply came and a
        token may have been made, `OutcomeUnknownError`.
        """
        return await self._call(CREATE, NewToken(force=UNSET if force is None else force), uid=uid)

    @hides_arguments
    def update(self, uid: str, auth_token: str, changes: TokenChanges) -> Awaitable[AuthToken]:
        """Change the scope of a token, and return the token; `NotFoundError` for no such token."""
        return self._call(UPDATE, changes, uid=uid, authToken=auth_token)

    @hides_arguments
    def delete(self, uid: str, auth_token: str) -> Awaitable[Ack]:
        """Remove a token: no client logs in with it from then on; `NotFoundError` for no such token."""
        return self._call(DELETE, uid=uid, authToken=auth_token)

    async def flush(self, uid: str) -> Ack:
        """Remove all tokens of a user; `NotFoundError` for no such user."""
        return await self._call(FLUSH, uid=uid)
