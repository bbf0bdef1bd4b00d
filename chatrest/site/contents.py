"""The content of a message beside its text: files, reactions, polls, locations, calls, and any other members.

Each function reads a decoded record of any shape; what is not as expected is left out, or is a member that a
table shows. All texts are harmless.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from typing import Any, Final, NamedTuple

from .picture import Picture
from .text import is_address, shown

_NAME: Final = 120
_MOST_OPTIONS: Final = 50
_MOST_MEMBERS: Final = 200
_MOST_REACTIONS: Final = 100
MOST_BYTES: Final = 1_000_000
MOST_PIXELS: Final = 4_096
"""The largest face that is shown: a page may have some hundred of them."""
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


# ── files ──


class FileLink(NamedTuple):
    """A file of a message."""

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
    width: int = 0
    """Of a picture, in pixels; 0 where that is not known."""
    height: int = 0

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
    name = shown(text_of(file.get("name"))) or shown(text_of(url)).rpartition("/")[2] or "file"
    size = str(file.get("size"))
    text = size_text(int(size)) if _SIZE.fullmatch(size) else ""
    if match := _STORED.fullmatch(stored):
        extension = match[3] if match[3] in KIND_OF else "bin"
        href = f"files/{match[1]}/{match[2]}.{extension}"
        return FileLink(KIND_OF.get(extension, "file"), name[:_NAME], href, stored, text, match[2])
    kind = type if type in KINDS else "file"
    return FileLink(kind, name[:_NAME], shown(str(url)) if is_address(url) else "", "", text)


def face_link(stored: str, picture: Picture) -> str:
    """Return where a site has a face, below its folder; empty for a file that is not shown as such."""
    match = _STORED.fullmatch(stored)
    fits = picture.bytes <= MOST_BYTES and max(picture.width, picture.height) <= MOST_PIXELS
    return f"files/{match[1]}/{match[2]}.{picture.extension}" if match and picture.is_whole and fits else ""


def size_text(size: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


# ── reactions ──


def reactions_of(counts: Any) -> Iterator[tuple[str, str]]:
    """Yield reactions with their counts."""
    for each in (counts if isinstance(counts, list) else [])[:_MOST_REACTIONS]:
        if isinstance(each, dict) and isinstance(each.get("reaction"), str) and "count" in each:
            yield shown(each["reaction"])[:30], f"{each['count']}"[:12]


# ── polls and locations ──


class PollOption(NamedTuple):
    text: str
    votes: int
    share: int
    """Of all votes, in percent."""


class Poll(NamedTuple):
    question: str
    options: tuple[PollOption, ...]
    votes: int


def poll_of(data: dict[str, Any]) -> Poll | None:
    """Return the poll of a message's data; None if it is another content."""
    content = object_of(data.get("customData"))
    question, options = text_of(content.get("question")), content.get("options")
    listed = _options(options)
    if not (question and listed):
        return None
    injected = object_of(object_of(data.get("metadata")).get("@injected"))
    results = object_of(object_of(object_of(injected.get("extensions")).get("polls")).get("results"))
    own = {key: _votes(each) for key, each in _options(results.get("options")).items()}
    votes = own or _cast(content.get("votes")) or {key: _votes(each) for key, each in listed.items()}
    total = sum(votes.get(key, 0) for key in listed)
    return Poll(
        shown(question[: 10 * _NAME]),
        tuple(
            PollOption(_option_text(each), votes.get(key, 0), round(100 * votes.get(key, 0) / (total or 1)))
            for key, each in listed.items()
        ),
        total,
    )


def _options(options: Any) -> dict[str, Any]:
    """Return options by their key; those of a list are counted from 1."""
    if isinstance(options, list):
        options = {str(object_of(each).get("id", n)): each for n, each in enumerate(options, 1)}
    return dict(list(object_of(options).items())[:_MOST_OPTIONS])


def _option_text(option: Any) -> str:
    text = option if isinstance(option, str) else object_of(option).get("text") or option
    return shown(str(text)[:_NAME])


def _votes(option: Any) -> int:
    """Return the votes of an option: a number, or as many as there are voters."""
    if isinstance(option, dict):
        option = next((option[name] for name in ("count", "votes", "voters") if name in option), 0)
    if isinstance(option, list | dict):
        return len(option)
    return option if type(option) is int and option > 0 else 0


def _cast(votes: Any) -> dict[str, int]:
    """Return the votes by option: given so, or as each voter's option."""
    members = object_of(votes)
    if members and all(isinstance(each, str) for each in members.values()):
        return dict(Counter(members.values()))
    return {key: _votes(each) for key, each in members.items()}


class Location(NamedTuple):
    name: str
    position: str
    """Latitude and longitude."""
    href: str


def location_of(data: dict[str, Any]) -> Location | None:
    """Return the location of a message's data; None if it is another content."""
    content = object_of(data.get("customData"))
    latitude, longitude = (_degrees(content.get(name)) for name in ("latitude", "longitude"))
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return None
    name = next(filter(None, (text_of(content.get(each)) for each in ("name", "title", "address"))), "")
    place = f"mlat={latitude:.6f}&mlon={longitude:.6f}#map=15/{latitude:.6f}/{longitude:.6f}"
    href = f"https://www.openstreetmap.org/?{place}"
    return Location(shown(name[:_NAME]), f"{latitude:.6f}, {longitude:.6f}", href)


def _degrees(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) and type(value) is not bool else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and isfinite(number) else None


# ── calls ──


class CallState(NamedTuple):
    session: str
    state: str
    seconds: int
    """From its begin to its end; 0 where one of them is not known."""


def call_of(data: dict[str, Any]) -> CallState:
    """Return what a call's message says of it."""
    entity = object_of(object_of(object_of(data.get("entities")).get("on")).get("entity"))
    state = text_of(data.get("action")) or text_of(entity.get("status"))
    session = text_of(entity.get("sessionid")) or text_of(entity.get("sessionId"))
    begin = next((entity[each] for each in ("startedAt", "joinedAt") if type(entity.get(each)) is int), 0)
    end, seconds = entity.get("endedAt"), 0
    if match := _DURATION.fullmatch(text_of(entity.get("totalDuration"))):
        seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    elif type(end) is int and 0 < begin < end:
        seconds = (end - begin) // (1 if end < 10**11 else 1000)
    return CallState(session, shown(state[:_NAME]), seconds)


def duration_text(seconds: int) -> str:
    """Return a duration such as `1 h 5 min`, `20 min 34 s` or `9 s`."""
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else seconds % 60, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


# ── all else ──


def members_of(data: dict[str, Any], record: dict[str, Any], most: int) -> Iterator[tuple[str, str]]:
    """Yield the members of a content that has no other form, such as `question` and `Pizza?`.

    After `most` letters the rest is left out, and the last member says so.
    """
    contents = (data[name] for name in _CONTENTS if name in data)
    own = {name: each for name, each in data.items() if name != "text"}  # the text is shown as such
    pending: list[tuple[str, Any]] = [("", next(contents, own or record))]
    for _ in range(_MOST_MEMBERS):
        if not pending:
            return
        name, value = pending.pop(0)
        if isinstance(value, dict):
            rest = [(f"{name} {key}".strip(), each) for key, each in value.items() if key != "entities"]
            pending[:0] = rest
        elif isinstance(value, list):
            pending[:0] = [(f"{name} {place}".strip(), each) for place, each in enumerate(value, 1)]
        elif value not in (None, ""):
            text = str(value)
            if (most := most - len(text)) < 0:
                yield "…", "the rest is in its source"
                return
            yield shown(name[:_NAME]), shown(text)
