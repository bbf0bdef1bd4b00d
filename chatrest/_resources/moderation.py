"""Moderation: rules and their references, and the messages that they meet."""

from typing import Any, Final, final

from msgspec import structs

from .._core.replies.decode import ACK, Ack, many
from .._core.requests.dialects import BY_NEXT
from .._core.requests.endpoint import Endpoint
from .._models.messages import Message
from .._models.moderation import (
    BlockedMessage,
    KeywordList,
    ModerationRule,
    Reason,
    ReviewedMessage,
    RuleRevision,
)
from .._parameters.moderation import (
    BlockReview,
    BlockStatus,
    FlagReview,
    FlagStatus,
    LimitQuery,
    MessageContent,
    ModerationQuery,
    NewFlag,
    NewKeywordList,
    NewModeratedMessage,
    NewReason,
    NewRule,
    ReasonName,
    RuleQuery,
)
from .._walk.walk import Walk
from .collection import Collection, DocumentEndpoints, Start, documents

RULES: Final = documents(
    "moderation.{}_rule", "/moderation/rules", "ruleId", ModerationRule, NewRule, NewRule,
    listing={"query": RuleQuery},
)  # fmt: skip
LIST_RULE_REVISIONS: Final = Endpoint(
    "moderation.list_rule_revisions", "GET", "/moderation/rules/{ruleId}/revisions", many(RuleRevision)
)
REASONS: Final = documents("moderation.{}_reason", "/moderation/reasons", "id", Reason, NewReason, ReasonName)
KEYWORD_LISTS: Final = documents(
    "moderation.{}_keyword_list", "/moderation/keywords", "keywordId",
    KeywordList, NewKeywordList, NewKeywordList, media="multipart",
)  # fmt: skip

FLAG_MESSAGE: Final = Endpoint(
    "moderation.flag_message", "POST", "/messages/{id}/flagged", ACK, "never", body=NewFlag, acting="required"
)
LIST_FLAGGED_MESSAGES: Final = Endpoint(
    "moderation.list_flagged_messages", "GET", "/moderation/flagged-messages", many(Message), query=LimitQuery
)
REVIEW_FLAGGED_MESSAGE: Final = Endpoint(
    "moderation.review_flagged_message", "PATCH", "/moderation/flagged-messages/{id}", ACK, "idempotent",
    body=FlagReview,
)  # fmt: skip
LIST_REVIEWED_MESSAGES: Final = Endpoint(
    "moderation.list_reviewed_messages", "GET", "/moderation/reviewed-messages", many(ReviewedMessage),
    query=LimitQuery,
)  # fmt: skip
LIST_BLOCKED_MESSAGES: Final = Endpoint(
    "moderation.list_blocked_messages", "GET", "/moderation/blocked-messages", many(BlockedMessage)
)
REVIEW_BLOCKED_MESSAGE: Final = Endpoint(
    "moderation.review_blocked_message", "PATCH", "/moderation/blocked-messages/{id}", ACK, "idempotent",
    body=BlockReview,
)  # fmt: skip
MESSAGES: Final[DocumentEndpoints[Message]] = documents(
    "moderation.{}_message", "/moderation/messages", "id",
    Message,  # type: ignore[arg-type]  # a union
    NewModeratedMessage, MessageContent,
    listing={"query": ModerationQuery, "paging": structs.replace(BY_NEXT, size="")},
)  # fmt: skip


@final
class Moderation(Collection):
    """Rules, keyword lists, reasons, and blocked, flagged and reviewed messages: `session.moderation`."""

    def list_rules(self, *, limit: int | str | None = None) -> Walk[ModerationRule]:
        """The rules, in one reply of `limit` at most (1 to 1000, or digits).

        Without a limit, 1000 are asked for. A reply that is full ends in a `CursorError`: there may be more,
        unless it has as many as the caller asked for.
        """
        return self._walk(RULES.list, RuleQuery(limit=limit))

    async def get_rule(self, rule_id: str) -> ModerationRule:
        """A rule; an error with the code ERR_RULE_NOT_FOUND where it is missing."""
        return await self._call(RULES.get, ruleId=rule_id)

    async def create_rule(self, rule: NewRule) -> ModerationRule:
        """Make a rule. Sent once."""
        return await self._call(RULES.create, rule)

    async def update_rule(self, rule_id: str, rule: NewRule) -> ModerationRule:
        """Change a rule, which gets a new revision; give the whole rule, as some services need it."""
        return await self._call(RULES.update, rule, ruleId=rule_id)

    async def delete_rule(self, rule_id: str) -> Ack:
        """Delete a rule."""
        return await self._call(RULES.delete, ruleId=rule_id)

    def list_rule_revisions(self, rule_id: str) -> Walk[RuleRevision]:
        """The revisions of a rule in one reply, the newest first; only that one is active."""
        return self._walk(LIST_RULE_REVISIONS, ruleId=rule_id)

    def list_reasons(self) -> Walk[Reason]:
        """The reasons that a user may give for flagging a message, in one reply."""
        return self._walk(REASONS.list)

    async def get_reason(self, id: str) -> Reason:
        """A reason; an error with the code ERR_REASON_NOT_FOUND where it is missing."""
        return await self._call(REASONS.get, id=id)

    async def create_reason(self, reason: NewReason) -> Reason:
        """Make a reason. Sent once."""
        return await self._call(REASONS.create, reason)

    async def update_reason(self, id: str, name: str) -> Reason:
        """Give a reason another name."""
        return await self._call(REASONS.update, ReasonName(name=name), id=id)

    async def delete_reason(self, id: str) -> Ack:
        """Delete a reason."""
        return await self._call(REASONS.delete, id=id)

    def list_keyword_lists(self) -> Walk[KeywordList]:
        """The keyword lists, in one reply."""
        return self._walk(KEYWORD_LISTS.list)

    async def get_keyword_list(self, keyword_id: str) -> KeywordList:
        """A keyword list; an error with the code ERR_KEYWORD_NOT_FOUND where it is missing."""
        return await self._call(KEYWORD_LISTS.get, keywordId=keyword_id)

    async def create_keyword_list(self, keyword_list: NewKeywordList) -> KeywordList:
        """Make a keyword list, of terms or of a file. Sent once, as a form."""
        return await self._call(KEYWORD_LISTS.create, keyword_list)

    async def update_keyword_list(self, keyword_id: str, keyword_list: NewKeywordList) -> KeywordList:
        """Replace the terms of a keyword list; its `category` is needed. Sent as a form."""
        return await self._call(KEYWORD_LISTS.update, keyword_list, keywordId=keyword_id)

    async def delete_keyword_list(self, keyword_id: str) -> Ack:
        """Delete a keyword list."""
        return await self._call(KEYWORD_LISTS.delete, keywordId=keyword_id)

    async def flag_message(self, message_id: str, flag: NewFlag, *, on_behalf_of: str | None = None) -> Ack:
        """Flag a message for a reason (`flag.id`) as a user. Sent once."""
        return await self._call(FLAG_MESSAGE, flag, on_behalf_of=on_behalf_of, id=message_id)

    def list_flagged_messages(self, *, limit: int | None = None) -> Walk[Message]:
        """The flagged messages, each with `flagged_by`, in one reply of `limit` at most, see `list_rules`."""
        return self._walk(LIST_FLAGGED_MESSAGES, LimitQuery(limit=limit))

    async def review_flagged_message(self, message_id: str, status: FlagStatus) -> Ack:
        """Approve or disapprove a flagged message."""
        return await self._call(REVIEW_FLAGGED_MESSAGE, FlagReview(status=status), id=message_id)

    def list_reviewed_messages(self, *, limit: int | None = None) -> Walk[ReviewedMessage]:
        """The blocked messages that were reviewed, in one reply of `limit` at most, see `list_rules`."""
        return self._walk(LIST_REVIEWED_MESSAGES, LimitQuery(limit=limit))

    def list_blocked_messages(self) -> Walk[BlockedMessage]:
        """The messages that rules blocked, in one reply."""
        return self._walk(LIST_BLOCKED_MESSAGES)

    async def review_blocked_message(
        self, message_id: str, status: BlockStatus, *, reviewed: bool = True
    ) -> Ack:
        """Approve or reject a blocked message."""
        return await self._call(
            REVIEW_BLOCKED_MESSAGE, BlockReview(status=status, reviewed=reviewed), id=message_id
        )

    def list_messages(self, query: ModerationQuery | None = None, *, cursor: Start = None) -> Walk[Message]:
        """The messages that were handed in for moderation. One request per page."""
        return self._walk(MESSAGES.list, query, cursor)

    async def get_message(self, message_id: str) -> Message:
        """A message that was handed in, with its status in `data.moderation`."""
        return await self._call(MESSAGES.get, id=message_id)

    async def create_message(self, message: NewModeratedMessage) -> Message:
        """Hand a message in for moderation: its status is pending. Sent once."""
        return await self._call(MESSAGES.create, message)

    async def update_message(self, message_id: str, data: dict[str, Any]) -> Message:
        """Replace the content of a message that was handed in; its status is computed again."""
        return await self._call(MESSAGES.update, MessageContent(data=data), id=message_id)

    async def delete_message(self, message_id: str) -> Ack:
        """Remove a message that was handed in."""
        return await self._call(MESSAGES.delete, id=message_id)
