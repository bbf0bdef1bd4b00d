"""The contents of a record that a site shows: its common members, texts, files, reactions, polls and calls.

A record may have any shape. Its common members are read from bytes at little cost; one with members of other
types is read as Python objects instead, so nothing is too odd to be shown. Contents that are not as expected
are left out, or are members that a table shows. All texts are harmless.
"""

import re
from base64 import b32encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field

from .._models.raw_json import REFUSED, read_value
from ..export.plan.message_ids import number
from ..times import MILLISECONDS_FROM

_AFTER_9999: Final = 253_402_300_800_000
_NAME: Final = 120
_MAX_MEMBERS: Final = 200
_MAX_REACTIONS: Final = 100
_STORED: Final = re.compile(r"files/([0-9a-f]{2})/([0-9a-f]{64})(?:\.([a-z0-9]{1,10}))?", re.ASCII)
_SIZE: Final = re.compile("[0-9]{1,18}")
_DURATION: Final = re.compile(r"(\d{1,4}):([0-5]\d):([0-5]\d)", re.ASCII)
_CONTENTS: Final = ("customData", "interactiveData")
KINDS: Final = {
    "image": "png jpg jpeg gif webp avif bmp",
    "video": "mp4 webm m4v mov ogv",
    "audio": "mp3 ogg oga m4a wav flac aac opus",
    "file": "pdf txt csv zip gz 7z rar doc docx xls xlsx ppt pptx odt ods odp rtf md log epub",
}
KIND_OF: Final = {extension: kind for kind, names in KINDS.items() for extension in names.split()}
"""By a file's extension. A file of any other one could act when it is opened: it is named `.bin`."""
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
"""Controls, the signs that turn the direction of writing, and halves of a pair."""
# Letters of both cases instead of a flag: then the search for its beginning is fast.
_LINK: Final = re.compile(r"<@[uU][iI][dD]:([^<>\s]{1,200})>|([hH][tT][tT][pP][sS]?://[^\s<>\"'⟨⟩]{1,2000})")
_AFTER_LINK: Final = ".,;:!?)]}»”’…"


# ── common members ──


class ShownData(Struct, gc=False, rename="camel"):
    text: Any = None
    caption: Any = None
    url: Any = None
    name: Any = None
    size: Any = None
    attachments: Any = None
    reactions: Any = None
    custom_data: Any = None
    moderation: Any = None


class ShownRecord(Struct, gc=False, rename="camel"):
    id: Any = None
    category: Any = None
    type: Any = None
    data: ShownData = field(default_factory=ShownData)
    edited_at: Any = None
    edited_by: Any = None
    deleted_at: Any = None
    deleted_by: Any = None
    quoted_message: Any = None
    flagged_by: Any = None
    flagged_count: Any = None


_S = TypeVar("_S", bound=Struct)
_SHOWN: Final = msgspec.json.Decoder(ShownRecord)


def rank_of(id: int | str) -> int:
    """Return the number of an id; for one that is no number a hash, which is larger than any number."""
    text = str(id)
    return (number(text) if text else None) or int.from_bytes(_hash(text, 8)) >> 2 | 1 << 62


def token(text: str) -> str:
    """Return the name of a file for a text that somebody else has chosen."""
    return b32encode(_hash(text, 10)).decode().lower()


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def milliseconds(time: int) -> int:
    """Return a timestamp in milliseconds; 0 for one that is no time of a message."""
    time = time if time >= MILLISECONDS_FROM else time * 1000
    return time if 0 < time < _AFTER_9999 else 0


def record_of(raw: bytes) -> dict[str, Any]:
    """Return the members of a record; none where it is no JSON object."""
    with suppress(ValueError, RecursionError):
        value = read_value(raw)
        if isinstance(value, dict):
            return value
    return {}


def shown_record_of(raw: bytes) -> ShownRecord:
    try:
        return _SHOWN.decode(raw)
    except REFUSED:
        record = record_of(raw)
        data = record.get("data")
        shown_data = _struct_of(ShownData, data if isinstance(data, dict) else {})
        return _struct_of(ShownRecord, record | {"data": shown_data})


def _struct_of(type: type[_S], members: dict[str, Any]) -> _S:
    fields = msgspec.structs.fields(type)
    return type(**{each.name: members[each.encode_name] for each in fields if each.encode_name in members})


# ── texts ──


def visible(text: str) -> str:
    """Return a text in which nothing acts on what surrounds it: such letters are written as their numbers."""
    if text.isprintable():  # which none of the hidden ones is
        return text
    return _HIDDEN.sub(_number, text.replace("\r\n", "\n"))


def visible_json(raw: bytes) -> str:
    """Return a record's JSON in the same way, with the escapes of JSON."""
    text = raw.decode(errors="replace")
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"


class TextPart(NamedTuple):
    text: str
    href: str = ""
    is_mention: bool = False


def segments(text: str, mention: Callable[[str], TextPart]) -> tuple[TextPart, ...]:
    """Divide a text at its mentions and at addresses of http and https; all else stays text.

    `mention` returns the segment of a uid.
    """
    parts, end = list[TextPart](), 0
    for match in _LINK.finditer(text):
        parts.append(TextPart(text[end : match.start()]))
        end = match.end()
        if match[1]:
            parts.append(mention(match[1]))
            continue
        address = match[2].rstrip(_AFTER_LINK)
        end = match.start() + len(address)
        parts.append(TextPart(address, address) if len(address) > len("https://") else TextPart(address))
    parts.append(TextPart(text[end:]))
    return tuple(part for part in parts if part.text)


def is_address(url: object) -> bool:
    return isinstance(url, str) and url[:8].lower().startswith(("http://", "https://"))


# ── other contents ──


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


class FileLink(NamedTuple):
    kind: str
    """image, video, audio or file."""
    name: str
    href: str
    """Below the site's folder where it has it, else its address; empty if that is no link."""
    stored: str
    """Its name in the export; empty if the site does not have it."""
    size: str
    digest: str = ""
    """The SHA-256 of one that the site has."""

    @property
    def extension(self) -> str:
        """Its label, such as `pdf`."""
        extension = self.name.rpartition(".")[2].lower()
        return extension if extension in KIND_OF else self.kind

    @property
    def is_picture(self) -> bool:
        """True for a picture that the site shows."""
        return bool(self.stored) and self.kind == "image"


def file_link(file: dict[str, Any], stored: str, type: str) -> FileLink:
    """Return a file of a message of this type; `stored` is its name in the export."""
    url = file.get("url")
    name = visible(text_of(file.get("name"))) or visible(text_of(url)).rpartition("/")[2] or "file"
    size = str(file.get("size"))
    text = size_text(int(size)) if _SIZE.fullmatch(size) else ""
    if match := _STORED.fullmatch(stored):
        extension = match[3] if match[3] in KIND_OF else "bin"
        href = f"files/{match[1]}/{match[2]}.{extension}"
        return FileLink(KIND_OF.get(extension, "file"), name[:_NAME], href, stored, text, match[2])
    kind = type if type in KINDS else "file"
    return FileLink(kind, name[:_NAME], visible(str(url)) if is_address(url) else "", "", text)


def size_text(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def reactions_of(counts: Any) -> Iterator[tuple[str, str]]:
    for each in (counts if isinstance(counts, list) else [])[:_MAX_REACTIONS]:
        if isinstance(each, dict) and isinstance(each.get("reaction"), str) and "count" in each:
            yield visible(each["reaction"])[:30], f"{each['count']}"[:12]


class CallState(NamedTuple):
    session: str
    state: str
    seconds: int
    """From its begin to its end; 0 where one of them is not known."""


def call_of(data: dict[str, Any]) -> CallState:
    entity = object_of(object_of(object_of(data.get("entities")).get("on")).get("entity"))
    state = text_of(data.get("action")) or text_of(entity.get("status"))
    session = text_of(entity.get("sessionid")) or text_of(entity.get("sessionId"))
    begin = next((entity[each] for each in ("startedAt", "joinedAt") if type(entity.get(each)) is int), 0)
    end, seconds = entity.get("endedAt"), 0
    if match := _DURATION.fullmatch(text_of(entity.get("totalDuration"))):
        seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    elif type(end) is int and 0 < begin < end:
        seconds = (end - begin) // (1 if end < 10**11 else 1000)
    return CallState(session, visible(state[:_NAME]), seconds)


def duration_text(seconds: int) -> str:
    """Return a duration such as `1 h 5 min`, `20 min 34 s` or `9 s`."""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else seconds % 60, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def members_of(data: dict[str, Any], record: dict[str, Any], most: int) -> Iterator[tuple[str, str]]:
    """Yield the members of a content that has no other form, such as `question` and `Pizza?`.

    After `most` letters the rest is left out, and the last member says so.
    """
    contents = (data[name] for name in _CONTENTS if name in data)
    others_than_text = {name: each for name, each in data.items() if name != "text"}
    pending: list[tuple[str, Any]] = [("", next(contents, others_than_text or record))]
    for _ in range(_MAX_MEMBERS):
        if not pending:
            return
        name, value = pending.pop(0)
        if isinstance(value, dict):
            inner = [(f"{name} {key}".strip(), each) for key, each in value.items() if key != "entities"]
            pending[:0] = inner
        elif isinstance(value, list):
            pending[:0] = [(f"{name} {position}".strip(), each) for position, each in enumerate(value, 1)]
        elif value not in (None, ""):
            text = str(value)
            if (most := most - len(text)) < 0:
                yield "…", "the rest is in its source"
                return
            yield visible(name[:_NAME]), visible(text)
