"""The body that blocks and unblocks users."""

from typing import final

from .checked import Body, Uids


@final
class BlockedUids(Body, frozen=True, kw_only=True, rename="camel"):
    """The uids to block or to unblock."""

    blocked_uids: Uids
