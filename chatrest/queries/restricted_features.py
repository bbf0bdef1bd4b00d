"""The bodies that restrict and allow features."""

from typing import final

from msgspec import UNSET, UnsetType

from .checked import Body, Flag, Texts


@final
class Restriction(Body, frozen=True, kw_only=True, rename="camel"):
    """The keys of the features to switch off, such as `u.listUsers`."""

    features_to_restrict: Texts


@final
class Allowance(Body, frozen=True, kw_only=True, rename="camel"):
    """The keys of the features to switch on again, or all of them."""

    features_to_allow: Texts | UnsetType = UNSET
    allow_all: Flag | UnsetType = UNSET
