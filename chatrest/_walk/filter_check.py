"""The check of a walk for records that do not fit the query: the service ignored a filter or a user.

They are given as the service served them, with a line in the page's `repairs` and one warning per walk.
Messages of other users are not given: that is an `ActingUserIgnoredError`, unless the session is to warn.
An empty list of the messages between a user and the same user is a warning, too: all of them may be meant.
"""

import logging
from collections import Counter
from typing import Any, Final, TypeVar, final

from msgspec import structs

from .._core.replies.decode import Listing
from .._core.replies.expectation import ON_BEHALF_OF, Expectation, value_of
from .._secrets import shown
from ..errors import ActingUserIgnoredError

T = TypeVar("T")

LOGGER: Final = logging.getLogger("chatrest")
_WITH_ONESELF: Final = (
    "it lists the messages between the acting user and the same user, and has none; "
    "session.messages.list() has all messages of the acting user"
)


@final
class FilterCheck:
    """The comparison of a walk's pages with what they were asked for."""

    __slots__ = ("_expectation", "_has_warned", "_is_quiet", "_is_strict", "_name")

    def __init__(
        self, name: str, expectation: Expectation, *, is_strict: bool, is_quiet: bool = False
    ) -> None:
        """Take the operation's name, and whether an acting user that was ignored is an error.

        `is_quiet`: the reader of the walk leaves out by itself what does not fit.
        """
        self._is_quiet = is_quiet
        self._name = name
        self._expectation = expectation
        self._is_strict = is_strict
        self._has_warned = False

    def checked(self, listing: Listing[T], *, is_start: bool) -> Listing[T]:
        """Return the page, with what does not fit among its repairs; `is_start`: the list begins with it.

        Raises `ActingUserIgnoredError` for a record that the acting user has no part in.
        """
        if is_start and not listing.items and self._expectation.is_with_oneself and not self._is_quiet:
            self._warn(_WITH_ONESELF)
        misfits = self._expectation.mismatches(listing.items, is_start=is_start)
        if not misfits:
            return listing
        if self._is_strict and ON_BEHALF_OF in misfits.values():
            index = next(index for index, name in misfits.items() if name == ON_BEHALF_OF)
            raise self._acting_user_ignored(listing.items[index])
        if self._is_quiet:
            return listing
        counts = Counter(misfits.values())
        names = " and ".join(counts)
        self._warn(
            f"the service ignored {names}: it served records that do not fit, which are given as they came"
        )
        lines = [
            f"{name}: the service ignored it, {_records(count)} of this page do{'es' * (count == 1)} not fit"
            for name, count in counts.items()
        ]
        return structs.replace(listing, repairs=(*listing.repairs, *lines))

    def _warn(self, words: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            LOGGER.warning("%s: %s", self._name, words)

    def _acting_user_ignored(self, record: Any) -> ActingUserIgnoredError:
        parties = [getattr(record, name, "") for name in ("sender", "receiver")]
        what = (
            f"a message between {shown(parties[0])} and {shown(parties[1])}"
            if all(parties)
            else f"the conversation {shown(value_of(record, 'conversation_id'))} of other users"
        )
        error = ActingUserIgnoredError(
            f"{self._name}: the service ignored the acting user (onBehalfOf) and served {what}; nothing of "
            "this page is given (AsyncSession(check_acting_user=False) gives it with a warning)"
        )
        error.operation = self._name
        return error


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
