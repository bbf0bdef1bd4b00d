"""The log of an export's runs: `runs.jsonl`, a line of JSON for each run, for monitoring.

A line is appended when a run has ended, and is on the disk before the run returns. A crash can leave an
unfinished last line; it is not read, and is cut off before the next line is written. A run that was killed
has no line.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from ..plan.report import Report
from ..store.disk import Disk, error_path, sync_folder, write_all

NAME: Final = "runs.jsonl"
RunEntry: TypeAlias = Report
"""One line of the log: the report of one run, with the fields that a line has."""
_FIELDS: Final = (
    "run", "started", "finished", "seconds", "complete", "reasons", "next_run", "failed", "written",
    "changed", "deleted", "missing", "messages", "requests", "only", "not_read", "by_app_list",
)  # fmt: skip


def append_run(disk: Disk, folder: Path, report: Report) -> None:
    """Append a line for a run that has ended; an unfinished last line is cut off before. Raises OSError."""
    path = folder / NAME
    line = msgspec.json.encode(entry_members(report)) + b"\n"
    with error_path(path), path.open("a+b", buffering=0) as file:
        file.seek(0)
        content = file.read()
        size = end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(end)
        write_all(disk, file.fileno(), end, line)
        disk.sync(file.fileno())
    if not size:
        sync_folder(disk, folder)


def entry_members(entry: RunEntry) -> dict[str, Any]:
    """Return what a line has, and the part where it was read of one."""
    part = {"part": entry.part} if entry.part else {}
    return part | {name: getattr(entry, name) for name in _FIELDS}


def runs_in(folder: Path) -> Iterator[RunEntry]:
    """Yield the runs that the log of a folder has, oldest first; without a log none has ended."""
    with suppress(FileNotFoundError), (folder / NAME).open("rb") as file:
        for line in file:
            try:
                entry = msgspec.json.decode(line, type=RunEntry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if entry.started and line.endswith(b"\n"):  # else it is a line of another program
                yield entry


def last_run(folder: Path) -> int:
    """Return the highest number of a run in the log of a folder; 0 where there is none."""
    return max((int(entry.run) for entry in runs_in(folder)), default=0)
