"""The filter of a group's member list, and the bodies that change its members."""

from typing import final

from msgspec import UNSET, UnsetType

from ..errors import RequestInvalidError
from .checked import Body, Filter, Ordinal, Presence, Scope, ScopeName as ScopeName, Scopes, Size, Uids


@final
class MemberQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The filter of GET /groups/{guid}/members; a walk starts at `page`."""

    per_page: Size | None = None
    page: Ordinal | None = None
    status: Presence | None = None
    scopes: Scopes | None = None


@final
class NewMembers(Body, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The uids to add to a group by scope, and the uids to ban from it.

    Raises `RequestInvalidError` without any uid.
    """

    admins: Uids | UnsetType = UNSET
    moderators: Uids | UnsetType = UNSET
    participants: Uids | UnsetType = UNSET
    users_to_ban: Uids | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if all(getattr(self, name) is UNSET for name in self.__struct_fields__):
            raise RequestInvalidError(
                f"members: one uid at least is needed, in {', '.join(self.__struct_fields__)}"
            )


@final
class NewScope(Body, frozen=True, kw_only=True, rename="camel"):
    """The new scope of a member."""

    scope: Scope
