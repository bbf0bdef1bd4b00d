"""Reads what is new since the last run from the app's own list, instead of from the list of every source.

Of hundreds of sources few have anything new in a night, and asking each of them costs a request. The app's
own list (GET /messages) shows all of it at once. It is believed only where it proves right:

| the app's own list                                        | then                                       |
|-----------------------------------------------------------|--------------------------------------------|
| is refused, or goes by time                               | every source is asked                      |
| costs more requests than half of the sources              | every source is asked                      |
| ends before the newest message of the app                 | every source is asked                      |
| shows a message of a source whose own list does not       | every source is asked                      |
| lacks a message that the own list of a source shows       | every source is asked                      |
| shows a group's message that no source claims             | every source is asked, if there are users: |
|                                                           | a member's list may have it                |
| was believed in the last six runs                         | every source is asked                      |
| agrees with the own lists of all sources that were asked  | the ends of the other sources are proven   |

The sources that are asked are drawn by lot: one that it shows something of, one that writes a message to a
group, and one of each kind that it shows nothing of, of those whose own lists had the newest messages: it may
lack a group, or a part of the app. A run that believes it is complete as far as it shows.

What it shows is noted as seen by the app's own list, which becomes a source of the journal, and not as seen
by the sources that claim it: their lists may lack it, and may have more. So nothing of them is covered by it
either, and a run that asks them reads all that they show since they were asked the last time.
"""

from collections.abc import Iterable
from contextlib import aclosing
from operator import attrgetter
from typing import Final, final

from ..._core.replies.rows import Row
from ..._core.send import AsRows
from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ...errors import ApiError, AuthenticationError, CursorError, ServerError
from ...session import AsyncSession
from ..folder.journal import Journal, SourceState
from ..plan.id_set import IdSet
from ..plan.intervals import LAST
from ..plan.message_ids import ids_of
from ..plan.ownership import Source
from ..plan.plan import Plan
from .jobs import ListJob
from .piece_reader import NotOrderedByIdError, PieceReader, PositionRefusedError
from .pieces import ListPiece
from .source_list import SourceList
from .work_left import Work, work_left
from .worker_pool import WorkerPool

LEAST_SOURCES: Final = 8
"""With fewer sources, each of them is asked where the app has something new."""
_LATELY: Final = 20
"""Sources of a kind that had news lately: the lot falls on one of them."""
MOST_RUNS: Final = 6
"""Runs in a row that believe the app's own list; the next one asks every source: a message that the list
hides, of a source that the lot did not fall on, is found by then."""
RUNS: Final = "runs_by_app_list"
"""In the journal's meta: how many runs have believed it since every source was asked."""
_ENDS: Final = attrgetter("sender", "receiver", "receiver_type")


def runs_by_app_list(journal: Journal) -> int:
    return int(journal[RUNS] or 0)


def candidates(plan: Plan, journal: Journal, sources: Iterable[SourceState], until: int) -> list[Work]:
    """Return the sources whose end was proven by the last run, and that have no gaps below it."""
    if plan.everything or plan.until is not None or until == LAST:
        return []
    sources = list(sources)
    end = max((known.proven for known in sources), default=0)
    proven = (known for known in sources if known.proven == end > 0 and known.state == "open")
    left = work_left(journal, proven, max(until, end + 1))
    return [work for work in left if not work.known.by_time and len(work.gaps) == 1]


@final
class News:
    """The messages that are new since the last run, up to the id `until`, as the app's list shows them."""

    def __init__(self, session: AsyncSession, pool: WorkerPool, sources: SourceList, until: int) -> None:
        self._session = session
        self._pool = pool
        self._sources = sources
        self._until = until
        archive = pool.archive
        left = candidates(archive.plan, archive.journal, sources.known, until)
        self._eligible = {work.source: work for work in left}
        self._sampled: dict[Source, SourceState] = {}
        self._claims: dict[Source, IdSet] = {}
        """The ids that the own lists of sources should show, by the rule of ownership."""
        self._senders: set[Source] = set()
        """Sources that write a message to a group."""

    @property
    def is_worthwhile(self) -> bool:
        """True if the last run has read so many sources to the same end that it saves requests."""
        return len(self._eligible) >= LEAST_SOURCES

    async def read(self) -> bool:
        """Read what is new; return True if the ends of the sources are proven by it.

        Where they are not, nothing is lost: each source has to be asked then, and what was written stays.
        """
        after = max(work.known.proven for work in self._eligible.values())
        if after < self._until and not await self._read_list(after):
            return False
        silent = self._eligible.keys() - self._claims.keys()
        for kind in sorted({source.kind for source in silent}):
            own = [source for source in silent if source.kind == kind]
            # Behind the last message of a list is the gap that is left of it.
            own.sort(key=lambda source: (-self._eligible[source].gaps[0].after, str(source)))
            if not await self._sample({*own[:_LATELY]}):
                return False
        return self._prove(after)

    def believe(self) -> bool:
        """Note that a run believes that the app's own list shows nothing new; False if it is not to."""
        journal = self._pool.archive.journal
        if (runs := runs_by_app_list(journal)) >= MOST_RUNS:
            return False
        with journal.transaction():
            journal[RUNS] = str(runs + 1)
        return True

    # ── the app's own list ──

    async def _read_list(self, after: int) -> bool:
        """Read the app's own list after an id; return True if it reaches the frozen end."""
        app_list = self._sources.add_app_list()
        job = Work(app_list, [], "missing").job()
        piece = ListPiece(of=None, after=after, until=self._until, is_guess=True, may_be_cut=False)
        messages = Messages(AsRows(self._session.sender))
        reader = PieceReader(job.source.list(messages, MessageQuery()), piece)
        pages_left = len(self._eligible) // 2
        try:
            async with aclosing(reader.pages()) as parts:
                async for part in parts:
                    pages_left -= 1
                    if pages_left < 0 or not await self._take(job, part.items):
                        return False
                    if part.items and part.items[-1].id == str(self._until):
                        return True
        except (PositionRefusedError, NotOrderedByIdError, CursorError):
            return False
        except ApiError as error:
            if isinstance(error, AuthenticationError | ServerError):
                raise
        return False

    async def _take(self, job: ListJob, rows: list[Row]) -> bool:
        """Write the rows of a page; return False if it is not known which of them the export holds."""
        rows = self._pool.check.window.within(rows)
        if ids_of(rows).others:
            return False
        by_claimant: dict[Source, list[Row]] = {}
        claimed = []
        for row in rows:
            if claimants := self._pool.check.rules.claimants(*_ENDS(row)):
                claimed.append(row)
                self._senders.update(claimants[:1] if row.receiver_type != "user" else ())
            elif row.receiver_type != "user" and self._has_users:
                return False
            for source in claimants:
                by_claimant.setdefault(source, []).append(row)
        for source, own in by_claimant.items():
            self._claims.setdefault(source, IdSet()).update(ids_of(own).numbers)
        for group in ({*self._claims}, self._senders):
            if not self._sampled.keys() & group and not await self._sample(group):
                return False
        await self._pool.commit([self._pool.check.page(job, claimed)])
        return True

    @property
    def _has_users(self) -> bool:
        return any(known.source.kind == "user" for known in self._sources.known)

    # ── the proof ──

    async def _sample(self, sources: set[Source]) -> bool:
        """Read the own list of one of these sources, drawn by lot; return True if its end is proven."""
        left = sorted(self._eligible.keys() & sources - self._sampled.keys(), key=str)
        if not left:
            return True
        source = left[int(self._session.sender.dice() * len(left))]
        work = self._eligible[source]
        self._sampled[source] = work.known
        found = await self._pool.read([self._pool.piece(work.job(until=self._until), work.gaps[0])])
        return work.known.number in found.ended

    def _prove(self, after: int) -> bool:
        """Note that the ends of all sources are proven; False if one has seen other ids than it should."""
        journal = self._pool.archive.journal
        for source, known in self._sampled.items():
            own = journal.seen(known.number).between(after + 1, self._until)
            if own != self._claims.get(source, IdSet()):
                return False
        with journal.transaction():
            journal[RUNS] = str(runs_by_app_list(journal) + 1)
            for work in self._eligible.values():
                journal.prove(work.known.number, self._until)
        return True
