"""The end of a run, which is fixed when it begins: newer messages are for the next run.

It is the newest id of the app, or none where that does not show where its lists end: a service without the
app's own list, or with one that cannot be read backwards or is not in the order of its ids. Then the end of
each list is the one that it has when its reading begins.
"""

from msgspec import Struct

from ..._core.replies.rows import Row, row_of
from ..._threads import in_thread
from ...session import AsyncSession
from ..fetch.page_check import falls
from ..fetch.source_list import goes_backwards, in_order, newest
from ..fetch.worker_pool import WorkerPool
from ..folder.export_folder import ExportFolder
from ..plan.message_ids import LAST, ids_of, number, numbers_in
from ..plan.parts import NightFindings


class RunEnd(Struct, frozen=True):
    until: int = LAST
    """The app's newest id; LAST if that does not show where its lists end."""
    newest: Row | None = None
    """The app's newest message, if it is known."""
    knows_unit: bool = False
    """True if the newest messages show the unit of the service's times."""

    @property
    def names(self) -> set[str]:
        return set() if self.newest is None else {self.newest.sender, self.newest.receiver}


async def newest_of_app(session: AsyncSession, *, is_backwards: bool) -> NightFindings:
    """Return the app's newest messages: one request, and one or two if it is not known that its own list
    `is_backwards` where asked for it.
    """
    rows = await newest(session)
    last = next(iter(in_order(rows)), None)
    if last is not None and number(last.id) is not None and not is_backwards:
        is_backwards = await goes_backwards(session, last)
    return NightFindings(newest=[row.raw for row in rows], goes_backwards=is_backwards)


async def find_end(pool: WorkerPool, findings: NightFindings) -> RunEnd:
    rows = [row_of(raw) for raw in findings.newest]
    ordered = in_order(rows)
    last = next(iter(ordered), None)
    if knows_unit := last is not None and last.sent_at > 0:
        pool.ends.use_unit_of(last.sent_at)
    if last is None or number(last.id) is None:
        return RunEnd(newest=last, knows_unit=knows_unit)  # an id that is not a number is not an end
    if not findings.goes_backwards:
        return RunEnd(knows_unit=knows_unit)
    await pool.ids.check(rows)
    ids = numbers_in(ordered)  # all are numbers, as one is
    highest = ordered[ids.index(max(filter(None, ids)))]
    # In another order the end is not known: messages after the last one may have lower ids.
    is_open = not falls(ordered) or await _may_hide_newer(pool, highest, rows)
    until = LAST if is_open else number(highest.id) or LAST
    return RunEnd(until, highest, knows_unit)


async def _may_hide_newer(pool: WorkerPool, highest: Row, rows: list[Row]) -> bool:
    """Return whether the app may have newer messages than that with the highest id of its newest ones.

    So it is if these are not the newest, such as those that were edited last, or if ids that are not
    numbers are new: they do not show their position.
    """
    if pool.ids.may_hide_newer(number(highest.id) or 0):
        return True
    keys = {*ids_of(rows).others}
    return bool(keys) and await in_thread(lambda: _has_new_key(pool.export, keys, number(highest.id) or 0))


def _has_new_key(export: ExportFolder, keys: set[str], until: int) -> bool:
    journal = export.journal
    proven = max((state.proven for state in journal.iter_sources()), default=0)
    named, written = journal.numbers_of_names(keys), export.store.written
    return until <= proven and not all(named.get(key, 0) in written for key in keys)


async def hides_newer(pool: WorkerPool, end: RunEnd) -> bool:
    """Return whether the app's own list lacks what a list has shown after the frozen end.

    Costs a request if one has: newer messages exist by now, and are for the next run.
    """
    shown = pool.findings.highest_id
    if end.until == LAST or shown <= end.until:
        return False
    return all((number(row.id) or 0) < shown for row in await newest(pool.session))
