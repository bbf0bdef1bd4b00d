"""A record as a readable line: who, when, what, and the marks that people look for.

A record may be of any shape, as users write parts of it: what is not as documented is left out, or shown as
JSON. Nothing here is escaped; `streams.visible` does that with the whole line.
"""

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any, Final

from .._models.raw_json import write_value
from ..errors import RequestInvalidError
from ..times import to_datetime

_MENTION: Final = re.compile(r"<@(?:uid|all):([^<>\s]+)>")
LINE_TIME: Final = "%Y-%m-%d %H:%M"
_SPACE: Final = "  "


def member(value: Any, *names: str) -> Any:
    """Return a member of nested objects; None if one of them is no object or has no such member."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def local_time(stamp: Any, form: str, zone: tzinfo | None = None) -> str:
    """Return a timestamp in seconds or milliseconds as local time; "" for what is no time."""
    try:
        moment = to_datetime(stamp)
        return "" if moment is None or not stamp else moment.astimezone(zone).strftime(form)
    except (RequestInvalidError, OverflowError, ValueError, OSError):
        return ""


def user_line(user: Any, zone: tzinfo | None = None) -> str:
    """Return `alice  Alice Liddell  online  moderator  last active 2026-11-22 12:11`, as far as known."""
    last_active = local_time(member(user, "lastActiveAt"), LINE_TIME, zone)
    parts = [_text(member(user, name)) for name in ("uid", "name", "status", "role")]
    parts += [
        f"last active {last_active}" if last_active else "",
        "(deactivated)" if member(user, "deactivatedAt") else "",
    ]
    return _SPACE.join(filter(None, parts))


def message_line(message: Any, zone: tzinfo | None = None) -> str:
    """Return `2026-11-22 12:11  alice → bob  hello  (edited) 👍2`."""
    if not isinstance(member(message, "category"), str):  # such as the counts of unread messages
        return _json(message)
    sender, receiver = (_text(member(message, name)) or "?" for name in ("sender", "receiver"))
    group = "#" if member(message, "receiverType") == "group" else ""
    when = local_time(member(message, "sentAt"), LINE_TIME, zone) or "-"
    marks = " ".join(_marks(message))
    return _SPACE.join(filter(None, (when, f"{sender} → {group}{receiver}", message_text(message), marks)))


def message_text(message: Any) -> str:
    """Return what a message says, of any category: its text, its files, an action, a call, or its JSON."""
    if member(message, "deletedAt"):
        return "(deleted)"
    data, category = member(message, "data"), member(message, "category")
    kind = _text(member(message, "type"))
    text = _MENTION.sub(r"@\1", _text(member(data, "text")) or _text(member(data, "caption")))
    match category:
        case "message":
            return " ".join(filter(None, (text, *_files(data, kind))))
        case "action":
            return f"[{_action(data)}]"
        case "call":
            state = member(data, "action") or member(data, "entities", "on", "entity", "status")
            return f"[{' '.join(filter(None, (kind, 'call', _text(state))))}]"
        case "custom" | "interactive":
            content = member(data, "customData") if category == "custom" else member(data, "interactiveData")
            return f"[{kind}] {text or (_json(content) if content is not None else '')}".strip()
    return f"[{_text(category)} {kind}] {_json(data)}"


def _files(data: Any, kind: str) -> Iterator[str]:
    attachments = member(data, "attachments")
    for file in attachments if isinstance(attachments, list) else [data]:
        url = _text(member(file, "url"))
        name = _text(member(file, "name")) or url.partition("?")[0].rpartition("/")[2]
        if name or (kind not in ("", "text") and file is data):
            yield f"[{' '.join(filter(None, (kind if kind != 'text' else 'file', name)))}]"


def _action(data: Any) -> str:
    """Return `alice added bob`, or `alice edited message 12`."""
    entities = member(data, "entities")
    subject, target = (member(entities, role, "entity") for role in ("by", "on"))
    thing = _party(target)
    if not thing and (number := member(target, "id")) is not None:
        thing = f"message {_text(number)}"
    return " ".join(filter(None, (_party(subject), _text(member(data, "action")), thing)))


def _party(entity: Any) -> str:
    return _text(member(entity, "uid")) or _text(member(entity, "guid"))


def _marks(message: Any) -> Iterator[str]:
    if member(message, "deletedAt"):
        return
    if member(message, "editedAt"):
        yield "(edited)"
    if parent := member(message, "parentId"):
        yield f"(reply to {_text(parent)})"
    if isinstance(replies := member(message, "replyCount"), int) and replies > 0:
        yield f"({replies} {'reply' if replies == 1 else 'replies'})"
    reactions = member(message, "data", "reactions")
    for each in reactions if isinstance(reactions, list) else ():
        if reaction := _text(member(each, "reaction")):
            yield f"{reaction}{_text(member(each, 'count'))}"


def _text(value: Any) -> str:
    """Return a text or number; "" for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _json(value: Any) -> str:
    return "" if value is None else write_value(value).decode()


def iso_time(stamp: Any) -> str | None:
    """Return a timestamp as ISO 8601 in UTC, to the second; None for what is no time."""
    try:
        moment: datetime | None = to_datetime(stamp)
    except RequestInvalidError:
        return None
    return None if moment is None else moment.isoformat(timespec="seconds").replace("+00:00", "Z")
