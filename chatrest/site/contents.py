"""The content of a message beside its text: files, reactions, polls, locations, calls, and any other members.

Each function reads a decoded record of any shape; what is not as expected is left out, or is a member that a
table shows. All texts are harmless.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .text import is_address, visible

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
            pending[:0] = [(f"{name} {place}".strip(), each) for place, each in enumerate(value, 1)]
        elif value not in (None, ""):
            text = str(value)
            if (most := most - len(text)) < 0:
                yield "…", "the rest is in its source"
                return
            yield visible(name[:_NAME]), visible(text)
