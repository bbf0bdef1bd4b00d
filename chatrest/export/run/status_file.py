"""The status of the newest run in a file of JSON, for a monitor: its times, complete or not, counts."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from ..plan.report import Report

RunState: TypeAlias = Literal["complete", "a part of the plan", "not complete", "failed"]
_COUNTS: Final = (
    "run", "messages", "written", "changed", "deleted", "missing", "sources", "requests",
)  # fmt: skip


class RunStatus(Struct, frozen=True):
    """What `--status-file` has: JSON, replaced at the end of each run, also of one that fails."""

    export: str
    state: RunState
    started: int
    """In epoch seconds, as all times."""
    finished: int
    """The end of the newest run; that of a killed one is not here, so that an old time is an alarm."""
    last_complete: int | None
    """The end of the newest run that was complete."""
    error: str | None = None
    """The first reason why it is not complete, or has failed."""
    run: int = 0
    messages: int = 0
    written: int = 0
    changed: int = 0
    deleted: int = 0
    missing: int = 0
    sources: int = 0
    failed: int = 0
    requests: int = 0


@contextmanager
def status_file(
    path: Path | None, out: str, now: Callable[[], float] = time.time, *, clean: Callable[[str], str] = str
) -> Iterator[list[Report]]:
    """Write the status of the run in the block, which puts its report into the list; `clean` hides keys."""
    reports, started = list[Report](), int(now())
    try:
        yield reports
    except BaseException as error:
        if path is not None and not reports:
            text = clean(str(error) or type(error).__name__)
            state = RunStatus(out, "failed", started, int(now()), _last_complete(path), text)
            _replace(path, state)
        raise
    if path is not None and reports:
        _replace(path, _status(out, reports[0], path))


def _status(out: str, report: Report, path: Path) -> RunStatus:
    state: RunState = "complete" if report.complete else "not complete"
    reason = next(iter(report.all_reasons), None)
    if report.only and reason is None:
        state = "a part of the plan"
    last = report.finished if report.complete else _last_complete(path)
    counts = {name: getattr(report, name) for name in _COUNTS}
    return RunStatus(
        out, state, report.started, report.finished, last, reason, failed=len(report.failed), **counts
    )


def _last_complete(path: Path) -> int | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Former).last_complete
    except (OSError, msgspec.DecodeError):  # the first one, or another program's
        return None


class _Former(Struct):
    last_complete: int | None = None


def _replace(path: Path, status: RunStatus) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(msgspec.json.encode(status) + b"\n")
    new.replace(path)
