"""Parquet: columns to ask questions of, and each record as it was served in one of them.

A Parquet file can neither grow nor be cut, and a page must be on the disk before the journal covers it. So
rows go to a spool first: growing files of lines in the folder `spool`, as NDJSON's are, and compressed. When
all is there, each of them becomes a Parquet file (`parts`) and is removed, one after the other: no more room
is needed than one of them takes. What has changed takes its place after that, and so in Parquet files only.

What the columns hold is told in `columns`.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, final

from ...core.rows import Row
from ...errors import RequestInvalidError
from ..disk import sync_folder
from ..journal import Part
from ..names import by_month, source_name
from ..plan import Plan
from ..sink import LAST, Lost, Site, Stored
from ..sources import Source
from .history import History
from .lines import Lines
from .ndjson import stored_lines
from .repair import repaired

LARGEST: Final = 1 << 26
"""Bytes of a spool from which on the next one is begun. The Parquet file that it becomes has about as many,
and half a million messages."""
_FOLDER: Final = "spool"


@final
class ParquetSink:
    """The sink of `parquet`; `RequestInvalidError` where pyarrow is not installed."""

    upserts: Final = False

    def __init__(self, plan: Plan, site: Site, *, largest: int = LARGEST) -> None:
        try:
            from . import parts, tables  # here, for it may not be there, and takes long to be imported
        except ImportError:
            raise RequestInvalidError(
                "format = 'parquet': it needs the extra: pip install 'chatrest[parquet]'"
            ) from None
        assert plan.compress is not None
        self._site = site
        self._by_month = plan.partition == "month"
        self._folder = site.folder / _FOLDER
        packing = tables.packing_of("zstd")
        self._lines = Lines(site, packing, role="spool", suffix=".spool", largest=largest)
        self._history = History(site, tables.packing_of(plan.compress))
        self._parts = parts.Parts(site, plan.compress, self._history)

    def repair(self) -> list[Lost]:
        """Cuts torn ends, removes what never came to be, and finishes what was being put into place."""
        self._history.repair()
        lost = [*repaired(self._site, self._lines), *self._parts.repair()]
        self._sweep()
        return lost

    def add(self, number: int, source: Source, rows: list[Row]) -> int:
        """Takes rows: all of them are new."""
        if not self._folder.exists():
            self._folder.mkdir()
            sync_folder(self._site.disk, self._site.folder)
        buckets = by_month(rows) if self._by_month else {source.key: rows}
        for bucket, some in buckets.items():
            self._lines.add_to(bucket, f"{_FOLDER}/{self._name_of(bucket)}", number, some)
        return len(rows)

    def flush(self) -> None:
        """Writes, and syncs."""
        self._lines.flush()
        self._site.files.sync()

    def forget(self) -> None:
        """Forgets what was not committed."""
        self._lines.forget()
        self._history.forget()

    def stored(self, first: int = 0, last: int = LAST, since: int = 0) -> Iterator[Stored]:
        """The rows of the frames that may hold one."""
        yield from stored_lines(self._site, self._lines, first, last, since)
        yield from self._parts.stored(first, last, since)

    def counts(self) -> dict[int, int]:
        """As the frames tell."""
        return self._site.journal.rows(["part", "spool"])

    def amend(self) -> int:
        """Makes the parts anew that hold an older version of a changed message."""
        self.finish()
        return self._parts.amend()

    def relieve(self) -> None:
        """Makes a part of a spool that is full: a run of days does not leave all of it for its end."""
        full = (spool for spool in self._site.journal.parts("spool") if spool.state == "whole")
        if spool := next(full, None):
            self._convert(spool)

    def finish(self) -> None:
        """Makes a part of each spool."""
        self._lines.forget()  # in a moment, the spools that it knows of are no more
        for spool in self._site.journal.parts("spool"):
            self._convert(spool)
        with suppress(OSError):
            self._folder.rmdir()

    def close(self) -> None:
        """Nothing: its files are the site's."""

    def _name_of(self, bucket: str) -> str:
        return bucket if self._by_month else source_name(Source.parse(bucket))

    def _convert(self, spool: Part) -> None:
        self._parts.take(spool, self._lines, self._name_of(spool.bucket))
        path = self._site.folder / spool.name
        self._site.files.forget(path)
        self._site.disk.remove(path)

    def _sweep(self) -> None:
        """Removes spools that have become parts."""
        known = {spool.name for spool in self._site.journal.parts("spool")}
        for path in list(self._folder.glob("*.spool*")):
            if f"{_FOLDER}/{path.name}" not in known:
                self._site.disk.remove(path)
