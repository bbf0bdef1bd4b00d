"""The operations of moderation: rules with their revisions, reasons, keyword lists; and what rules do.

The emulator looks at texts alone. A rule meets a message where it is enabled, all its filters let the message
in, and one of its conditions holds; a condition about images, videos or custom data never does. A value is a
text, a list of texts, or the id of a keyword list.

Keyword lists are made of a form, or of JSON. Terms come as a comma list, as an array, or in a file of
comma-separated values. Quotes stay inside the terms of a file, and a list of lists leaks members of the
service's database.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from msgspec import UNSET, UnsetType, structs

from ..store.documents import Document
from .bodies import Body, UploadedFile, read_form
from .context import Call, Context, Handler
from .documents import DocumentCollection, serve, serve_list
from .envelopes import acked, data_reply, root_acked

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
    """A rule that meets a message, and the condition that holds."""

    rule: Mapping[str, Any]
    condition: Mapping[str, Any]


def matching_rule(context: Context, message: Mapping[str, Any]) -> Match | None:
    """Return the first rule that meets a message; None where none does."""
    text = message.get("data", {}).get("text")
    if not isinstance(text, str):
        return None
    for rule in context.store.documents.of(RULE_KIND).list():
        if rule.get("enabled", True) and all(
            _is_met(context, each, message) for each in _objects(rule, "filters")
        ):
            for condition in _objects(rule, "conditions"):
                if _holds(context, condition, text):
                    return Match(rule, condition)
    return None


def disapproved(data: Mapping[str, Any], match: Match) -> dict[str, Any]:
    """Return the data of a message that a rule meets, with the rule and the status."""
    rule = {"id": match.rule["id"], "name": match.rule.get("name", "")}
    return {**data, "moderation": {"status": "disapproved", "rule": rule}}


def block(context: Context, message: Mapping[str, Any], match: Match) -> None:
    """Put a message that a rule meets among the blocked ones."""
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
    party, entity = str(filter.get("type")), str(filter.get("entity"))
    is_of_party = entity == "user" if party == "sender" else entity == message.get("receiverType")
    name = {"user": "uid", "group": "guid"}.get(entity, "")
    operator = _OPERATORS.get(str(filter.get("operator")).replace(" ", "").lower())
    values = [part.strip() for value in _texts(filter.get("value")) for part in value.split(",")]
    if not (is_of_party and operator and values):
        return False
    record = context.store.people.entity(entity, str(message.get(party)))["entity"]
    served = record.get(str(filter.get("operand")), "")
    if filter.get("operand") == name:
        served = message.get(party)
    return any(operator(each, values) for each in _texts(served) or [""])


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(each) for each in value]
    return [str(value)] if isinstance(value, str | int) else []


def _objects(document: Mapping[str, Any], member: str) -> Iterable[Mapping[str, Any]]:
    return [each for each in document.get(member) or () if isinstance(each, dict)]


# ── rules and reasons ──


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
    rule = RULES.delete(context, call)
    context.store.documents.of(_REVISIONS, rule["id"]).clear()
    return rule


def list_reasons(context: Context, call: Call) -> list[Document]:
    """Return the reasons; their times are texts in a list."""
    times = ("createdAt", "updatedAt")
    return [reason | {name: str(reason[name]) for name in times} for reason in REASONS.list(context, call)]


# ── keyword lists ──


class KeywordListBody(Body):
    """POST and PUT of a keyword list."""

    category: Literal["word", "pattern", "sentence-similarity"]
    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    search_terms: str | list[str] | UnsetType = UNSET
    disallowed_sentences: list[str] | UnsetType = UNSET
    file: UploadedFile | UnsetType = UNSET


def _read_list(call: Call) -> Document:
    """Return the members of a form as a document, with the terms as a list."""
    body = read_form(call.headers.get("content-type", ""), call.body, KeywordListBody)
    document: dict[str, Any] = {
        wire: value
        for wire, value in zip(body.__struct_encode_fields__, structs.astuple(body), strict=True)
        if value is not UNSET and wire not in ("file", "searchTerms")
    }
    if isinstance(body.file, UploadedFile):
        text = body.file.data.decode(errors="replace")
        document |= {"isCSV": True, "searchTerms": _terms(text.splitlines())}
    elif body.search_terms is not UNSET:
        served = body.search_terms
        terms = _terms([served] if isinstance(served, str) else served)
        document |= {"isCSV": False, "searchTerms": terms}
    return document


def _terms(lines: list[str]) -> list[str]:
    terms = [term.strip() for line in lines for term in line.split(",")]
    return [term for term in terms if term]


def _revised_list(context: Context, keyword_list: Document) -> Document:
    number = int(str(keyword_list.get("revisionId", "-0")).rpartition("-")[2]) + 1
    defaults: dict[str, Any] = {"name": "", "isCSV": False, "searchTerms": []}
    return {**defaults, **keyword_list, "active": True, "revisionId": f"{keyword_list['id']}-{number}"}


LISTS: Final = DocumentCollection(
    kind=KEYWORD_LISTS,
    missing="ERR_KEYWORD_NOT_FOUND",
    parameter="keywordId",
    read=_read_list,
    written=_revised_list,
)


def list_keyword_lists(context: Context, call: Call) -> list[Document]:
    """Return the lists, each with what the service leaks of its database."""
    app = context.app["id"]
    return [
        {**each, "_id": f"{app}_{each['id']}", "appId": app, "__v": 0} for each in LISTS.list(context, call)
    ]


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
    "moderation.list_keyword_lists": serve_list(list_keyword_lists),
    "moderation.get_keyword_list": serve(LISTS.get, data_reply),
    "moderation.create_keyword_list": serve(LISTS.create, data_reply),
    "moderation.update_keyword_list": serve(LISTS.update, data_reply),
    "moderation.delete_keyword_list": serve(LISTS.delete, acked("The keyword list has been deleted.")),
}
