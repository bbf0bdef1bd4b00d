"""The status of the newest run in a file of JSON, for a monitor: its times, complete or not, counts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from ...testing import now as wall_clock
from ..plan.report import Failure, Report

RunState: TypeAlias = Literal["complete", "a part of the plan", "not complete", "failed"]
_COUNTS: Final = (
    "messages", "written", "changed", "deleted", "missing", "sources", "requests",
)  # fmt: skip


class RunStatus(Struct, frozen=True):
    """The content of `--status-file`: JSON, replaced at the end of each run, also of one that fails.

    Of many apps it has the sums, and is complete where all are.
    """

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
    """Its number; 0 of many apps."""
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
    path: Path | None, out: str, *, clean: Callable[[str], str] = str
) -> Iterator[list[Report | Failure]]:
    """Write the status of the run in the block, however it ends; `clean` hides keys.

    The block puts its report into the list, or of many apps the report or the failure of each.
    """
    reports, started = list[Report | Failure](), int(wall_clock())
    try:
        yield reports
    except BaseException as error:
        reports = reports or [Failure(out, str(error) or type(error).__name__)]
        raise
    finally:
        if path is not None and reports:
            _replace(path, _status(out, reports, started, int(wall_clock()), _last_complete(path), clean))


def _status(
    out: str, reports: Sequence[Report | Failure], started: int, finished: int, last: int | None,
    clean: Callable[[str], str],
) -> RunStatus:  # fmt: skip
    ended = [each for each in reports if isinstance(each, Report)]
    reasons = [reason for each in ended for reason in each.all_reasons]
    reasons += [
        each.error if each.source == out else f"{each.source}: {each.error}"
        for each in reports
        if isinstance(each, Failure)
    ]
    state: RunState = "not complete" if ended else "failed"
    if len(ended) == len(reports) and all(each.complete for each in ended):
        state, last = "complete", finished
    elif not reasons and any(each.only for each in ended):
        state = "a part of the plan"
    counts = {name: sum(getattr(each, name) for each in ended) for name in _COUNTS}
    failed = sum(len(each.failed) for each in ended) + len(reports) - len(ended)
    run = ended[0].run if len(reports) == 1 and ended else 0
    error = clean(reasons[0]) if reasons else None
    return RunStatus(out, state, started, finished, last, error, run=run, failed=failed, **counts)


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
