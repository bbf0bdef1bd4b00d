"""One run of a part: its input for the night, and the messages that parts leave for each other.

```
night's users and newest messages → lists → take_in → what is missing → leave
```

A message that another part writes is noted with the page that shows it, and left in that part's folder before
the run ends: as its id, or completely if no list of that part can show it. Messages left by others count as
seen: those not written are missing, and are read again like all missing ones.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec

from ..._core.replies.rows import Row, row_of
from ..._threads import in_thread
from ...errors import ChatRestError
from ..folder.export_folder import ExportFolder
from ..folder.fetched_page import FetchedPage
from ..folder.journal import Journal
from ..folder.part_files import PartFiles, add_foreign, foreign_name, stamps_for
from ..plan.id_set import IdSet
from ..plan.message_ids import NO_IDS, PageIds, ids_of, number
from ..plan.ownership import OF_PARTS, Source
from ..plan.parts import (
    FOREIGN,
    Foreign,
    NightFindings,
    NightUsers,
    PartOwnership,
    Parts,
    PartState,
    part_name,
)
from .source_list import SourceList
from .worker_pool import WorkerPool

_TAKEN: Final = "taken"
"""In the journal's meta: the stamps of the files that were taken in, by their names."""


class PartRun:
    def __init__(
        self, files: PartFiles, parts: Parts, part: int, nights: Iterable[NightUsers],
        findings: NightFindings, rule: PartOwnership, state: PartState,
    ) -> None:  # fmt: skip
        self.part, self.parts, self.findings = part, parts, findings
        self._files = files
        self.rule = rule
        self.users: list[Source] = [
            Source("user", (uid,))
            for night in nights
            for uid in (night.uids(part) if night.packed else ())
            if uid not in rule.gone
        ]
        """Those that its lists are of."""
        is_first = state.night < parts.night
        self.asks_all: bool = is_first and parts.night > 0 and findings.after is None and not parts.plan.until
        """True if each list is to be asked, also one that is covered up to the frozen end."""
        self.taken: dict[str, str] = {}
        """The stamps of what was taken in."""
        self.reasons: list[str] = [findings.fault] if findings.fault else []
        """Why the part is not complete, beside what its lists say."""

    async def take_night_messages(self, pool: WorkerPool, sources: SourceList, until: int) -> bool:
        """Write the messages since the last night if they were requested for all parts; False if not.

        The lists of sources that were read to the end of the last night need no request then.
        """
        after = self.findings.after
        if after is None:
            return False
        journal = pool.export.journal
        rows = [row_of(raw) for raw in self.findings.rows]
        owner = self.rule.owner
        rows = [row for row in rows if owner(row.sender, row.receiver, row.receiver_type).part == self.part]
        rows = pool.check.window.within(rows)
        if rows:
            await self._commit(pool, rows, NO_IDS)

        def prove() -> None:
            with journal.transaction():
                for state in sources.run_sources:
                    if state.proven == after and state.order != "other" and state.state == "open":
                        journal.note_proven(state.number, until)

        await in_thread(prove)
        return True

    async def take_in(self, pool: WorkerPool) -> None:
        """Note the messages that lists of other parts have shown as seen; write those that were left."""
        journal = pool.export.journal
        self.taken = msgspec.json.decode(journal[_TAKEN] or "{}", type=dict[str, str])
        stamps = await stamps_for(self._files, self.parts, self.part)
        merged, stamped = Foreign(), dict[str, str]()
        for name in sorted(name for name, stamp in stamps.items() if self.taken.get(name) != stamp):
            path = f"{part_name(self.part, self.parts.parts)}/{FOREIGN}/{name}"
            if (file := await self._files.read(path)) is None:
                continue
            try:
                merged = merged.merged(Foreign.parse(file.data, f"{self._files.place}/{path}"))
            except ChatRestError as error:
                await self._files.remove(path)
                self.reasons.append(str(error))
            else:
                stamped[name] = file.stamp
        if not stamped:
            return
        # At once: the journal reads the sets of all sources to know which ids were seen.
        ids = IdSet.from_bytes(merged.numbers) if merged.numbers else IdSet()
        names = {key: Row(id=key) for key in merged.names}
        await self._commit(pool, list(map(row_of, merged.rows)), PageIds(ids, names))
        self.taken |= stamped

        def note() -> None:
            with journal.transaction():
                # Those on disk may be older; one without an id is not compared with any.
                journal.edits.note(row for row in map(row_of, merged.rows) if row.id)
                journal[_TAKEN] = msgspec.json.encode(self.taken).decode()

        await in_thread(note)

    async def _commit(self, pool: WorkerPool, rows: list[Row], ids: PageIds) -> None:
        number = await in_thread(partial(_source_number, pool.export.journal))
        own = ids_of(rows)
        ids = PageIds(own.numbers | ids.numbers, own.others | ids.others)
        unseen = await in_thread(partial(_unseen, pool.export, ids))
        written = pool.check.by_writer(OF_PARTS, rows)
        await pool.commit([
            FetchedPage(number=number, source=OF_PARTS, purpose="missing", seen=unseen, rows=written)
        ])  # fmt: skip

    async def leave(self, export: ExportFolder) -> None:
        """Leave other parts their messages, unless they have been left already."""
        journal = export.journal
        names = {foreign_name(self.parts, part, self.part): part for part in journal.outgoing.parts()}
        lost = {names[name] for name in await self._files.lost(list(names))}
        for part in sorted(journal.outgoing.parts(only_unsent=True) | lost):
            foreign = await in_thread(partial(_foreign, journal, part))
            await add_foreign(self._files, foreign_name(self.parts, part, self.part), foreign)
            await in_thread(partial(journal.outgoing.note_sent, part))


def _foreign(journal: Journal, part: int) -> Foreign:
    ids = journal.outgoing.ids(part)
    names = [key for key in journal.texts(ids.names) if number(key) is None] if ids.names else []
    return Foreign(
        numbers=ids.numbers.to_bytes() if ids.numbers else b"", names=names, rows=journal.outgoing.rows(part)
    )


def _source_number(journal: Journal) -> int:
    if not journal.source_number(OF_PARTS.key):
        with journal.transaction():
            journal.add_sources([OF_PARTS], is_asked=False)
    return journal.source_number(OF_PARTS.key)


def _unseen(export: ExportFolder, ids: PageIds) -> PageIds:
    """Return the ids that are neither on disk nor shown by a list of this part: few of many millions."""
    journal = export.journal
    known_ids = export.store.written | journal.expected_ids()
    named = journal.numbers_of_names(ids.others)
    others = {key: row for key, row in ids.others.items() if named.get(key, 0) not in known_ids}
    return PageIds(ids.numbers - known_ids, others)
