"""Auth tokens: with one of them an end user's client logs in (specification, Authentication 7)."""

from typing import Final, final

from msgspec import UNSET

from ..core.decode import one
from ..core.endpoint import Endpoint
from ..models.user import AuthToken
from ..queries.auth_tokens import NewToken
from .collection import Collection

CREATE: Final = Endpoint(
    "auth_tokens.create", "POST", "/users/{uid}/auth_tokens", one(AuthToken), "never", body=NewToken
)


@final
class AuthTokens(Collection):
    """The login tokens of users: `session.auth_tokens`."""

    async def create(self, uid: str, *, force: bool = False) -> AuthToken:
        """POST /users/{uid}/auth_tokens: a login token for `uid`; `force` asks for a fresh one.

        Raises `NotFoundError` for a user that the app does not have. Sent once: where no reply came and a
        token may have been made, `OutcomeUnknownError`.
        """
        return await self._call(CREATE, NewToken(force=force or UNSET), uid=uid)
