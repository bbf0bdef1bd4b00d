"""The check of a walk for records that do not fit the query: the service ignored a filter or a user.

Records that a filter excludes are given, with a line in `repairs` and one warning. One in which the acting
user has no part is an `ActingUserIgnoredError`; with `check_acting_user=False` it is given in the same way.
"""

from collections import Counter
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from .._core.replies.decode import Listing
from .._core.replies.expectation import Expectation
from .._core.replies.record_checks import ON_BEHALF_OF, value_of
from .._secrets import repr_of
from .._telemetry import LOGGER
from ..errors import ActingUserIgnoredError

T = TypeVar("T")

_WITH_ONESELF: Final = (
    "it lists the messages between the acting user and the same user, and has none; "
    "session.messages.list() has all messages of the acting user"
)


class FilterCheck(Struct):
    """The comparison of a walk's pages with its query; it warns once."""

    name: str
    expectation: Expectation
    is_strict: bool
    """True if an acting user that was ignored is an error."""
    is_quiet: bool = False
    """True if the reader of the walk leaves out records that do not fit, so that no one is warned."""
    has_warned: bool = False

    def check(self, listing: Listing[T], *, is_start: bool) -> Listing[T]:
        """Return the page, with a line in its repairs for each filter that was ignored.

        `is_start` is True for the first page of the list.

        Raises `ActingUserIgnoredError` for a record that the acting user has no part in.
        """
        items, expectation = listing.items, self.expectation
        if is_start and not items and expectation.is_with_oneself and not self.is_quiet:
            self._warn(_WITH_ONESELF)
        if not items or not (mismatches := expectation.mismatches(items)):
            return listing
        if self.is_strict and ON_BEHALF_OF in mismatches.values():
            index = next(index for index, name in mismatches.items() if name == ON_BEHALF_OF)
            raise self._acting_user_ignored(items[index])
        if self.is_quiet:
            return listing
        counts = Counter(mismatches.values())
        names = " and ".join(counts)
        self._warn(
            f"the service ignored {names}: it served records that do not fit, which are given as they came"
        )
        lines = [
            f"{name}: the service ignored it, {count} of this page's records do{'es' * (count == 1)} not fit"
            for name, count in counts.items()
        ]
        return structs.replace(listing, repairs=(*listing.repairs, *lines))

    def _warn(self, text: str) -> None:
        if not self.has_warned:
            self.has_warned = True
            LOGGER.warning("%s: %s", self.name, text)

    def _acting_user_ignored(self, record: Any) -> ActingUserIgnoredError:
        parties = [getattr(record, name, "") for name in ("sender", "receiver")]
        served = (
            f"a message between {repr_of(parties[0])} and {repr_of(parties[1])}"
            if all(parties)
            else f"the conversation {repr_of(value_of(record, 'conversation_id'))} of other users"
        )
        error = ActingUserIgnoredError(
            f"{self.name}: the service ignored the acting user (onBehalfOf) and served {served}; nothing of "
            "this page is given (AsyncSession(check_acting_user=False) gives it with a warning)"
        )
        error.operation = self.name
        return error
