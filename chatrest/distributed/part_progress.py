"""The numbers of an export's parts while workers run them, and the reports of their ends, as they travel."""

from typing import Final

import msgspec
from msgspec import Struct, structs

from ..export.plan.report import Progress, Report
from .rate_shares import RateReport

_SHOWN: Final = 20  # failed sources of a part, and deleted users, that travel
_ADDED: Final = ("written", "changed", "deleted", "received", "requests", "limited", "repeated")
_STATES: Final = ("ids", "covered", "sources", "done", "failed")
_COUNTS: Final = (*_ADDED, *_STATES)
decode_report: Final = msgspec.msgpack.Decoder(Report).decode


class TaskEvent(Struct, frozen=True, array_like=True):
    """A message of a task to the coordinator while it runs: about its rate, or its numbers."""

    rate: RateReport | None = None
    part: int = 0
    run: int = 0  # a random number
    counts: dict[str, int] = {}


decode_event: Final = msgspec.msgpack.Decoder(TaskEvent).decode


def counts_of(progress: Progress) -> dict[str, int]:
    """Return the numbers of a run of a part, by the names of `Progress`."""
    return {name: getattr(progress, name) for name in _COUNTS}


class PartsProgress:
    """Keeps the `Progress` of all parts up to date."""

    def __init__(self, progress: Progress) -> None:
        self.progress: Progress = progress
        self._before = counts_of(progress)
        self._runs: dict[tuple[int, int], dict[str, int]] = {}
        self._newest: dict[int, dict[str, int]] = {}

    def hear(self, event: TaskEvent) -> None:
        """Take the numbers of a run of a part; what other runs of it have done is kept."""
        part, counts = event.part, event.counts
        self._runs[part, event.run] = counts
        before = self._newest.get(part, counts)  # a run that takes in what others have left reads no list
        self._newest[part] = {name: max(counts[name], before[name]) for name in _STATES}
        for name in _COUNTS:
            known = self._runs if name in _ADDED else self._newest
            setattr(self.progress, name, self._before[name] + sum(each[name] for each in known.values()))


def shortened(report: Report, part: int) -> Report:
    """Return a report as it travels: with the names of so many sources, and the number of the others."""
    more = len(report.failed) - _SHOWN
    reasons = [f"{more:,} more sources of part {part} failed: see its manifest.json"] if more > 0 else []
    return structs.replace(
        report, failed=report.failed[:_SHOWN], deleted_users=report.deleted_users[:_SHOWN],
        reasons=[*report.reasons[:_SHOWN], *reasons],
    )  # fmt: skip
