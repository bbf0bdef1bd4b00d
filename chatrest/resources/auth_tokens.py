"""Auth tokens: with one of them an end user's client logs in (specification, Authentication 7)."""

from typing import Any, Final, final

from ..core.decode import AUTH_TOKEN, One
from ..core.endpoint import Endpoint, Send
from ..models.user import AuthToken

CREATE: Final = Endpoint(
    name="auth_tokens.create",
    method="POST",
    path="/users/{uid}/auth_tokens",
    reply=One(AUTH_TOKEN),
    replay="never",
)
ENDPOINTS: Final[tuple[Endpoint[Any], ...]] = (CREATE,)


@final
class AuthTokens:
    """The login tokens of users: `session.auth_tokens`."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def create(self, uid: str, *, force: bool = False) -> AuthToken:
        """POST /users/{uid}/auth_tokens: a login token for `uid`; `force` asks for a fresh one.

        Raises `NotFoundError` for a user that the app does not have. Sent once: where no reply came and a
        token may have been made, `OutcomeUnknownError`.
        """
        return await self._send(CREATE(uid=uid, json={"force": True} if force else {}))
