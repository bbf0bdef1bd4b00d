"""The body that asks for an auth token."""

from typing import final

from msgspec import UNSET, UnsetType

from .checked import Body, Flag


@final
class NewToken(Body, frozen=True, kw_only=True, rename="camel"):
    """The request for a token: `force` asks for a fresh one where the user has one already."""

    force: Flag | UnsetType = UNSET
