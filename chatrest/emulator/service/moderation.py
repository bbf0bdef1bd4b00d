"""The operations of moderation: rules with their revisions, and reasons, as documents.

The files of keyword lists and of messages are gathered here.
"""

from typing import Any, Final

from ..store.documents import Document
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, serve_list
from .envelopes import acked, data_reply, root_acked
from .keyword_lists import KEYWORD_HANDLERS
from .moderation_engine import RULES as RULE_KIND
from .moderation_messages import MESSAGE_HANDLERS

_REVISIONS: Final = "moderation.revisions"


def _revised(context: Context, rule: Document) -> Document:
    """Give a rule a new revision, which is the active one, and keep the others."""
    revisions = context.store.documents.of(_REVISIONS, rule["id"])
    for old in revisions.list():
        revisions.put({**old, "active": False}, old["revisionId"])
    number = f"{rule['id']}-{len(revisions.list()) + 1}"
    defaults: dict[str, Any] = {
        "name": "",
        "description": "",
        "enabled": True,
        "conditions": [],
        "action": [],
    }
    rule = {**defaults, **rule, "active": True, "revisionId": number}
    revisions.put(rule, number)
    return rule


RULES: Final = DocumentCollection(
    kind=RULE_KIND, missing="ERR_RULE_NOT_FOUND", parameter="ruleId", written=_revised
)
REASONS: Final = DocumentCollection(kind="moderation.reasons", missing="ERR_REASON_NOT_FOUND")


def list_revisions(context: Context, call: Call) -> list[Document]:
    """Return the revisions of a rule, the newest first."""
    rule = RULES.get(context, call)
    return context.store.documents.of(_REVISIONS, rule["id"]).list()[::-1]


def delete_rule(context: Context, call: Call) -> Document:
    """Remove a rule and its revisions."""
    rule = RULES.delete(context, call)
    context.store.documents.of(_REVISIONS, rule["id"]).clear()
    return rule


def list_reasons(context: Context, call: Call) -> list[Document]:
    """Return the reasons; their times are texts in a list."""
    times = ("createdAt", "updatedAt")
    return [reason | {name: str(reason[name]) for name in times} for reason in REASONS.list(context, call)]


HANDLERS: Final[dict[str, Handler]] = {
    "moderation.list_rules": serve_list(RULES.list),
    "moderation.get_rule": serve(RULES.get, data_reply),
    "moderation.create_rule": serve(RULES.create, data_reply),
    "moderation.update_rule": serve(RULES.update, data_reply),
    "moderation.delete_rule": serve(delete_rule, acked("The rule has been deleted.")),
    "moderation.list_rule_revisions": serve_list(list_revisions),
    "moderation.list_reasons": serve_list(list_reasons),
    "moderation.get_reason": serve(REASONS.get, data_reply),
    "moderation.create_reason": serve(REASONS.create, data_reply),
    "moderation.update_reason": serve(REASONS.update, data_reply),
    "moderation.delete_reason": serve(REASONS.delete, root_acked("The reason has been deleted.")),
    **KEYWORD_HANDLERS,
    **MESSAGE_HANDLERS,
}
