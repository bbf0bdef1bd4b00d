"""The files that messages link to, in `attachments/` beside the messages.

```
stored messages → links in the journal → each file: fetched, synced, renamed, noted → table `attachments`
```

- `files/ab/abcd….jpg`: a file is named by the SHA-256 of its content, so one that many messages link to is
  there once. The table `attachments` says which message and position has which file.
- After the messages, which are never held up. The messages that are new since the last run are looked
  through, and all of them after a recheck, which may have brought new versions.
- A file that fails is noted and tried again by the next run, after all others. After many failures in a row
  the rest of a server is left to the next run: one that is down is not asked for each of its files.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ..._core.requests.arguments import check, check_count
from ..._threads import in_thread
from ...app import is_loopback
from ...errors import ChatRestError
from ...session import AsyncSession
from ..folder.export_folder import ExportFolder
from ..folder.tables import ATTACHMENTS
from ..formats.stored_records import SourceLines, piece_of, record_members
from ..plan.id_set import IdSet
from ..plan.message_ids import LAST, number
from ..plan.report import AttachmentCounts
from ..store.disk import Disk, make_folder, sync_folder
from .attachment_journal import NAME, AttachmentJournal, FetchResult, Link, is_page, links_of, stored_name
from .downloads import Download, Downloader, DownloadError

ATTEMPTS: Final = 3
MAX_FAILURES: Final = 20
"""Failures in a row of one server, after which the rest of its files is left to the next run."""
_MAX_OF_ALL: Final = 200
"""Failures in a row, of whichever servers, after which all the rest is."""
_MESSAGES: Final = 10_000
_RECORDS: Final = 1000
_PAUSE: Final = 1.0
_PARTIAL: Final = "partial-"


class AttachmentOptions(Struct, frozen=True, kw_only=True):
    """The limits of attachments.

    - `max_bytes`: the largest file that is fetched, in bytes; a larger one is noted as too large.
    - `concurrency`: the number of files that are fetched at once.
    - `allow_private`: also fetch from addresses that are not public, and by `http` from loopback. Users of
      the app write the addresses: allow it only where none of them may misuse this machine's network.

    Raises `RequestInvalidError` where a value is wrong.
    """

    max_bytes: int = 100 * 1024 * 1024
    concurrency: int = 8
    allow_private: bool = False

    def __post_init__(self) -> None:
        check_count("max_bytes", self.max_bytes)
        check_count("concurrency", self.concurrency)
        check(isinstance(self.allow_private, bool), "allow_private", self.allow_private, "True or False")


class AttachmentRun:
    """The attachments of one run of an export; used with `with`, at whose end the journal is closed."""

    def __init__(self, export: ExportFolder, options: AttachmentOptions) -> None:
        self._export = export
        self._options = options
        self._folder = export.folder / ATTACHMENTS
        make_own_folder(export.disk, self._folder)
        self._journal = AttachmentJournal(self._folder / NAME)
        self._counts = AttachmentCounts()
        self._failures = Counter[str]()
        """Failures in a row by server, and of all under an empty name."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def forget_searched(self) -> None:
        """Let the next search go through all messages: some of them are about to change."""
        self._journal.set_searched(IdSet())

    async def fetch(self, session: AsyncSession, *, is_settled: bool = True) -> AttachmentCounts:
        """Fetch what the stored messages link to, and replace the table of all links; return the counts.

        Costs one request per file, without the app's key. `is_settled` is False if messages may
        still change, as a recheck is not done. Raises OSError where the disk fails.
        """
        await in_thread(self._recover)
        await self._add_links(is_settled=is_settled)
        local = self._options.allow_private or is_loopback(urlsplit(session.app.chat_url).hostname or "")
        names = count()
        disk, max_bytes = self._export.disk, self._options.max_bytes
        async with Downloader(disk, max_bytes=max_bytes, local=local) as downloader:

            async def fetch(link: Link) -> FetchResult:
                path = self._folder / f"{_PARTIAL}{next(names)}"
                return await self._fetch(downloader, link, path, session.sender.sleep)

            files = session.fan_out(self._pending(), fetch, concurrency=self._options.concurrency)
            async with files as outcomes:
                async for outcome in outcomes:
                    await self._note(outcome.item, outcome.result(), session.sender.now())
        replace = partial(self._export.replace_table, ATTACHMENTS, self._pieces(), session.sender.now())
        await in_thread(replace)
        return await in_thread(self._counted)

    def _recover(self) -> None:
        """Remove what a killed run left, and note the files that are not there any more."""
        for path in self._folder.glob(f"{_PARTIAL}*"):
            self._export.disk.remove(path)
        for link, name, size, sha256 in self._journal.stored():
            path = self._folder / name
            is_named_so = path.name.partition(".")[0] == sha256
            if not is_named_so or not path.is_file() or path.stat().st_size != size:
                self._journal.reset(link)

    async def _add_links(self, *, is_settled: bool) -> None:
        export = self._export
        written = export.store.written
        new = written - await in_thread(self._journal.searched)
        # Where nothing is new, this reads the messages alone that have no number.
        rows = export.scan(new.first, new.last) if new else export.scan(LAST, LAST)
        # One whose id is no number is always among them.
        raws = (bytes(row.raw) for row in rows if (key := number(row.id)) is None or key in new)
        while batch := await in_thread(lambda: list(islice(raws, _MESSAGES))):
            links = (link for raw in batch for link in links_of(record_members(raw)))
            await in_thread(partial(self._journal.add, links))
        if is_settled:
            await in_thread(partial(self._journal.set_searched, written))

    async def _pending(self) -> AsyncIterator[Link]:
        """Yield the links to fetch, until too many have failed."""
        links = self._journal.pending(self._options.max_bytes)
        served = (link for link in links if self._failures[_server(link)] < MAX_FAILURES)
        while (link := await in_thread(lambda: next(served, None))) and self._failures[""] < _MAX_OF_ALL:
            yield link

    async def _fetch(
        self, downloader: Downloader, link: Link, path: Path, sleep: Callable[[float], Awaitable[None]]
    ) -> FetchResult:
        """Fetch a file under its final name; a failure is a result, too."""
        if (known := await in_thread(lambda: self._journal.stored_as(link))) is not None:
            return known
        for attempt in range(1, ATTEMPTS + 1):
            try:
                download = await downloader.fetch(link.url, path, is_page=is_page(link))
                self._counts.fetched += 1
                self._counts.bytes += download.bytes
                return await in_thread(partial(self._keep, link, path, download))
            except DownloadError as error:
                await in_thread(partial(self._export.disk.remove, path))
                if not error.may_pass or attempt == ATTEMPTS:
                    limit = self._options.max_bytes if error.state == "too_large" else None
                    return FetchResult(error.state, bytes=limit, error=str(error))
            await sleep(_PAUSE * attempt)
        raise AssertionError

    def _keep(self, link: Link, path: Path, download: Download) -> FetchResult:
        disk, name = self._export.disk, stored_name(download.sha256, link)
        final_path = self._folder / name
        for folder in (final_path.parent.parent, final_path.parent):
            make_own_folder(disk, folder)
        disk.replace(path, final_path)
        sync_folder(disk, final_path.parent)
        return FetchResult("stored", name, download.bytes, download.sha256)

    async def _note(self, link: Link, fetched: FetchResult, now: int) -> None:
        await in_thread(lambda: self._journal.note(link, fetched, now))
        for name in (_server(link), ""):
            self._failures[name] = self._failures[name] + 1 if fetched.state == "failed" else 0

    def _pieces(self) -> Iterator[SourceLines]:
        records = map(msgspec.json.encode, self._journal.records())
        while batch := list(islice(records, _RECORDS)):
            yield piece_of(batch)

    def _counted(self) -> AttachmentCounts:
        counts = self._journal.counts()
        for state, links in counts.items():
            setattr(self._counts, "pending" if state == "new" else state, links)
        self._counts.errors = self._journal.errors()
        return self._counts


def _server(link: Link) -> str:
    return link.url.partition("://")[2].partition("/")[0]


def make_own_folder(disk: Disk, folder: Path) -> None:
    """Make a folder whose name survives a loss of power; `ChatRestError` for a symbolic link."""
    if folder.is_symlink():
        raise ChatRestError(f"{folder} is a symbolic link, and may lead out of the folder; remove it")
    make_folder(disk, folder)
