"""Read an export back: its messages, typed or as they were served, its tables and its runs, from any format.

What the journal says is committed is read, also of a killed run, and while one writes. Without a journal the
files of a finished run's manifest are read; else it is refused. Where a run merges files before they are
read, the journal is asked again for the ids that were not given yet: each message is given once. Hashes are
not checked: `verify` does that.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from difflib import get_close_matches
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from msgspec import structs

from ..._core.replies.decode import many
from ..._core.replies.one_record import parse
from ..._core.replies.rows import row_of
from ..._core.requests.arguments import check
from ..._models.messages import Message
from ..._secrets import repr_of
from ...errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ...times import Time, parse_timestamp, timestamp_words
from ..folder.folder_state import FolderState, read_consistently
from ..folder.journal import NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, TableEntry, find
from ..folder.run_log import RunEntry, runs_in
from ..folder.tables import ATTACHMENTS, TABLES, has_content, read_table as records_of, table_path
from ..formats.stored_records import ALL_TIMES, TimeWindow, damage_error, milliseconds, record_batches
from ..plan.file_names import STEM, path_inside
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of, number
from ..plan.ownership import Source
from ..store.store_journal import StoreFile
from ..store.stored_files import files_now
from .exports import open_exports
from .folder_view import FolderView, MessageFile, from_each

Sources: TypeAlias = str | Sequence[str]
_LIST: Final = many(Message)
_DECODED_AT_ONCE: Final = 500


def read(
    out: str | PathLike[str],
    *,
    since: Time | None = None,
    until: Time | None = None,
    source: Sources | None = None,
) -> Iterator[Message]:
    """Return an iterator over the messages of the export in `out`, typed as a walk gives them.

    `out` is a folder, or the address of an object store such as `s3://bucket/prefix`: its files are then
    downloaded, a few ahead, without those of other times and sources, and removed when they are read. A
    folder of exports, by parts or by apps, is read export by export; a bag of `chatrest seal` as an export.

    - `since`, `until`: messages sent in that time, both included, in the forms that a `Plan` takes. Messages
      without a time are always given. Files and row groups of other times are not read.
    - `source`: the messages stored for a source, such as `"user alice"`, `"group team"`, `"pair alice bob"`,
      or several of these. Each message is stored once, in the first source that it belongs to, so this is
      not all of alice's messages where another source of the plan comes first.

    Messages are in the order of the files: within a source by ascending id, as far as they were written so.
    Memory is needed for some thousand rows. Nothing in the folder is changed. It is no coroutine: it reads a
    disk, and blocks; in a program with asyncio let a thread do the whole work (`asyncio.to_thread`).

    Raises `RequestInvalidError` at once for a wrong argument and for a folder that is not an export, and
    while it is read `ChatRestError` for a damaged file, and OSError.
    """
    return _typed(_records(out, since, until, source))


def read_raw(
    out: str | PathLike[str],
    *,
    since: Time | None = None,
    until: Time | None = None,
    source: Sources | None = None,
) -> Iterator[bytes]:
    """Return an iterator over the records of an export as they were served: bytes of JSON, on one line each.

    Arguments and errors are those of `read`, which costs several times as much.
    """
    return (raw for _, raws in _records(out, since, until, source) for raw in raws)


def _typed(batches: Iterator[tuple[Path, list[bytes]]]) -> Iterator[Message]:
    for path, raws in batches:
        for start in range(0, len(raws), _DECODED_AT_ONCE):
            yield from _messages(path, raws[start : start + _DECODED_AT_ONCE])


def _messages(path: Path, raws: list[bytes]) -> Iterator[Message]:
    """Return the messages of records: as one page, which is faster, or one by one where some are odd."""
    page = _LIST.strictly(b'{"data":[%b]}' % b",".join(raws))
    if page is not None and len(page.items) == len(raws):
        yield from page.items
        return
    for raw in raws:
        try:
            yield parse(Message, raw)
        except ReplyUnreadableError as error:
            raise damage_error(path, error) from None


def _records(
    out: object, since: Time | None, until: Time | None, source: Sources | None
) -> Iterator[tuple[Path, list[bytes]]]:
    """Check the arguments and the folder, and return an iterator over batches of records with their file."""
    window = TimeWindow(_time("since", since, end=False), _time("until", until, end=True))
    if window.since is not None and window.until is not None and window.until < window.since:
        raise RequestInvalidError(
            f"until = {timestamp_words(window.until)}: the window ends before it begins; "
            f"expected since ({timestamp_words(window.since)}) or later"
        )
    views: Iterable[FolderView] = open_exports(out)
    sources = None
    if source is not None:
        views = list(views)
        known = {each for view in views for each in _sources_of(view)}
        sources = frozenset(_named_sources(source, known))

    def opened_exports() -> Iterator[Iterator[tuple[Path, list[bytes]]]]:
        for view in views:
            reader = _ExportReader(view, window, sources)
            with ExitStack() as stack:
                stack.enter_context(view)
                files = reader.files()
                stack.pop_all()
            yield reader.batches(files)

    exports = opened_exports()
    first = next(exports, iter(()))  # its faults are raised at once
    return chain(first, chain.from_iterable(exports))


def _time(name: str, time: Time | None, *, end: bool) -> int | None:
    return None if time is None else milliseconds(parse_timestamp(name, time, end=end), end=end)


def _named_sources(source: Sources, sources: Collection[Source]) -> Iterator[Source]:
    known = {str(each): each for each in sources}
    for text in [source] if isinstance(source, str) else source:
        kind, _, names = str(text).partition(" ")
        reversed_pair = f"pair {' '.join(reversed(names.split(' ')))}" if kind == "pair" else ""
        if (match := known.get(text) or known.get(reversed_pair)) is None:
            similar = get_close_matches(str(text), known, n=3, cutoff=0.5) or list(known)[:3]
            listed = ", ".join(map(repr, similar)) or "none: the export has no sources yet"
            raise RequestInvalidError(
                f"source = {repr_of(text)}: expected sources of the export, such as {listed}", name="source"
            )
        yield match


def _sources_of(view: FolderView) -> list[Source]:
    def sources(state: FolderState) -> list[Source]:
        if state.journal is None:
            raise ChatRestError(
                f"{view.name}/{JOURNAL}: only it says which source wrote a message, and it is lost or "
                "damaged: read without source"
            )
        return [each.source for each in state.journal.sources()]

    return read_consistently(view.folder, sources)


class _ExportReader(NamedTuple):
    view: FolderView
    window: TimeWindow
    sources: frozenset[Source] | None
    """None for all sources."""

    def batches(self, files: list[MessageFile]) -> Iterator[tuple[Path, list[bytes]]]:
        def records(file: MessageFile) -> Iterator[tuple[Path, list[bytes]]]:
            for raws in record_batches(file.path, file.name, file.size, self.window):
                if file.is_wanted is not None:
                    raws = list(filter(file.is_wanted, raws))
                if raws := self.window.within(raws):
                    yield file.path, raws

        with self.view:
            yield from from_each(self.view, files, self.files, records)

    def files(self, ids: IdSet | None = None) -> list[MessageFile]:
        """Return the files to read, for these ids or all: what is committed now, also while a run writes."""
        return read_consistently(self.view.folder, lambda state: self._files(state, ids))

    def _files(self, state: FolderState, ids: IdSet | None) -> list[MessageFile]:
        folder, manifest = self.view.folder, state.manifest
        is_finished = manifest is not None and manifest.finished is not None
        if state.journal is not None:
            try:
                return list(self._files_of_journal(state.journal, ids))
            except ChatRestError as error:
                has_entries = is_finished and self.sources is None  # the manifest lists the files as well
                if isinstance(error, RequestInvalidError) or not has_entries:
                    raise
        if manifest is not None and is_finished:
            parts = [entry for entry in manifest.files if entry.role == "part"]
            return [
                MessageFile(path_inside(folder, each.name), each.name, IdSet(), each.bytes) for each in parts
            ]
        if manifest is None:
            raise ChatRestError(f"{self.view.name}/{MANIFEST}: {state.manifest_fault}")
        text = "only it knows what the last run, which did not end, has committed"
        raise self.view.without_journal(state, text)

    def _files_of_journal(self, journal: Journal, wanted_ids: IdSet | None) -> Iterator[MessageFile]:
        stored = list(files_now(self.view.folder, journal, STEM))
        ids_by_file = None
        if self.sources is not None:
            ids_by_file = _ids_of_sources(journal, [file for file, *_ in stored], self.sources)
        for file, path, name in stored:
            if self.window != ALL_TIMES and not self._may_hold(journal, file):
                continue
            chosen = None if ids_by_file is None else ids_by_file[file.number]
            if chosen is not None and not chosen:
                continue  # there may be a million files: no query for each
            all_ids = journal.ids_in([file])
            ids = all_ids if chosen is None else chosen
            if wanted_ids is not None:
                ids = ids & wanted_ids
            if ids or not all_ids:
                is_wanted = None if len(ids) == len(all_ids) else _has_id_of(journal, ids)
                yield MessageFile(path, name, ids, file.size, is_wanted=is_wanted)

    def _may_hold(self, journal: Journal, file: StoreFile) -> bool:
        """Return False if no row of a file was sent in the window; those without a number may be undated."""
        return any(
            len(block.ids) < block.rows or self.window.may_hold(block.since, block.until)
            for block in journal.blocks(file.number)
        )


def _has_id_of(journal: Journal, ids: IdSet) -> Callable[[bytes], bool]:
    keys = set(journal.keys_of(ids).values())

    def is_wanted(raw: bytes) -> bool:
        row = row_of(raw)
        return (number(row.id) or 0) in ids or key_of(row) in keys

    return is_wanted


def _ids_of_sources(
    journal: Journal, files: list[StoreFile], sources: Collection[Source]
) -> dict[int, IdSet]:
    """Return the ids that were stored for some sources, by the numbers of their files.

    A row of a file that was adopted has no source in the journal: it belongs to the first source that has
    shown it. Raises `ChatRestError` if the journal has no row of a file.
    """
    blocks = {file.number: journal.blocks(file.number) for file in files}
    if unknown := [file.name for file in files if file.size and not blocks[file.number]]:
        raise ChatRestError(
            f"{journal.path}: only it says which source wrote a message here, and it has no row of "
            f"{unknown[0]}: read without source"
        )
    is_chosen = {each.number: each.source in sources for each in journal.sources()}
    unassigned = IdSet.union(block.ids for each in blocks.values() for block in each if not block.source)
    adopted = IdSet()
    for source_number in is_chosen if unassigned else ():
        shown = journal.seen(source_number) & unassigned
        unassigned.discard(shown)
        if is_chosen[source_number]:
            adopted.update(shown)
    return {
        number: IdSet.union(
            block.ids if block.source else block.ids & adopted
            for block in each
            if not block.source or is_chosen.get(block.source)
        )
        for number, each in blocks.items()
    }


def read_table(out: str | PathLike[str], table: str) -> Iterator[bytes]:
    """Return an iterator over the records of a table of the export in `out`, as they were served.

    `table` is one that the export has, such as `users`, or `attachments`, whose rows have the name of a file
    in `file`. If the export has no such table, there are no records. It reads a disk, and blocks.

    Raises `RequestInvalidError` for another name, for a folder that is not an export, and for a table that
    is not as the manifest says; OSError.
    """
    check(table in (*TABLES, ATTACHMENTS), "table", table, ", ".join((*TABLES, ATTACHMENTS)))
    for view in open_exports(out):
        with view:
            for entry in table_entries(view):
                if entry.table == table:
                    yield from table_records(view, entry)


def table_entries(view: FolderView) -> list[TableEntry]:
    """Return the tables that the manifest of an open export names; none where there is no manifest yet."""
    manifest = find(view.folder)
    return [] if manifest is None else manifest.tables


def table_records(view: FolderView, entry: TableEntry) -> Iterator[bytes]:
    """Yield the records of a table of an open export; raises as `read_table`."""
    with view.file(entry.file):
        path = table_path(view.folder, entry.file)
        if not has_content(path, entry.bytes, entry.sha256):
            raise RequestInvalidError(
                f"{view.name}/{entry.file} is not as the manifest says: `chatrest verify {view.name}` shows "
                "what is wrong"
            )
        yield from records_of(path, entry.table)


@contextmanager
def attachment_files(out: str | PathLike[str]) -> Iterator[Callable[[str], AbstractContextManager[Path]]]:
    """Give a context manager for the path of an attachment, by `file` of its row in the table `attachments`.

    There may be no file at the path. A file of an object store is downloaded, and removed after the block.
    Raises `ChatRestError` for a name that leads out of the export, and OSError.
    """
    with ExitStack() as stack:
        views = [stack.enter_context(view) for view in open_exports(out)]

        @contextmanager
        def attachment_file(file: str) -> Iterator[Path]:
            name = f"{ATTACHMENTS}/{file}"
            for view in views:  # one file of several exports has one name, and the same content
                with view.file(name):
                    path = path_inside(view.folder, name)
                    if view is views[-1] or path.is_file():
                        views.remove(view)
                        views.insert(0, view)  # the next one is often there, too
                        yield path
                        return

        yield attachment_file


def runs(out: str | PathLike[str]) -> Iterator[RunEntry]:
    """Yield the runs of the export in a folder or object store, oldest first.

    A run that was killed has no entry. In a folder of exports the entries are ordered by export, and `part`
    is the name of the export. Lines that are damaged, or of another program, are left out.

    Raises `RequestInvalidError` for a folder
    that is not an export, and OSError.
    """
    for view in open_exports(out):
        with view:
            for entry in runs_in(view.folder):
                yield structs.replace(entry, part=view.export) if view.export else entry
