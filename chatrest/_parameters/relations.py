"""Filters and bodies of friends and of blocked users.

A separate file, as the noun has one in `resources`, too.
"""

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Flag, PageQuery, Text, Uids

MOST: Final = 1000
"""Friends of one user."""

FriendUids: TypeAlias = Annotated[
    Uids,
    Meta(
        max_length=MOST,
        description=f"a list of 1 to {MOST} uids, none of them empty, without commas and control characters",
    ),
]


class FriendQuery(PageQuery):
    """The filter of GET /users/{uid}/friends; a walk starts at `page`."""

    search_key: Text | None = None
    """Only friends with this text in their uid or name."""


class NewFriends(Body):
    """The uids to add as friends."""

    accepted: FriendUids
    """Uids of the users who become friends."""
    add_to_conversations: Flag | UnsetType = UNSET
    """Make a conversation with each new friend."""


class FormerFriends(Body):
    """The uids that are friends no longer."""

    friends: Uids


# ── blocked users ──


class BlockedUids(Body):
    """The uids to block or to unblock."""

    blocked_uids: Uids
