"""The log of an export's runs: `runs.jsonl`, a line of JSON for each run, for monitoring.

A line is appended when a run has ended, and is on the disk before the run returns. A crash can leave an
unfinished last line; it is not read, and is cut off before the next line is written. A run that was killed
has no line.
"""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from .disk import Disk, ErrorPath, sync_folder
from .folder_view import open_view
from .report import Report

NAME: Final = "runs.jsonl"
RunEntry: TypeAlias = Report
"""One line of the log: the report of one run, with the fields that a line has."""
_FIELDS: Final = (
    "run", "started", "finished", "seconds", "complete", "reasons", "failed", "written", "changed", "deleted",
    "missing", "messages", "requests", "only", "not_read",
    "by_app_list",
)  # fmt: skip


def append_run(disk: Disk, folder: Path, report: Report) -> None:
    """Append a line for a run that has ended; an unfinished last line is cut off before. Raises OSError."""
    path = folder / NAME
    line = msgspec.json.encode({name: getattr(report, name) for name in _FIELDS}) + b"\n"
    with ErrorPath(path), path.open("a+b", buffering=0) as file:
        file.seek(0)
        content = file.read()
        size = end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(end)
        while line:
            written = disk.write(file.fileno(), end, line)
            line, end = line[written:], end + written
        disk.sync(file.fileno())
    if not size:
        sync_folder(disk, folder)


def runs(out: str | PathLike[str]) -> Iterator[RunEntry]:
    """Yield the runs of the export in a folder or object store, oldest first.

    Those that were killed have left no entry.

    Lines that are damaged, or of another program, are left out. Raises OSError where there is no such file.
    """
    with open_view(out) as view:
        yield from runs_in(view.folder)


def runs_in(folder: Path) -> Iterator[RunEntry]:
    with (folder / NAME).open("rb") as file:
        for line in file:
            try:
                entry = msgspec.json.decode(line, type=RunEntry)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if entry.started and line.endswith(b"\n"):  # else it is a line of another program
                yield entry


def last_run(folder: Path) -> int:
    """Return the highest number of a run in the log of a folder; 0 where there is none."""
    try:
        return max((entry.run for entry in runs(folder)), default=0)
    except FileNotFoundError:
        return 0
