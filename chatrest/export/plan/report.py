"""The numbers of a run: its progress, to be read at any time, and the report of its result.

A line of the log of runs (`run_log`) is such a report, too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import reduce
from operator import add
from typing import Any, Final

from msgspec import Struct, structs

from ..._struct_help import StructHelp
from ..._telemetry import Attempt, Telemetry
from ..._texts import plural
from ...errors import (
    ApiError,
    AuthenticationError,
    CursorError,
    ExportIncompleteError,
    RateLimitError,
    RequestInvalidError,
    ServerError,
)


class Phase(StrEnum):
    """The step that a run of an export is at."""

    BEGINNING = "beginning"
    WAITING_FOR_LEASE = "waiting for the end of another writer's lease"
    WAITING_FOR_PROCESS = "waiting for another process"
    COPYING_FROM_STORE = "fetching what is in the store"
    LISTING_SOURCES = "asking what there is"
    READING_NEWS = "asking what is new"
    WALKING = "walking"
    WAITING_FOR_WORKER = "waiting for a worker"
    RECHECKING = "reading again"
    READING_MISSING = "checking that nothing is missing"
    FINISHING = "finishing"
    READING_TABLES = "reading tables"
    FETCHING_ATTACHMENTS = "fetching attachments"
    PUBLISHING = "publishing"
    STOPPING = "stopping: writing the fetched pages"
    """After an interrupt; a display shows it in the place of the run's own phase."""
    DONE = "done"

    @property
    def has_plan(self) -> bool:
        """True once the plan is stored, so that the export can be continued without its options."""
        return list(Phase).index(self) > list(Phase).index(Phase.COPYING_FROM_STORE)


class Progress:
    """The numbers of one run: `export(…, progress=progress)` updates them, and any task may read them.

    With `AsyncSession(app, telemetry=progress.heard)` it counts requests, too.
    """

    def __init__(self) -> None:
        self.phase: Phase = Phase.BEGINNING
        """The step of the run."""
        self.detail = ""
        """What the step is about, such as the seconds that it waits; often empty."""
        self.ids = 0
        """The size of the range of ids to be read, over all sources; 0 where the service does not show."""
        self.covered = 0
        """How much of that range is done: `covered / ids` is the share of the work."""
        self.sources = 0
        """Sources of the plan."""
        self.done = 0
        """Sources that are read to their end."""
        self.failed = 0
        """Sources that could not be read."""
        self.written = 0
        """Messages that were added."""
        self.changed = 0
        """Messages that were replaced by a newer version."""
        self.deleted = 0
        """Messages that the recheck newly found to be deleted in the service."""
        self.received = 0
        """Bytes of the pages that came."""
        self.requests: int = 0
        """Requests that were sent."""
        self.limited: int = 0
        """Requests that were answered 429."""
        self.repeated: int = 0
        """Requests that were made again, after any failure."""
        self.trouble: str | None = None
        """The class of the newest failed attempt's error, until a request succeeds."""
        self.waits_for_disk = False
        """True while the disk is slower than the service."""
        self.unpublished = ""
        """Where an export in an object store cannot be published while it runs: for how long, and the newest
        error. It is tried again; empty once that succeeds."""

    def enter(self, phase: Phase, detail: str = "") -> None:
        """Note the step of the run."""
        self.phase, self.detail = phase, detail

    def heard(self, record: Telemetry) -> None:
        """Count a request: a telemetry listener, `AsyncSession(app, telemetry=progress.heard)`."""
        if not isinstance(record, Attempt):
            return
        self.requests += 1
        self.limited += record.status == 429
        self.repeated += record.number > 1
        self.trouble = record.error


class NextRun(StrEnum):
    """The effect of another run with the same plan on the missing messages."""

    NOTHING = "nothing"
    """Nothing is missing."""
    FAILS = "fails"
    """It would end the same way, such as for a user that does not exist: change the plan or the service."""
    CONTINUES = "continues"
    """It reads what is missing, such as after a failure of the network."""

    @classmethod
    def after(cls, error: BaseException) -> "NextRun":
        """Return the effect of another run after an error; of a group, after its first."""
        if isinstance(error, BaseExceptionGroup):
            return cls.after(error.exceptions[0])
        if isinstance(error, ApiError):
            may_pass = isinstance(error, RateLimitError | ServerError | AuthenticationError)
        elif isinstance(error, ExportIncompleteError):
            may_pass = error.can_continue
        else:
            may_pass = not isinstance(error, RequestInvalidError | CursorError)
        return cls.CONTINUES if may_pass else cls.FAILS


def sums(counted: Sequence[object], names: Iterable[str]) -> dict[str, Any]:
    """Return what several have together, by the names of their members; nothing of none.

    Numbers are added, lists are joined, and of counts by name each is added.
    """
    return {name: _together([getattr(each, name) for each in counted]) for name in names if counted}


def _together(values: list[Any]) -> Any:
    if not isinstance(values[0], dict):
        return reduce(add, values)
    counts = Counter[str]()
    for each in values:
        counts.update(each)
    return dict(counts)


class ExportFailure(Struct, metaclass=StructHelp, frozen=True):
    """A source that could not be read to its end."""

    source: str
    """Its kind and its name, such as `user alice`."""
    error: str
    next_run: NextRun = NextRun.CONTINUES

    @classmethod
    def of(cls, source: object, error: BaseException) -> "ExportFailure":
        """Return the failure of a source by an error."""
        return cls(str(source), str(error), NextRun.after(error))


class AttachmentCounts(Struct, metaclass=StructHelp, kw_only=True):
    """The attachments of an export: links of messages, by the result for their files."""

    stored: int = 0
    """In the folder."""
    fetched: int = 0
    """Fetched by this run."""
    bytes: int = 0
    """Of those that this run fetched."""
    gone: int = 0
    """No longer on their server (404, 410)."""
    too_large: int = 0
    """Larger than `max_bytes`."""
    refused: int = 0
    """At an address that is not allowed."""
    failed: int = 0
    """Failed; the next run tries again."""
    pending: int = 0
    """Left to the next run."""
    errors: dict[str, int] = {}
    """The most frequent reasons of those that failed, at most five of each export, each with its count."""


class Report(Struct, metaclass=StructHelp, kw_only=True):
    """The result of one run of an export."""

    run: int | str = 0
    """What `changes(out, after=run)` takes: its number, each run has a higher one than those before it, also
    one that was killed. Where `out` has parts the position after it, such as `part=00:2,part=01:1`."""
    part: str = ""
    """The part or app of a folder of exports that this is about, such as `part=03`: of a run of one part, and
    where `runs` has read it of one."""
    complete: bool = False
    """True if the export holds all that its plan asks for, up to `until`. Users that were deleted in the
    service since (`deleted_users`) do not count against it."""
    reasons: list[str] = []
    """The reasons why it is not complete, a sentence each, beside the sources in `failed`."""
    next_run: NextRun = NextRun.NOTHING
    """What another run with the same plan can do about these reasons and sources: continue if it can about
    one of them."""
    until: int | None = None
    """The app's newest message id when the run began: the export holds no later ones. None if the service
    does not tell."""
    by_app_list: bool = False
    """True if most sources were not asked, as the app's own list showed nothing new of them: `complete` is
    then as far as that list shows. Every seventh run at least asks each source."""
    messages: int = 0
    """Messages in the export."""
    written: int = 0
    """Messages that this run added."""
    changed: int = 0
    """Messages that were replaced by a newer version, and are not deleted; the older one is kept in the
    history file."""
    deleted: int = 0
    """Messages that this run newly found to be deleted: by their authors, whose older version the history
    keeps, or no longer shown by any list, as the recheck finds; these stay in the export."""
    missing: int = 0
    """Messages that were in a lost or damaged file, and that the service does not show any more."""
    sources: int = 0
    """Sources of the plan, without those in `deleted_users`."""
    failed: list[ExportFailure] = []
    """Sources that could not be read to their end. The next run continues with them."""
    deleted_users: list[str] = []
    """Users that the service listed and does not have any more, or that are switched off, so that it does not
    show their lists; the messages that earlier runs have read are kept."""
    tables: dict[str, int] = {}
    """The rows of each table beside the messages, such as `users`."""
    attachments: AttachmentCounts | None = None
    """The files that messages link to; None if they were not asked for."""
    kept: list[str] = []
    """Sources that earlier runs have read, and that the plan does not ask for any more: their messages stay,
    and nothing new is read of them."""
    only: list[str] = []
    """What the run was limited to (`export(only=True)`): sources, and a window; empty for the whole plan.
    `complete` is about the plan, and so it is False then."""
    not_read: int = 0
    """The other sources of the plan, as far as they are known: this run did not read them."""
    warnings: list[str] = []
    """A sentence each: what the service ignored, older versions that were lost, and
    things that an object store cannot promise, or that were set aside there."""
    requests: int = 0
    """Requests that the run sent."""
    started: int = 0
    """When it began, in epoch seconds."""
    finished: int = 0
    """When it ended, in epoch seconds."""

    @property
    def seconds(self) -> int:
        """The duration of the run."""
        return max(0, self.finished - self.started)

    @property
    def all_reasons(self) -> list[str]:
        """The reasons why it is not complete, those of the sources in `failed` included."""
        return [*self.reasons, *(f"{each.source}: {each.error}" for each in self.failed)]

    def lacks(self, what: str | ExportFailure, next_run: NextRun = NextRun.CONTINUES) -> None:
        """Note a reason why the export is not complete, or a source that failed, and the remedy."""
        if isinstance(what, ExportFailure):
            self.failed.append(what)
            next_run = what.next_run
        else:
            self.reasons.append(what)
        self.next_run = max(self.next_run, next_run, key=list(NextRun).index)

    def check(self) -> None:
        """Raise `ExportIncompleteError` with the reasons if the run did not read all that it was asked to.

        The same export, run again, continues with the rest; if `can_continue` of the error is False it
        would fail again. A run with `only=True` was not asked for the other sources of the plan.
        """
        if self.complete or (self.only and not self.failed and not self.reasons):
            return
        reasons = list(self.reasons)
        if self.failed:
            reasons.insert(0, f"{len(self.failed):,} of {plural(self.sources, 'source')} failed")
        text = "; ".join(reasons) or "it did not end"
        error = ExportIncompleteError(f"the export is not complete: {text}")
        error.can_continue = self.next_run is not NextRun.FAILS
        raise error


_COUNTS: Final = ("written", "changed", "deleted")
_OF_PARTS: Final = (*_COUNTS, "messages", "sources", "missing", "failed", "deleted_users", "kept", "requests")


def report_of_runs(runs: Sequence[Report]) -> Report:
    """Return the report of runs in a row: the state is that of the last one, and all have written."""
    first, counts = runs[0], sums(runs, (*_COUNTS, "requests"))
    return structs.replace(runs[-1], by_app_list=first.by_app_list, started=first.started, **counts)


def report_of_parts(runs: Mapping[str, Report]) -> Report:
    """Return the report of one run of each part, by its name, as that of all; it has no `run`."""
    reports = list(runs.values())
    attachments = [report.attachments for report in reports if report.attachments is not None]
    counts = sums(attachments, AttachmentCounts.__struct_fields__)
    return Report(
        complete=all(report.complete for report in reports),
        reasons=[f"{name}: {reason}" for name, report in runs.items() for reason in report.reasons],
        next_run=max(
            (report.next_run for report in reports), key=list(NextRun).index, default=NextRun.NOTHING
        ),
        until=max((report.until or 0 for report in reports), default=0) or None,
        by_app_list=bool(runs) and all(report.by_app_list for report in reports),
        warnings=[f"{name}: {text}" for name, report in runs.items() for text in report.warnings],
        tables=next((report.tables for report in reports if report.tables), {}),
        attachments=AttachmentCounts(**counts) if attachments else None,
        started=min((report.started for report in reports), default=0),
        finished=max((report.finished for report in reports), default=0),
        **sums(reports, _OF_PARTS),
    )
