"""The roles that imported users have: the service refuses a user whose role it does not know."""

from typing import Final

from ..errors import ApiError, AuthenticationError, RequestInvalidError, ServerError
from ..queries.roles import NewRole
from ..session import AsyncSession

DEFAULT: Final = "default"
"""The role that every app has."""


async def make_missing_roles(session: AsyncSession, roles: frozenset[str]) -> None:
    """Make those of `roles` that the app does not have, with the service's defaults for their rights.

    Costs a request for the list, and one for each missing role; none where all users have the default role.
    A role that the service refuses to make is left out: its users are refused one by one, and named.
    """
    if roles <= {DEFAULT}:
        return
    known = {role.role async for role in session.roles.list()}
    for role in sorted(roles - known):
        try:
            await session.roles.create(NewRole(role=role, name=role))
        except (AuthenticationError, ServerError):
            raise
        except (ApiError, RequestInvalidError):
            continue
