"""Numbers and plain lines: of a moment, of a run's end, of an estimate."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..streams import one_line

if TYPE_CHECKING:  # both bring the network along, which no help text needs
    from ...export import Progress, Report
    from ...export.estimating.estimate import Estimate
    from .gauge import Figures

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400
_SHOWN: Final = 20
"""Names of a list that are written out."""


class Files(Struct, frozen=True):
    """What lies in the folder."""

    format: str
    count: int
    bytes: int


def lasted(seconds: float) -> str:
    """A time that has passed: `4.2 s`, `3:12`, `1:02:03`, `2 d 01:02:03`."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    days, rest = divmod(round(seconds), _DAY)
    hours, minutes = divmod(rest // _MINUTE, _MINUTE)
    if days:
        return f"{days:,} d {hours:02}:{minutes:02}:{rest % _MINUTE:02}"
    return f"{hours}:{minutes:02}:{rest % _MINUTE:02}" if hours else f"{minutes}:{rest % _MINUTE:02}"


def about(seconds: float) -> str:
    """A time that is guessed, as coarse as the guess is: `about 40 s`, `about 3 h 20 min`."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 1.5 * _MINUTE:
        return f"about {5 * round(seconds / 5)} s"
    if seconds < 1.5 * _HOUR:
        return f"about {round(seconds / _MINUTE)} min"
    if seconds < _DAY:
        hours, minutes = divmod(10 * round(seconds / 600), _MINUTE)
        return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
    days, hours = divmod(round(seconds / _HOUR), 24)
    return f"about {days:,} d {hours} h" if hours else f"about {days:,} d"


def size(count: int) -> str:
    """Bytes: `12.3 MB`."""
    return f"{count / 1e9:,.2f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def some(count: int, one: str) -> str:
    """A number of things: `1 source`, `2 sources`."""
    return f"{count:,} {one}" if count == 1 else f"{count:,} {one}s"


def roughly(number: float) -> str:
    """A number of two digits that say something: `250,000`."""
    whole = round(number)
    unit = 10 ** max(0, len(str(abs(whole))) - 2)
    return f"{round(whole / unit) * unit:,}"


# ── a moment ──


def moment(figures: "Figures") -> str:
    """One line of a log."""
    if not figures.received:
        return f"{figures.phase}: {figures.waits or lasted(figures.elapsed)}"
    told = [
        f"{figures.messages:,} messages at {figures.rate:,.0f}/s",
        size(figures.received),
        f"{figures.requests:,} requests" + (f" ({figures.limited:,} × 429)" if figures.limited else ""),
        *([f"{figures.done:,} of {some(figures.sources, 'source')}"] if figures.sources else []),
        *([f"{figures.failed:,} failed"] if figures.failed else []),
        *([f"{figures.share:.0%}"] if figures.share is not None else []),
        *([f"{about(figures.left)} left"] if figures.left is not None else []),
        lasted(figures.elapsed),
        *([figures.waits] if figures.waits else []),
    ]
    return f"{figures.phase}: {', '.join(told)}"


# ── the end ──


def summary(report: "Report", progress: "Progress", out: str, files: Files, seconds: float) -> Iterator[str]:
    """What has come of a run, a line a fact."""
    whole = "whole" if report.complete else "NOT WHOLE"
    yield _row("export", f"{out}, {files.format}, {whole}")
    yield _row("messages", f"{report.messages:,}, of them {report.written:,} new")
    if report.lost:
        words = "that were in a file that is lost, and that the service does not show any more"
        yield _row("lost", f"{report.lost:,} {words}: see manifest.json")
    if report.changed or report.vanished:
        yield _row("changed", f"{report.changed:,}; the older versions are kept beside the export")
        yield _row("vanished", f"{report.vanished:,} that the service does not show any more; they are kept")
    failed = f", {len(report.failed):,} of them failed" if report.failed else ""
    yield _row("sources", f"{report.sources:,}{failed}")
    if report.gone:
        yield _row("gone", f"{named(report.gone)}; their messages are kept")
    if files.count:
        yield _row("files", f"{files.count:,}, {size(files.bytes)}")
    repeated = f", {progress.repeated:,} repeated" if progress.repeated else ""
    yield _row("requests", f"{report.requests:,}, {progress.limited:,} answered 429{repeated}")
    rate = f", {report.written / max(seconds, 1e-3):,.0f} messages/s" if report.written else ""
    yield _row("time", f"{lasted(seconds)}{rate}")


def named(names: list[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def missing(report: "Report") -> str:
    """Why an export is not whole, and what to do."""
    reasons = list(report.reasons)
    if report.failed:
        reasons.insert(0, f"{len(report.failed):,} of {some(report.sources, 'source')} failed")
    return f"the export is not whole: {'; '.join(reasons)}; run the same command again"


# ── an estimate ──


def estimated(found: "Estimate", out: str, workers: int) -> Iterator[str]:
    """What a run would do, a line a fact; each of them says how sure it is."""
    yield _row("export", f"{out}, {found.plan.format}; nothing was written")
    whole = f", of which {found.whole:,} are up to date" if found.whole else ""
    yield _row("sources", f"{found.sources:,}{whole}")
    for failure in found.refused:
        yield _row("refused", f"{failure.source}: {failure.error}")
    yield _row("messages", _messages(found))
    least = "at least " if found.bounded else ""
    yield _row("requests", f"{least}about {roughly(found.requests)}")
    yield _row("time", f"{least}{about(found.seconds)}, with {some(workers, 'worker')}{_latency(found)}")
    yield _row("limit", _limit(found))
    yield _row("asked", f"{some(found.asked, 'request')} for this; {_basis(found)}")


def _messages(found: "Estimate") -> str:
    if not found.messages:
        return "none to read"
    if found.bounded:
        number = f"{found.messages:,}" if _all_were_asked(found) else f"about {roughly(found.messages)}"
        sources = some(found.bounded, "source")
        return f"at least {number} to read; of {sources} there is more than was seen, and no plausible total"
    new = f", about {roughly(found.written)} of them new, as one that two sources hold is written once"
    return (
        f"about {roughly(found.messages)} to read ({size(found.bytes)})"
        f"{new if found.written < found.messages else ''}; {_known(found)}"
    )


def _known(found: "Estimate") -> str:
    """How well the number of messages is known."""
    if not found.reported:
        return "every list that was asked for was read to its end"
    return f"{some(found.reported, 'source')} by the service's own totals, which are hints"


def _all_were_asked(found: "Estimate") -> bool:
    return found.sampled >= found.sources - found.whole


def _latency(found: "Estimate") -> str:
    if not found.latency:
        return ""
    return f"; a request took {found.latency * 1000:,.0f} ms, a page {found.page_latency * 1000:,.0f} ms"


def _limit(found: "Estimate") -> str:
    if found.rate is None:
        return "the service told of none"
    return f"about {found.rate:,.0f} requests in {found.window:,.0f} s"


def _basis(found: "Estimate") -> str:
    if not found.sampled:
        return "nothing is left to be read"
    if _all_were_asked(found):
        return "every source that has anything left was asked"
    return f"{found.sampled} sources speak for all, and where a few hold most it is far off"


def _row(name: str, text: str) -> str:
    return f"{name:<9} {one_line(text)}"
