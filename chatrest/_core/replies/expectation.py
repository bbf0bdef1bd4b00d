"""The records that a list was asked for: an `Expectation` finds records of a reply that do not match.

Services ignore filters and acting users without an error, so records are compared with the request, by the
checks of `record_checks`. Not compared are filters by content (a text, links, reactions …), as a record does
not show all content, and a list's user beside filters for messages of other conversations (`sender` …).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from msgspec import Struct

from ..._models.conversations import Conversation
from ..._models.messages import Message
from ..requests.encode import filter_values
from ..requests.endpoint import Call
from .record_checks import (
    ON_BEHALF_OF,
    ConversationCheck,
    GroupCheck,
    RecordCheck,
    ThreadCheck,
    UserCheck,
    UserPairCheck,
    filter_checks,
)

_ELSEWHERE: Final = frozenset(
    {"sender", "senders", "hasReactions", "unread", "undelivered", "myMentionsOnly", "saved"}
)
"""Filters with which a user's list may have messages of other conversations."""


class QueryChecks(Struct, frozen=True):
    checks: tuple[RecordCheck, ...] = ()
    is_elsewhere: bool = False
    """True if a user's list may have messages of other conversations."""
    is_counting: bool = False

    @classmethod
    def of(cls, query: Struct | Mapping[str, Any] | None) -> "QueryChecks":
        """Return the checks of a `MessageQuery`, or of its values by their names in the query."""
        asked = query if isinstance(query, Mapping) else filter_values(query) or {}
        is_elsewhere = any(asked.get(name) for name in _ELSEWHERE)
        return cls(tuple(filter_checks(asked)), is_elsewhere, bool(asked.get("count")))


class Expectation(Struct, frozen=True):
    """The filters, path and acting user of a request: `mismatch(record)` names one that a record lacks."""

    checks: tuple[RecordCheck, ...] = ()
    is_with_oneself: bool = False
    """True for the messages between a user and the same user: a caller may have meant all of them."""

    @classmethod
    def of(
        cls, call: Call[Any], acting_user: str | None = None, checks: QueryChecks | None = None
    ) -> "Expectation":
        """Return the expectation of a list's call; `acting_user` is the session's, if the call has none.

        `checks` are those of its query, if they are known already. An operation without a comparison, and
        one that counts, has no checks.
        """
        endpoint = call.endpoint
        acting_user = None if endpoint.acting == "never" else call.acting_user or acting_user
        match endpoint.comparison:
            case "none" | "unstated":
                return EVERY_RECORD
            case "conversations":
                return EVERY_RECORD if acting_user is None else cls.of_conversations(acting_user)
            case "threads":
                return cls.of_messages(acting_user=acting_user)
            case subject:
                value = "" if subject == "messages" else unquote(call.path[endpoint.value_slice])
                return cls.of_messages(
                    uid=value if subject == "user" else None,
                    guid=value if subject == "group" else None,
                    parent_id=value if subject == "thread" else None,
                    acting_user=acting_user,
                    checks=QueryChecks.of(call.query) if checks is None else checks,
                )

    @classmethod
    def of_conversations(cls, acting_user: str) -> "Expectation":
        return cls((ConversationCheck(uid=acting_user),))

    @classmethod
    def of_messages(
        cls,
        *,
        uid: str | None = None,
        guid: str | None = None,
        parent_id: str | None = None,
        acting_user: str | None = None,
        checks: QueryChecks = QueryChecks(),  # noqa: B008, a frozen value
    ) -> "Expectation":
        """Return the expectation of a list of messages.

        `uid`: the messages of a user, with `acting_user` those between the two; `guid`: of a group;
        `parent_id`: of a thread; `checks`: of its query.
        """
        if checks.is_counting:
            return EVERY_RECORD
        first: tuple[RecordCheck, ...] = ()
        if acting_user is not None and acting_user != uid:
            if uid is None or checks.is_elsewhere:
                first = (UserCheck(ON_BEHALF_OF, uid=acting_user),)
            else:
                first = (UserPairCheck(uid=uid, acting_user=acting_user),)
        elif uid is not None and not checks.is_elsewhere:
            first = (UserCheck("uid", uid=uid),)
        if guid is not None:
            first += (GroupCheck("guid", "receiver", frozenset({guid})),)
        if parent_id is not None:
            first += (ThreadCheck("message_id", "parent_id", frozenset({parent_id})),)
        return cls(first + checks.checks, uid is not None and uid == acting_user)

    def mismatch(self, record: Any) -> str | None:
        """Return the filter that a record does not match, by its name in `MessageQuery` or the path.

        It is `on_behalf_of` for a record that the acting user has no part in; None for a record that matches.
        """
        return next((name for check in self.checks if (name := check.mismatch(record)) is not None), None)

    def mismatches(self, records: Sequence[Any]) -> dict[int, str]:
        """Return the indexes of the records that do not match, each with the filter's name; usually empty.

        It costs a few operations for a page, as long as all records match.
        """
        mismatches: dict[int, str] = {}
        for check in self.checks if records else ():
            if not check.all_match(records):
                for index, record in enumerate(records):
                    if index not in mismatches and (name := check.mismatch(record)) is not None:
                        mismatches[index] = name
        return mismatches


EVERY_RECORD: Final = Expectation()


def is_of_others(record: Any, uid: str) -> bool:
    """Return True for a message or a conversation that the user `uid` has no part in."""
    if isinstance(record, Conversation):
        return Expectation.of_conversations(uid).mismatch(record) is not None
    return (
        isinstance(record, Message) and Expectation.of_messages(acting_user=uid).mismatch(record) is not None
    )


def is_sent_by_other(record: Any, uid: str) -> bool:
    sender = getattr(record, "sender", None)
    return isinstance(sender, str) and bool(sender) and sender.casefold() != uid.casefold()
