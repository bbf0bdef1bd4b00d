"""The bodies that make and change auth tokens."""

from typing import final

from msgspec import UNSET, UnsetType

from .checked import Body, Flag, Json
from .limits import AnyText


@final
class NewToken(Body, frozen=True, kw_only=True, rename="camel"):
    """The body of a request for an auth token; `force` requests a new one even if the user has one."""

    force: Flag | UnsetType = UNSET


@final
class TokenChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """The scope of an auth token: the platform and the device that it is for; what is not given stays."""

    platform: AnyText | UnsetType = UNSET
    user_agent: AnyText | UnsetType = UNSET
    app_info: Json | UnsetType = UNSET
