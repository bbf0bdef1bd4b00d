"""Operations that the client reaches by `session.request` alone so far, and that the emulator serves too.

An operation that a collection of the client gets moves to that collection's file, and leaves this one.
"""

from typing import Any, Final

from ...core.decode import one
from ...core.endpoint import Endpoint
from ...models.user import User

FURTHER_OPERATIONS: Final[tuple[Endpoint[Any], ...]] = (
    Endpoint("users.create", "POST", "/users", one(User), "never", rate_class="core"),
    Endpoint("users.get", "GET", "/users/{uid}", one(User), acting="optional"),
)
