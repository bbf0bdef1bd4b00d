"""Moderation: rules and their conditions, keyword lists, reasons, and the messages that were blocked or
reviewed. Times are in the service's unit (`chatrest guide service`, "Filters and times").
"""

from typing import ClassVar

from msgspec import UNSET, field

from .messages import NestedMessage, message_of
from .record import Maybe, Record, views


class ModerationCondition(Record):
    """A condition of a rule.

    `value` holds the words or patterns; with `is_keywords_reference_present` the id of a keyword list, with
    `is_media_present` a formula such as violence_greaterThan_30. The reference flag has three spellings.
    """

    id: Maybe[int] = UNSET
    entity: Maybe[str] = UNSET
    operand: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    operator: Maybe[str] = UNSET
    value: Maybe[tuple[str, ...] | str] = UNSET
    message: Maybe[tuple[str, ...] | str] = UNSET
    is_keywords_reference_present: Maybe[bool] = UNSET
    is_keyword_reference_present: Maybe[bool] = UNSET
    is_list_reference_present: Maybe[bool] = UNSET
    is_media_present: Maybe[bool] = UNSET
    weight: Maybe[int] = UNSET


class ModerationFilter(Record):
    """The users or groups that a rule is for: `operand operator value`, of the sender or the receiver."""

    type: Maybe[str] = UNSET
    entity: Maybe[str] = UNSET
    operand: Maybe[str] = UNSET
    operator: Maybe[str] = UNSET
    value: Maybe[tuple[str, ...] | str] = UNSET


class Reason(Record):
    """A reason that a user may give for flagging a message; `default` is True on built-in ones."""

    id: str
    name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    default: Maybe[bool] = UNSET


class _RuleRevision(Reason):
    active: Maybe[bool] = UNSET
    revision_id: Maybe[str] = UNSET


class ModerationRule(_RuleRevision):
    """A rule: what is done (`action`, such as blockMessage) with a message that meets its conditions."""

    enabled: Maybe[bool] = UNSET
    conditions: Maybe[tuple[ModerationCondition, ...]] = UNSET
    filters: Maybe[tuple[ModerationFilter, ...]] = UNSET
    action: Maybe[tuple[str, ...]] = UNSET


class RuleRevision(ModerationRule):
    """A rule as it was after one change; only the newest revision is `active`."""

    identified_by: ClassVar[str] = "revision_id"


class KeywordList(_RuleRevision):
    """A list of words, patterns or sentences that rules refer to by its id.

    Lists of keyword lists also have `_id`, `app_id` and `document_version` (`__v` on the wire).
    """

    category: Maybe[str] = UNSET
    is_csv: Maybe[bool] = field(default=UNSET, name="isCSV")
    search_terms: Maybe[tuple[str, ...]] = UNSET
    _id: Maybe[str] = field(default=UNSET, name="_id")
    app_id: Maybe[str] = UNSET
    document_version: Maybe[int] = field(default=UNSET, name="__v")


# The attribute's name on the wire, too: inside the class Python would mangle it.
setattr(KeywordList, "__v", vars(KeywordList)["document_version"])


@views(message_of, "message")
class _HeldMessage(Record):
    rule_id: Maybe[str] = UNSET
    rule_name: Maybe[str] = UNSET
    revision_id: Maybe[str] = UNSET
    condition: Maybe[ModerationCondition] = UNSET
    message: Maybe[NestedMessage] = UNSET
    action: Maybe[tuple[str, ...]] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """The message and the rule: several rules may apply to one message."""
        parts = (self.message.id if self.message else None, self.rule_id, self.revision_id, self.created_at)
        return "/".join("" if part is UNSET else str(part) for part in parts)


class BlockedMessage(_HeldMessage):
    """A message that a rule blocked, in `message`, typed like the messages of a list."""


class ReviewedMessage(_HeldMessage):
    """A blocked message after its review. `blocked_at` is a text: seconds with a fraction."""

    blocked_at: Maybe[str] = UNSET
    app_id: Maybe[str] = UNSET
