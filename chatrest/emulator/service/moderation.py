"""The operations of moderation: rules with their revisions, reasons, keyword lists; what rules do; messages
that users flagged, that rules blocked, or that were handed in.

The emulator looks at texts alone. A rule meets a message where it is enabled, all its filters let the message
in, and one of its conditions holds; a condition about images, videos or custom data never does. A value is a
text, a list of texts, or the id of a keyword list.

Keyword lists are made of a form, or of JSON. Terms come as a comma list, as an array, or in a file of
comma-separated values. Quotes stay inside the terms of a file, and a list of lists leaks members of the
service's database.

Of messages the emulator has chosen:

- A message that is handed in stays `pending`, unless a rule meets it: then it is `disapproved` and blocked.
  So is one of the app's own that is sent; without such a rule those have no status.
- Messages that were handed in are not in the lists of the app's own messages.
- A user's second flag on a message replaces the first. A review takes a message out of its list; a blocked
  one is then in the list of those reviewed.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec.json import decode

from ..store.documents import Document
from ..store.message_index import conversation_id
from .context import Context, Handler, ServiceCall
from .documents import DocumentCollection, selected
from .groups import APP, party_record
from .messages import message_record
from .refusals import refused
from .replies import PositionedPages, acked, limited, root_acked, then
from .users import user_record

# ── what rules do ──


RULE_KIND: Final = "moderation.rules"
BLOCKED: Final = "moderation.blocked"
KEYWORD_LISTS: Final = "moderation.keywords"
_REFERENCES: Final = ("isKeywordReferencePresent", "isKeywordsReferencePresent", "isListReferencePresent")
_OPERATORS: Final[Mapping[str, Callable[[str, list[str]], bool]]] = {
    "equals": lambda served, values: served == values[0],
    "notequals": lambda served, values: served != values[0],
    "in": lambda served, values: served in values,
    "notin": lambda served, values: served not in values,
    "startswith": lambda served, values: served.startswith(values[0]),
    "endswith": lambda served, values: served.endswith(values[0]),
    "lessthan": lambda served, values: served < values[0],
    "greaterthan": lambda served, values: served > values[0],
}


class Match(NamedTuple):
    rule: Mapping[str, Any]
    condition: Mapping[str, Any]


def matching_rule(context: Context, message: Mapping[str, Any]) -> Match | None:
    text = message.get("data", {}).get("text")
    if not isinstance(text, str):
        return None
    for rule in context.store.documents.of(RULE_KIND).list():
        if rule.get("enabled", True) and all(
            _is_met(context, each, message) for each in rule.get("filters", ())
        ):
            for condition in rule.get("conditions", ()):
                if _holds(context, condition, text):
                    return Match(rule, condition)
    return None


def disapproved(data: Mapping[str, Any], match: Match) -> Document:
    rule = {"id": match.rule["id"], "name": match.rule.get("name", "")}
    return {**data, "moderation": {"status": "disapproved", "rule": rule}}


def block(context: Context, message: Mapping[str, Any], match: Match) -> None:
    held = {
        "ruleId": match.rule["id"],
        "ruleName": match.rule.get("name", ""),
        "revisionId": match.rule.get("revisionId", ""),
        "condition": {**match.condition, "weight": 1},
        "message": message,
        "action": match.rule.get("action") or ["blockMessage"],
        "createdAt": context.now,
        "updatedAt": context.now,
    }
    context.store.documents.of(BLOCKED).put(held, message["id"])


def _holds(context: Context, condition: Mapping[str, Any], text: str) -> bool:
    if condition.get("operand", "text") != "text":
        return False
    terms = _texts(condition.get("value"))
    if any(condition.get(name) for name in _REFERENCES):
        lists = (context.store.documents.of(KEYWORD_LISTS).get(key) or {} for key in terms)
        terms = [term for each in lists for term in _texts(each.get("searchTerms"))]
    is_pattern, is_whole = condition.get("category") == "pattern", condition.get("operator") == "equals"
    return any(_matches(term, text, is_pattern=is_pattern, is_whole=is_whole) for term in terms if term)


def _matches(term: str, text: str, *, is_pattern: bool, is_whole: bool) -> bool:
    if not is_pattern:
        return text.casefold() == term.casefold() if is_whole else term.casefold() in text.casefold()
    try:
        pattern = re.compile(term)
    except re.error:
        return False
    return bool(pattern.fullmatch(text) if is_whole else pattern.search(text))


def _is_met(context: Context, filter: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    party, entity, operand = filter["type"], filter["entity"], filter["operand"]
    is_of_party = entity == "user" if party == "sender" else entity == message.get("receiverType")
    operator = _OPERATORS.get(filter["operator"].replace(" ", "").lower())
    if not is_of_party or operator is None:
        return False
    record = context.store.people.entity(entity, str(message.get(party)))["entity"]
    served = message.get(party) if operand in ("uid", "guid") else record.get(operand, "")
    values = [part.strip() for part in filter["value"].split(",")]
    return any(operator(each, values) for each in _texts(served) or [""])


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value]
    return [str(value)] if isinstance(value, str | int) else []


# ── rules and reasons ──


_REVISIONS: Final = "moderation.revisions"


def _revised(context: Context, rule: Document) -> Document:
    revisions = context.store.documents.of(_REVISIONS, rule["id"])
    for old in revisions.list():
        revisions.put({**old, "active": False}, old["revisionId"])
    number = f"{rule['id']}-{len(revisions.list()) + 1}"
    defaults: Document = {"name": "", "description": "", "enabled": True, "conditions": [], "action": []}
    rule = {**defaults, **rule, "active": True, "revisionId": number}
    revisions.put(rule, number)
    return rule


RULES: Final = DocumentCollection(
    kind=RULE_KIND, missing="ERR_RULE_NOT_FOUND", parameter="ruleId", completed=_revised
)
REASONS: Final = DocumentCollection(kind="moderation.reasons", missing="ERR_REASON_NOT_FOUND")


def list_revisions(call: ServiceCall) -> list[Document]:
    rule = RULES.get(call)
    return call.store.documents.of(_REVISIONS, rule["id"]).list()[::-1]


def delete_rule(call: ServiceCall) -> None:
    rule = RULES.delete(call)
    call.store.documents.of(_REVISIONS, rule["id"]).clear()


def list_reasons(call: ServiceCall) -> list[Document]:
    times = ("createdAt", "updatedAt")
    return [reason | {name: str(reason[name]) for name in times} for reason in REASONS.list(call)]


# ── keyword lists ──


def _completed_list(context: Context, keyword_list: Document) -> Document:
    """Return a list with its terms, of a text or of a file, as a list, and with its next revision."""
    number = int(str(keyword_list.get("revisionId", "-0")).rpartition("-")[2]) + 1
    lines = keyword_list.pop("file", None)
    terms = keyword_list.get("searchTerms", []) if lines is None else lines.replace("\n", ",")
    parts = terms.split(",") if isinstance(terms, str) else terms
    is_csv = keyword_list.get("isCSV", False) if isinstance(terms, list) else lines is not None
    return {
        "name": "", **keyword_list, "isCSV": is_csv,
        "searchTerms": [part.strip() for part in parts if part.strip()],
        "active": True, "revisionId": f"{keyword_list['id']}-{number}",
    }  # fmt: skip


LISTS: Final = DocumentCollection(
    kind=KEYWORD_LISTS, missing="ERR_KEYWORD_NOT_FOUND", parameter="keywordId", completed=_completed_list
)


def list_keyword_lists(call: ServiceCall) -> list[Document]:
    """Return the lists, each with what the service leaks of its database."""
    app = call.app["id"]
    return [{**each, "_id": f"{app}_{each['id']}", "appId": app, "__v": 0} for each in LISTS.list(call)]


# ── messages ──


_FLAGS: Final = "moderation.flags"
_FLAGGED: Final = "moderation.flagged"
_REVIEWED: Final = "moderation.reviewed"
_FIRST_ID: Final = 10**9
"""The first id of messages that are handed in: far from those of the app's own."""
_PAGES: Final = PositionedPages(member="id", parameter="id", beside=("sentAt",), default_size=100)


# ── flags of users ──


def flag_message(call: ServiceCall) -> None:
    documents, message_id, uid = call.store.documents, call.path["id"], call.acting_user or ""
    message = decode(message_record(call, message_id), type=Document)
    reason = documents.of(REASONS.kind).get(call.body["id"])
    if reason is None:
        raise refused("ERR_REASON_NOT_FOUND", call.body["id"])
    flag = {
        **selected(call.store.people.entity("user", uid)["entity"], ("uid", "name", "avatar", "role")),
        "reasonId": reason["id"], "reasonName": reason["name"], "flaggedAt": call.now,
        **selected(reason, ("description",)), **selected(call.body, ("remark",)),
    }  # fmt: skip
    documents.of(_FLAGS, message_id).put(flag, uid)
    documents.of(_FLAGGED).put(message, message_id)


def list_flagged(call: ServiceCall) -> list[Document]:
    documents = call.store.documents
    listed = []
    for message in documents.of(_FLAGGED).list():
        flags = documents.of(_FLAGS, message["id"]).list()
        flagged = {"appId": call.app["id"], "flaggedBy": flags, "flaggedCount": len(flags)}
        listed.append({**message, **flagged})
    return listed


def review_flagged(call: ServiceCall) -> None:
    message_id = call.path["id"]
    if not call.store.documents.of(_FLAGGED).delete(message_id):
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", message_id)
    call.store.documents.of(_FLAGS, message_id).clear()


# ── messages that are handed in ──


MESSAGES: Final = DocumentCollection(kind="moderation.messages", missing="ERR_MESSAGE_ID_NOT_FOUND")


def _moderated(context: Context, message: Document) -> Document:
    match, data = matching_rule(context, message), message.get("data", {})
    context.store.documents.of(BLOCKED).delete(message["id"])
    if match is None:
        message = {**message, "data": {**data, "moderation": {"status": "pending"}}}
    else:
        message = {**message, "data": disapproved(data, match)}
        block(context, message, match)
    context.store.documents.of(MESSAGES.kind).put(message, message["id"])
    return message


def create_message(call: ServiceCall) -> Document:
    """Take a message for moderation; its parties exist, or come with their details."""
    kind, sender, receiver = (call.body[name] for name in ("receiverType", "sender", "receiver"))
    if "senderUserDetails" not in call.body:
        user_record(call, sender)
    if f"receiver{kind.capitalize()}Details" not in call.body:
        party_record(call, kind, receiver)
    is_group, at = kind == "group", call.body.get("sentAt", call.now)
    message = {
        "id": str(_FIRST_ID + call.store.documents.next_number()),
        "conversationId": f"group_{receiver}" if is_group else conversation_id(sender, receiver),
        "category": "message", "type": "text", "data": {},
        **{name: value for name, value in call.body.items() if not name.endswith("Details")},
        "sentAt": at, "updatedAt": at,
    }  # fmt: skip
    return _moderated(call, message)


def update_message(call: ServiceCall) -> Document:
    old = MESSAGES.get(call)
    edited = {"editedAt": call.now, "editedBy": APP, "updatedAt": call.now}
    return _moderated(call, {**old, **call.body, **edited})


def delete_message(call: ServiceCall) -> None:
    message = MESSAGES.delete(call)
    call.store.documents.of(BLOCKED).delete(message["id"])


def list_messages(call: ServiceCall) -> list[Document]:
    """Return the messages that were handed in; a page of them leads on by `meta.next {affix, sentAt, id}`."""
    wanted = selected(call.query, ("sender", "category", "type"))
    for name, kind in (("receiverUID", "user"), ("receiverGUID", "group")):
        if name in call.query:
            wanted |= {"receiver": call.query[name], "receiverType": kind}
    status = call.query.get("moderationStatus")
    return [
        message
        for message in MESSAGES.list(call)
        if wanted == selected(message, wanted) and status in (None, message["data"]["moderation"]["status"])
    ]


# ── blocked messages ──


def _documents(kind: str) -> Handler:
    return lambda call: call.store.documents.of(kind).list()


def review_blocked(call: ServiceCall) -> None:
    documents, message_id = call.store.documents, call.path["id"]
    held = documents.of(BLOCKED).get(message_id)
    if held is None:
        raise refused("ERR_MESSAGE_ID_NOT_FOUND", message_id)
    documents.of(BLOCKED).delete(message_id)
    message, is_approved = held["message"], call.body["status"] == "approved"
    message["data"]["moderation"]["status"] = "approved" if is_approved else "disapproved"
    if documents.of(MESSAGES.kind).get(message_id) is not None:
        documents.of(MESSAGES.kind).put(message, message_id)
    elif call.store.message(int(message_id)) is not None:
        call.store.rewrite({int(message_id): message})
    reviewed = {"blockedAt": f"{held['createdAt']}.0", "appId": call.app["id"], "updatedAt": call.now}
    documents.of(_REVIEWED).put({**held, **reviewed}, message_id)


HANDLERS: Final[dict[str, Handler]] = {
    **RULES.handlers("moderation.rule"),
    "moderation.list_rules": limited(RULES.list),
    "moderation.delete_rule": then(delete_rule, acked("The rule has been deleted.")),
    "moderation.list_rule_revisions": limited(list_revisions),
    **REASONS.handlers("moderation.reason", deleted=root_acked("The reason has been deleted.")),
    "moderation.list_reasons": limited(list_reasons),
    **LISTS.handlers("moderation.keyword_list", deleted=acked("The keyword list has been deleted.")),
    "moderation.list_keyword_lists": limited(list_keyword_lists),
    "moderation.flag_message": then(flag_message, root_acked("The message has been flagged.")),
    "moderation.list_flagged_messages": limited(list_flagged, 50),
    "moderation.review_flagged_message": then(review_flagged, root_acked("The message has been reviewed.")),
    "moderation.list_reviewed_messages": limited(_documents(_REVIEWED), 50),
    "moderation.list_blocked_messages": limited(_documents(BLOCKED)),
    "moderation.review_blocked_message": then(review_blocked, acked("The message has been reviewed.")),
    "moderation.list_messages": _PAGES.serve(list_messages),
    "moderation.get_message": MESSAGES.get,
    "moderation.create_message": create_message,
    "moderation.update_message": update_message,
    "moderation.delete_message": then(delete_message, acked("The message has been deleted.")),
}
