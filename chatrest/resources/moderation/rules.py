"""Moderation: rules with their revisions, and reasons for flags."""

from typing import Final

from ...core.replies.decode import ACK, Ack, many, one
from ...core.requests.endpoint import Endpoint
from ...models.moderation import ModerationRule, Reason, RuleRevision
from ...queries.moderation import NewReason, NewRule, ReasonName, RuleQuery
from ...walk.walk import Walk
from ..collection import Collection

LIST_RULES: Final = Endpoint(
    "moderation.list_rules", "GET", "/moderation/rules", many(ModerationRule), query=RuleQuery
)
GET_RULE: Final = Endpoint("moderation.get_rule", "GET", "/moderation/rules/{ruleId}", one(ModerationRule))
CREATE_RULE: Final = Endpoint(
    "moderation.create_rule", "POST", "/moderation/rules", one(ModerationRule), "never", body=NewRule
)
UPDATE_RULE: Final = Endpoint(
    "moderation.update_rule", "PUT", "/moderation/rules/{ruleId}", one(ModerationRule), "idempotent",
    body=NewRule,
)  # fmt: skip
DELETE_RULE: Final = Endpoint(
    "moderation.delete_rule", "DELETE", "/moderation/rules/{ruleId}", ACK, "idempotent"
)
LIST_RULE_REVISIONS: Final = Endpoint(
    "moderation.list_rule_revisions", "GET", "/moderation/rules/{ruleId}/revisions", many(RuleRevision)
)
LIST_REASONS: Final = Endpoint("moderation.list_reasons", "GET", "/moderation/reasons", many(Reason))
GET_REASON: Final = Endpoint("moderation.get_reason", "GET", "/moderation/reasons/{id}", one(Reason))
CREATE_REASON: Final = Endpoint(
    "moderation.create_reason", "POST", "/moderation/reasons", one(Reason), "never", body=NewReason
)
UPDATE_REASON: Final = Endpoint(
    "moderation.update_reason", "PUT", "/moderation/reasons/{id}", one(Reason), "idempotent", body=ReasonName
)
DELETE_REASON: Final = Endpoint(
    "moderation.delete_reason", "DELETE", "/moderation/reasons/{id}", ACK, "idempotent"
)


class ModerationRules(Collection):
    """The operations of rules and reasons."""

    def list_rules(self, *, limit: int | str | None = None) -> Walk[ModerationRule]:
        """The rules, in one reply of `limit` at most (1 to 1000, or digits).

        Without a limit, 1000 are asked for. A reply that is full ends in a `CursorError`: there may be more,
        unless it has as many as the caller asked for.
        """
        return self._walk(LIST_RULES, RuleQuery(limit=limit))

    async def get_rule(self, rule_id: str) -> ModerationRule:
        """A rule; an error with the code ERR_RULE_NOT_FOUND where there is none."""
        return await self._call(GET_RULE, ruleId=rule_id)

    async def create_rule(self, rule: NewRule) -> ModerationRule:
        """Make a rule. Sent once."""
        return await self._call(CREATE_RULE, rule)

    async def update_rule(self, rule_id: str, rule: NewRule) -> ModerationRule:
        """Change a rule, which gets a new revision; give the whole rule, as some services need it."""
        return await self._call(UPDATE_RULE, rule, ruleId=rule_id)

    async def delete_rule(self, rule_id: str) -> Ack:
        """Delete a rule."""
        return await self._call(DELETE_RULE, ruleId=rule_id)

    def list_rule_revisions(self, rule_id: str) -> Walk[RuleRevision]:
        """The revisions of a rule in one reply, the newest first; only that one is active."""
        return self._walk(LIST_RULE_REVISIONS, ruleId=rule_id)

    def list_reasons(self) -> Walk[Reason]:
        """The reasons that a user may give for flagging a message, in one reply."""
        return self._walk(LIST_REASONS)

    async def get_reason(self, id: str) -> Reason:
        """A reason; an error with the code ERR_REASON_NOT_FOUND where there is none."""
        return await self._call(GET_REASON, id=id)

    async def create_reason(self, reason: NewReason) -> Reason:
        """Make a reason. Sent once."""
        return await self._call(CREATE_REASON, reason)

    async def update_reason(self, id: str, name: str) -> Reason:
        """Give a reason another name."""
        return await self._call(UPDATE_REASON, ReasonName(name=name), id=id)

    async def delete_reason(self, id: str) -> Ack:
        """Delete a reason."""
        return await self._call(DELETE_REASON, id=id)
