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
from .collection import Collection, CrudEndpoints, WalkStart, crud_endpoints

RULES: Final = crud_endpoints(
    "moderation.{}_rule", "/moderation/rules", "ruleId", ModerationRule, NewRule, NewRule,
    list_options={"query": RuleQuery},
)  # fmt: skip
LIST_RULE_REVISIONS: Final = Endpoint(
    "moderation.list_rule_revisions", "GET", "/moderation/rules/{ruleId}/revisions", many(RuleRevision)
)
REASONS: Final = crud_endpoints(
    "moderation.{}_reason", "/moderation/reasons", "id", Reason, NewReason, ReasonName
)
KEYWORD_LISTS: Final = crud_endpoints(
    "moderation.{}_keyword_list", "/moderation/keywords", "keywordId",
    KeywordList, NewKeywordList, NewKeywordList, media="multipart",
)  # fmt: skip

FLAG_MESSAGE: Final = Endpoint(
    "moderation.flag_message", "POST", "/messages/{id}/flagged", ACK, "never", body=NewFlag, acting="required"
)
LIST_FLAGGED_MESSAGES: Final = Endpoint(
    "moderation.list_flagged_messages", "GET", "/moderation/flagged-messages", many(Message),
    query=LimitQuery, comparison="none",
)  # fmt: skip
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
MESSAGES: Final[CrudEndpoints[Message]] = crud_endpoints(
    "moderation.{}_message", "/moderation/messages", "id",
    Message,  # type: ignore[arg-type]  # a union
    NewModeratedMessage, MessageContent,
    list_options={
        "query": ModerationQuery, "paging": structs.replace(BY_NEXT, size=""), "comparison": "none"
    },
)  # fmt: skip


@final
class Moderation(Collection):
    """Rules, keyword lists, reasons, and blocked, flagged and reviewed messages: `session.moderation`.

    `NotFoundError` if there is no record of this id; `RequestInvalidError` for a flag without an acting user.
    """

    def list_rules(self, *, limit: int | str | None = None) -> Walk[ModerationRule]:
        """The moderation rules. One request, for `limit` rules (1 to 1000, or digits); None is 1000.

        If the reply is full, there may be more, and the walk ends in a `CursorError`. A reply with as many
        rules as the caller asked for is no error.
        """
        return self._walk(RULES.list, RuleQuery(limit=limit))

    async def get_rule(self, rule_id: str) -> ModerationRule:
        """A rule; `NotFoundError` if there is none."""
        return await self._call(RULES.get, ruleId=rule_id)

    async def create_rule(self, rule: NewRule) -> ModerationRule:
        """Create a rule, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(RULES.create, rule)

    async def update_rule(self, rule_id: str, rule: NewRule) -> ModerationRule:
        """Replace a rule, and return it with its new revision; `NotFoundError` if there is none."""
        return await self._call(RULES.update, rule, ruleId=rule_id)

    async def delete_rule(self, rule_id: str) -> Ack:
        """Delete a rule; `NotFoundError` if there is none."""
        return await self._call(RULES.delete, ruleId=rule_id)

    def list_rule_revisions(self, rule_id: str) -> Walk[RuleRevision]:
        """The revisions of a rule, newest first. One request; `NotFoundError` if there is no such rule."""
        return self._walk(LIST_RULE_REVISIONS, ruleId=rule_id)

    def list_reasons(self) -> Walk[Reason]:
        """The reasons that a user may give for flagging a message. One request."""
        return self._walk(REASONS.list)

    async def get_reason(self, id: str) -> Reason:
        """A reason; `NotFoundError` if there is none."""
        return await self._call(REASONS.get, id=id)

    async def create_reason(self, reason: NewReason) -> Reason:
        """Create a reason, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(REASONS.create, reason)

    async def update_reason(self, id: str, name: str) -> Reason:
        """Rename a reason, and return it; `NotFoundError` if there is none."""
        return await self._call(REASONS.update, ReasonName(name=name), id=id)

    async def delete_reason(self, id: str) -> Ack:
        """Delete a reason; `NotFoundError` if there is none."""
        return await self._call(REASONS.delete, id=id)

    def list_keyword_lists(self) -> Walk[KeywordList]:
        """The keyword lists. One request."""
        return self._walk(KEYWORD_LISTS.list)

    async def get_keyword_list(self, keyword_id: str) -> KeywordList:
        """A keyword list; `NotFoundError` if there is none."""
        return await self._call(KEYWORD_LISTS.get, keywordId=keyword_id)

    async def create_keyword_list(self, keyword_list: NewKeywordList) -> KeywordList:
        """Create a keyword list, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(KEYWORD_LISTS.create, keyword_list)

    async def update_keyword_list(self, keyword_id: str, keyword_list: NewKeywordList) -> KeywordList:
        """Replace a keyword list's terms, and return the list; `NotFoundError` if there is none."""
        return await self._call(KEYWORD_LISTS.update, keyword_list, keywordId=keyword_id)

    async def delete_keyword_list(self, keyword_id: str) -> Ack:
        """Delete a keyword list; `NotFoundError` if there is none."""
        return await self._call(KEYWORD_LISTS.delete, keywordId=keyword_id)

    async def flag_message(self, message_id: str, flag: NewFlag, *, on_behalf_of: str | None = None) -> Ack:
        """Flag a message as the acting user. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(FLAG_MESSAGE, flag, on_behalf_of=on_behalf_of, id=message_id)

    def list_flagged_messages(self, *, limit: int | None = None) -> Walk[Message]:
        """The flagged messages, with `flagged_by`. One request for `limit`; `CursorError` if it is full."""
        return self._walk(LIST_FLAGGED_MESSAGES, LimitQuery(limit=limit))

    async def review_flagged_message(self, message_id: str, status: FlagStatus) -> Ack:
        """Approve or disapprove a flagged message; `NotFoundError` if there is none."""
        return await self._call(REVIEW_FLAGGED_MESSAGE, FlagReview(status=status), id=message_id)

    def list_reviewed_messages(self, *, limit: int | None = None) -> Walk[ReviewedMessage]:
        """The blocked messages that were reviewed. One request for `limit`; `CursorError` if it is full."""
        return self._walk(LIST_REVIEWED_MESSAGES, LimitQuery(limit=limit))

    def list_blocked_messages(self) -> Walk[BlockedMessage]:
        """The messages that rules have blocked. One request."""
        return self._walk(LIST_BLOCKED_MESSAGES)

    async def review_blocked_message(
        self, message_id: str, status: BlockStatus, *, reviewed: bool = True
    ) -> Ack:
        """Approve or reject a blocked message; some services require `reviewed`."""
        body = BlockReview(status=status, reviewed=reviewed)
        return await self._call(REVIEW_BLOCKED_MESSAGE, body, id=message_id)

    def list_messages(
        self, query: ModerationQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[Message]:
        """The messages that were submitted for moderation. One request per page."""
        return self._walk(MESSAGES.list, query, cursor)

    async def get_message(self, message_id: str) -> Message:
        """A submitted message, with its status in `data.moderation`; `NotFoundError` if there is none."""
        return await self._call(MESSAGES.get, id=message_id)

    async def create_message(self, message: NewModeratedMessage) -> Message:
        """Submit a message for moderation; return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(MESSAGES.create, message)

    async def update_message(self, message_id: str, data: dict[str, Any]) -> Message:
        """Replace the content of a submitted message, and return it; its status is computed again."""
        return await self._call(MESSAGES.update, MessageContent(data=data), id=message_id)

    async def delete_message(self, message_id: str) -> Ack:
        """Delete a submitted message; `NotFoundError` if there is none."""
        return await self._call(MESSAGES.delete, id=message_id)
