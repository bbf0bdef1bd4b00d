"""The moderation of a text by the rules that are stored: which rule meets a message, and what comes of it.

The emulator looks at texts alone. A rule meets a message where it is enabled, all its filters let the message
in, and one of its conditions holds; a condition about images, videos or custom data never does. A value is a
text, a list of texts, or the id of a keyword list.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from .context import Context

RULES: Final = "moderation.rules"
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
    for rule in context.store.documents.of(RULES).list():
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
    """Return True where a filter lets a message in."""
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
    """Return the texts of a text, a number or a list."""
    if isinstance(value, list):
        return [str(each) for each in value]
    return [str(value)] if isinstance(value, str | int) else []


def _objects(document: Mapping[str, Any], member: str) -> Iterable[Mapping[str, Any]]:
    return [each for each in document.get(member) or () if isinstance(each, dict)]
