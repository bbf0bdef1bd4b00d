"""The filters by the content of a message, and the records that show that such a filter was ignored.

Only what a message shows counts, and an honest server is never reported:

| filter                              | a message does not fit whose                                        |
|-------------------------------------|---------------------------------------------------------------------|
| `search_key`                        | text has the beginning of none of the words                         |
| `tags`                              | tags are served, and are others                                     |
| `has_attachments`                   | type is text, without attachments                                   |
| `attachment_types`                  | type is text, without attachments, or whose files are of other kinds|
| `has_mentions`, `mentioned_uids`    | text has no `@`, and no mentions; or whose mentions are of others   |
| `has_links`                         | text has no address                                                 |

The others cannot be compared: a list does not show who has read, saved or reacted.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from unicodedata import combining, normalize

_STEM: Final = 4
"""Characters of a word that a search finds in any form of it."""
_ADDRESS: Final = re.compile(r"\S\.\S|://")
_KINDS: Final = frozenset({"image", "video", "audio"})

Json: TypeAlias = Mapping[str, Any]


def contradicts(wire: str, wanted: Any, message: Json) -> bool:
    """Return True for a message, as JSON, that shows that the filter `wire` was ignored."""
    data = message.get("data")
    return _RULES[wire](wanted, message, data if isinstance(data, dict) else {})


def _search_key(wanted: Any, message: Json, data: Json) -> bool:
    words, text = _folded(str(wanted)).split(), _folded(_text(data))
    return bool(words and text) and not any(word[:_STEM] in text for word in words)


def _tags(wanted: Any, message: Json, data: Json) -> bool:
    tags = message.get("tags")
    return isinstance(tags, list) and bool(tags) and not {*map(str, tags)} & {*_values(wanted)}


def _has_attachments(wanted: Any, message: Json, data: Json) -> bool:
    return _is_text(message) and not (data.get("attachments") or data.get("url"))


def _attachment_types(wanted: Any, message: Json, data: Json) -> bool:
    if _has_attachments(True, message, data):
        return True
    files = data.get("attachments")
    types = (
        [file.get("mimeType") for file in files if isinstance(file, dict)] if isinstance(files, list) else []
    )
    kinds = {kind.partition("/")[0] for kind in types if isinstance(kind, str)} or {str(message.get("type"))}
    return kinds <= _KINDS and not kinds & {*_values(wanted), "file"}


def _has_mentions(wanted: Any, message: Json, data: Json) -> bool:
    return _is_text(message) and not data.get("mentions") and bool(text := _text(data)) and "@" not in text


def _mentioned_uids(wanted: Any, message: Json, data: Json) -> bool:
    mentions = data.get("mentions")
    if not (isinstance(mentions, dict) and mentions):
        return _has_mentions(True, message, data)
    return not {uid.casefold() for uid in mentions} & {uid.casefold() for uid in _values(wanted)}


def _has_links(wanted: Any, message: Json, data: Json) -> bool:
    return _is_text(message) and bool(text := _text(data)) and _ADDRESS.search(text) is None


def _is_text(message: Json) -> bool:
    return message.get("category") == "message" and message.get("type") == "text"


def _text(data: Json) -> str:
    text = data.get("text")
    return text if isinstance(text, str) else ""


def _values(wanted: Any) -> list[str]:
    return wanted.split(",") if isinstance(wanted, str) else [str(each) for each in wanted]


def _folded(text: str) -> str:
    """Return a text without case and accents, as searches compare it."""
    return "".join([char for char in normalize("NFKD", text.casefold()) if not combining(char)])


_RULES: Final[Mapping[str, Callable[[Any, Json, Json], bool]]] = {
    "searchKey": _search_key,
    "tags": _tags,
    "hasAttachments": _has_attachments,
    "attachmentTypes": _attachment_types,
    "hasMentions": _has_mentions,
    "mentionedUids": _mentioned_uids,
    "hasLinks": _has_links,
}
CONTENT_FILTERS: Final = {
    "searchKey": "search_key",
    "tags": "tags",
    "hasAttachments": "has_attachments",
    "attachmentTypes": "attachment_types",
    "hasMentions": "has_mentions",
    "mentionedUids": "mentioned_uids",
    "hasLinks": "has_links",
}
"""The filters of this file: their names in the query, and in `MessageQuery`."""
