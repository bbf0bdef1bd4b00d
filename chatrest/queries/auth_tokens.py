"""The request body for an auth token."""

from typing import final

from msgspec import UNSET, UnsetType

from .checked import Body, Flag


@final
class NewToken(Body, frozen=True, kw_only=True, rename="camel"):
    """The body of a request for an auth token; `force` requests a new one even if the user has one."""

    force: Flag | UnsetType = UNSET
