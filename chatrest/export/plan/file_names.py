"""Names of the files of an export: of any uid, of any time, and never outside of the folder.

| partition | a file of messages is in           | a partition is                                        |
|-----------|------------------------------------|-------------------------------------------------------|
| none      | `messages/`                        | everything                                            |
| source    | `messages/source=user-alice/`      | what one source writes                                |
| month     | `messages/month=2026-11/`          | a month in UTC, by the time that a message was sent   |
| day       | `messages/day=2026-11-22/`         | a day in UTC                                          |

These are Hive names, which readers of datasets turn into a column. A value is percent-encoded, as they expect
it; messages without a time are `undated` (pandas cannot read Hive's own name for null). The files of a folder
are `messages.ndjson`, `messages-2.ndjson` and so on.
"""

import hashlib
import os
import re
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ..._core.replies.rows import UNKNOWN, Row
from ..._core.requests.arguments import check
from ..._secrets import repr_of
from ...errors import ChatRestError, RequestInvalidError
from .export_plan import Partition
from .ownership import Source

MESSAGES: Final = "messages"
"""The folder of the data files, and of nothing else."""
SPOOL: Final = "spool"
"""The folder of files that are being made."""
DAMAGED: Final = "damaged"
"""The folder of files that were moved aside."""
STEM: Final = "messages"
"""Of the files of messages."""
HISTORY: Final = "history"
"""The stem of files of older versions of messages."""
UNDATED: Final = "undated"
MILLISECONDS: Final = 10**11
"""A timestamp from here on is in milliseconds: as seconds it would be after the year 5100."""
_OF_SYSTEM: Final = frozenset({
    "thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "lost+found", "$recycle.bin", "@eadir",
    "system volume information",
})  # fmt: skip
_MAX: Final = 150  # a file's name may have 255 bytes on most systems, with what is added to it
_DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
_SCHEME: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+):/"
)  # `Path` makes one slash of two; a drive has one letter
_INSIDE: Final = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w%.=~-]{1,255}(?:/[\w%.=~-]{1,255})*", re.ASCII)


def file_name(text: str) -> str:
    """Return a file name for any text: percent-encoded, never hidden, never a path, never too long."""
    name = quote(text, safe="", errors="surrogatepass") or "%"  # which no other text becomes
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) <= _MAX:
        return name
    return f"{name[:_MAX]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def source_name(source: Source) -> str:
    return file_name("-".join((source.kind, *source.names)))


def partition_folder(partition: Partition, key: str) -> str:
    """Return the folder of a partition, below the export's folder.

    `key` is the partition's key in the journal: a source's key, a month, a day, or the empty text.
    """
    if partition == "none":
        return MESSAGES
    value = source_name(Source.parse(key)) if partition == "source" else key
    return f"{MESSAGES}/{partition}={value}"


def partition_rows(partition: Partition, source: Source, rows: list[Row]) -> dict[str, list[Row]]:
    match partition:
        case "none":
            return {"": rows} if rows else {}
        case "source":
            return {source.key: rows} if rows else {}
        case "month":
            return _by_date(rows, len("2026-11"))
        case "day":
            return _by_date(rows, len("2026-11-22"))


def is_of_system(name: str) -> bool:
    """Return True for a file that a system leaves in any folder, such as `.DS_Store` or `Thumbs.db`."""
    parts = name.split("/")
    return any(part.startswith(".") for part in parts) or not _OF_SYSTEM.isdisjoint(map(str.lower, parts))


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a file of the export, from its name in the journal or in the manifest.

    Raises `ChatRestError` for a name that leads outside of the folder: absolute, with `..`, or by a symbolic
    link.
    """
    if not _INSIDE.fullmatch(name):
        raise ChatRestError(f"{folder}: {name!r} is not the name of a file of an export; nothing was changed")
    path = folder
    for part in name.split("/"):
        path /= part
        if path.is_symlink():
            raise ChatRestError(f"{path} is a symbolic link, and may lead outside of {folder}; remove it")
    return path


def local_path(out: object, name: str = "out") -> Path:
    """Return the path of an export's folder; `name` is the argument's.

    Raises `RequestInvalidError` for what is no path, and for a URL such as `s3://bucket/chat`: as a path it
    would be a local folder called `s3:`.
    """
    check(isinstance(out, str | os.PathLike), name, out, "the path of a folder, as a text or a Path")
    assert isinstance(out, str | os.PathLike)
    path = os.fspath(out)
    check(isinstance(path, str) and path != "" and "\0" not in path, name, out, "the path of a folder")
    if match := _SCHEME.match(path):
        raise RequestInvalidError(
            f"{name} = {repr_of(path)}: {match[1]}:// is not a local folder; for an object store, "
            "expected its address as a text: s3://bucket/prefix, gs://… or az://…",
            name=name,
        )
    return Path(path)


def seconds(timestamp: int) -> int:
    """Return a timestamp of the service as epoch seconds, also if it is in milliseconds."""
    return timestamp // 1000 if timestamp >= MILLISECONDS else timestamp


def day(timestamp: int) -> str:
    """Return the day of a timestamp in UTC, such as `2026-11-22`; `UNDATED` where it is unknown."""
    return UNDATED if timestamp == UNKNOWN else _date(seconds(timestamp) // _DAY)


def _by_date(rows: list[Row], length: int) -> dict[str, list[Row]]:
    by_date: dict[str, list[Row]] = {}
    if not rows:
        return by_date
    times = [row.sent_at for row in rows]
    low, high = min(times), max(times)
    same_unit = low >= MILLISECONDS or 0 <= low <= high < MILLISECONDS
    if same_unit and (key := _key(low, length)) == _key(high, length):
        return {key: rows}
    for row in rows:
        by_date.setdefault(_key(row.sent_at, length), []).append(row)
    return by_date


def _key(timestamp: int, length: int) -> str:
    text = day(timestamp)
    return text if text is UNDATED else text[:length]


@lru_cache(maxsize=4096)
def _date(days: int) -> str:
    """Return the date that is so many days after the epoch; `UNDATED` before the year 1 and after 9999."""
    try:
        return date.fromordinal(_EPOCH + days).isoformat()
    except (OverflowError, ValueError):
        return UNDATED
