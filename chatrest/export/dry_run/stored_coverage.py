"""The coverage of an export that is there already, from its journal. Nothing in the folder is changed."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ...core.intervals import Gap, gaps
from ...queries.messages import MessageQuery
from ..archive import agreed
from ..id_set import IdSet
from ..journal import NAME as JOURNAL, JournalReader
from ..news import LEAST_SOURCES
from ..opening import check_folder, claim_folder
from ..ownership import Source
from ..plan import Plan
from ..source_list import GOES_BACKWARDS


class SourceCoverage(NamedTuple):
    """The coverage of one source, as `Run` goes on from it."""

    gaps: tuple[Gap, ...]
    """Up to the frozen end of the next run; none where that was proven."""
    last: int
    """The highest id that was read."""


class StoredCoverage(NamedTuple):
    """The coverage of an export; nothing where there is none."""

    plan: Plan | None = None
    sources: dict[Source, SourceCoverage] = {}  # noqa: RUF012, which nobody changes
    """The sources that the next run reads, too."""
    seen: IdSet | None = None
    """The ids that any of them has shown."""
    goes_backwards: bool = False
    """True where the app's own list is known to heed the direction, and the next run does not check that."""
    has_news: bool = False
    """True where the next run asks the app's own list for what is new, and few of the sources (`news`)."""


def read_coverage(folder: Path, plan: Plan | None, app_id: str, until: int) -> StoredCoverage:
    """Return the coverage of `folder` up to the id `until`.

    Raises `RequestInvalidError` where an export with this plan cannot go there.
    """
    if not folder.exists():
        return StoredCoverage()
    claim_folder(folder)  # of a folder that is there it makes nothing
    path = folder / JOURNAL
    if not path.exists() or not path.stat().st_size:
        return StoredCoverage()
    with JournalReader.open(path) as journal:
        journal.check_integrity()
        check_folder(folder, journal)
        kept = {name: journal[name] for name in ("app", "plan")}
        stored, continued = agreed(folder, kept, plan, app_id)
        is_wider = continued.window != stored.window  # then all lists are read again
        named, sources, proven = set(continued.sources), {}, Counter[int]()
        for each in journal.sources():
            is_named = each.source in named or (continued.all_users and each.source.kind == "user")
            if each.state == "deleted_user" or not is_named:
                continue
            intervals = [] if is_wider else journal.intervals(each.number)
            left = [Gap(0, until)] if each.by_time else gaps(intervals, until)
            if each.proven >= until and not each.by_time and not is_wider:
                left = [gap for gap in left if gap.until < until]
            elif len(left) == 1 and each.state == "open" and not each.by_time:
                proven[each.proven] += 1
            sources[each.source] = SourceCoverage(tuple(left), intervals[-1].last if intervals else 0)
        is_plain = continued.query == MessageQuery() and continued.window[1] is None and not is_wider
        end = max(proven, default=0)
        has_news = is_plain and not continued.everything and end > 0 and proven[end] >= LEAST_SOURCES
        is_checked = journal[GOES_BACKWARDS] is not None
        return StoredCoverage(continued, sources, journal.all_seen(), is_checked, has_news)
