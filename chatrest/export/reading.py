"""Read an export back: its messages, typed or as they were served, from any format.

| the folder                   | what is read                                                            |
|------------------------------|-------------------------------------------------------------------------|
| a finished export            | the files that its manifest lists; the journal only tells their blocks  |
| a run was killed             | what the journal says is committed, rows that wait in spools included   |
| a run is writing             | whole records in place on the disk; not what is in spools (Parquet)     |
| no journal, or a damaged one | the files that the manifest of a finished run lists; else it is refused |

Hashes are not checked: `verify` does that.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ..core.replies.decode import many, parse
from ..core.replies.rows import Row, row_of
from ..errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ..models.lenient import Coercions
from ..models.messages import Message
from ..secrets import shown
from ..storage import InUseError
from ..times import Time, parse_timestamp, timestamp_words
from .archive import kinds_of_plan
from .file_names import DATABASE, MESSAGES, SPOOL, STEM, path_inside, source_name
from .folder_view import FolderView, open_view
from .id_set import IdSet
from .journal import NAME as JOURNAL, Journal
from .manifest import NAME as MANIFEST, Manifest
from .message_ids import key_of, number
from .opening import read_folder
from .ownership import Source
from .plan import Plan
from .store.journal import StoreBlock
from .store.segments import segment_path
from .stored_records import (
    ALL_TIMES,
    TimeWindow,
    damaged,
    database_rows,
    lines,
    milliseconds,
    parquet_batches,
)

Sources: TypeAlias = str | Sequence[str]
_LIST: Final = many(Message)
_DECODED_AT_ONCE: Final = 500
_SUFFIXES: Final = (".ndjson", ".ndjson.gz", ".ndjson.zst", ".parquet")


def read(
    out: str | PathLike[str],
    *,
    since: Time | None = None,
    until: Time | None = None,
    source: Sources | None = None,
) -> Iterator[Message]:
    """Return an iterator over the messages of the export in `out`, typed as a walk gives them.

    `out` is a folder, or the address of an object store such as `s3://bucket/prefix`: its files are then
    downloaded, a few ahead, without those of other times and sources, and removed when they are read.

    - `since`, `until`: messages sent in that time, both included, in the forms that a `Plan` takes. Messages
      that tell no time are always given. Blocks and row groups of other times are not read.
    - `source`: the messages stored for a source, such as `"user alice"`, `"group team"`, `"pair alice bob"`,
      or several of these. Each message is stored once, in the first source that it belongs to, so this is
      not all of alice's messages where another source of the plan comes first.

    Messages come in the order of the files: within a source by ascending id, as far as they were written so.
    Memory is needed for one block, or some thousand rows. Nothing in the folder is changed.

    It is no coroutine: it reads a disk, and blocks. In a program with asyncio let a thread do the whole work,
    `await asyncio.to_thread(work, "out")`, where `work` iterates and returns what is needed.

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
    page = _LIST.kind.listing(b'{"data":[%b]}' % b",".join(raws), Coercions())
    if page is not None and len(page.data) == len(raws):
        yield from page.data
        return
    for raw in raws:
        try:
            yield parse(Message, raw)
        except ReplyUnreadableError as error:
            raise damaged(path, error) from None


# ── the choice ──


def _records(
    out: object, since: Time | None, until: Time | None, source: Sources | None
) -> Iterator[tuple[Path, list[bytes]]]:
    """Check the arguments and the folder, and return an iterator over batches of records with their file."""
    window = TimeWindow(_time("since", since, end=False), _time("until", until, end=True))
    if window.since is not None and window.until is not None and window.until < window.since:
        raise RequestInvalidError(
            f"until = {timestamp_words(window.until)}: the window ends before it begins; "
            f"allowed is since ({timestamp_words(window.since)}) or later"
        )
    with ExitStack() as stack:
        view = stack.enter_context(open_view(out))
        export = _opened(view)
        sources = None if source is None else frozenset(_named_sources(source, export))
        if sources is not None and not export.has_journal:
            for file in export.files:
                _folder_of_source(file)
        stack.pop_all()
    return _batches(view, export, window, sources)


def _time(name: str, time: Time | None, *, end: bool) -> int | None:
    return None if time is None else milliseconds(parse_timestamp(name, time, end=end), end=end)


def _named_sources(source: Sources, export: "_Export") -> Iterator[Source]:
    """Return the sources of these names; `RequestInvalidError` for one that the export does not have."""
    known = {str(each): each for each in export.sources}
    for text in [source] if isinstance(source, str) else source:
        kind, _, names = str(text).partition(" ")
        turned = f"pair {' '.join(reversed(names.split(' ')))}" if kind == "pair" else ""
        if (match := known.get(text) or known.get(turned)) is None:
            near = get_close_matches(str(text), known, n=3, cutoff=0.5) or list(known)[:3]
            listed = ", ".join(map(repr, near)) or "none: the export has no sources yet"
            raise RequestInvalidError(
                f"source = {shown(text)}: allowed are sources of the export, such as {listed}"
            )
        yield match


# ── the files ──


class _File(NamedTuple):
    """A file with messages."""

    path: Path
    name: str
    """Below the export's folder; of lines where it is a segment."""
    size: int | None = None
    """Bytes to read; None for all whole records that are there."""
    number: int = 0
    """In the journal."""


class _Export(NamedTuple):
    """An export that can be read."""

    folder: Path
    files: list[_File]
    sources: list[Source]
    has_journal: bool = False
    """True where the journal knows the ids and times of the files' rows."""


def _opened(view: FolderView) -> _Export:
    """Return what there is to read. Raises `RequestInvalidError` where it is not an export."""
    folder = view.folder
    with ExitStack() as stack:
        state = read_folder(folder, stack)
        manifest = state.manifest
        if state.is_in_use:
            return _on_disk(view, manifest)
        is_finished = manifest is not None and manifest.finished is not None
        if state.journal is not None and (state.is_finished or not is_finished):
            try:
                return _of_journal(view, state.journal)
            except ChatRestError:
                if not is_finished:  # else the manifest lists the files as well
                    raise
    if manifest is not None and is_finished:
        return _of_manifest(view, manifest)
    if manifest is None:
        raise ChatRestError(f"{folder / MANIFEST}: {state.manifest_fault}")
    fault = state.journal_fault or "it is lost, and the last run did not come to its end"
    raise ChatRestError(f"{folder / JOURNAL}: {fault}")


def _of_journal(view: FolderView, journal: Journal) -> _Export:
    kinds = kinds_of_plan(Plan.parse(journal["plan"] or ""), journal["app"] or "")
    packing = kinds[STEM].format.packing.suffix
    files = list[_File]()
    for file in journal.files("open", "sealing", "sealed"):
        if file.stem.partition("/")[0] != STEM or not file.size:
            continue
        if file.state == "sealed":
            files.append(_File(path_inside(view.folder, file.name), file.name, file.size, file.number))
        else:  # a run was killed, and its rows wait in segments
            path = segment_path(view.folder, file.name)
            files.append(_File(path, f"{SPOOL}/segment.ndjson{packing}", file.size, file.number))
    return _Export(view.folder, files, [each.source for each in journal.sources()], has_journal=True)


def _of_manifest(view: FolderView, manifest: Manifest) -> _Export:
    entries = [entry for entry in manifest.files if entry.role == "part"]
    files = [_File(path_inside(view.folder, entry.name), entry.name, entry.bytes) for entry in entries]
    return _Export(view.folder, files, _sources_of(manifest))


def _on_disk(view: FolderView, manifest: Manifest | None) -> _Export:
    """Return the files that are in place while a run goes on: its journal cannot be asked."""
    folder = view.folder
    paths = sorted(path for path in (folder / MESSAGES).rglob("*") if path.name.endswith(_SUFFIXES))
    names = [path.relative_to(folder).as_posix() for path in paths]
    names += [DATABASE] if view.has(DATABASE) else []
    files = [_File(path_inside(folder, name), name) for name in names]
    return _Export(folder, files, [] if manifest is None else _sources_of(manifest))


def _sources_of(manifest: Manifest) -> list[Source]:
    return [Source.parse(json.dumps(entry.source)) for entry in manifest.sources]


# ── their records ──


def _batches(
    view: FolderView, export: _Export, window: TimeWindow, sources: frozenset[Source] | None
) -> Iterator[tuple[Path, list[bytes]]]:
    with view:
        files = export.files
        if view.is_remote:
            files = [file for file in files if _may_hold_rows(export, file, window, sources)]
            view.expect(file.name for file in files)
        for file in files:
            with view.file(file.name):
                for raws in _of_file(export, file, window, sources):
                    if raws := window.within(raws):
                        yield file.path, raws


def _may_hold_rows(
    export: _Export, file: _File, window: TimeWindow, sources: frozenset[Source] | None
) -> bool:
    """Return False for a file that need not be read, as the journal says."""
    if (sources is None and window == ALL_TIMES) or (blocks := _blocks(export, file)) is None:
        return True
    return any(_is_chosen(block, source, window, sources) for block, source in blocks)


def _of_file(
    export: _Export, file: _File, window: TimeWindow, sources: frozenset[Source] | None
) -> Iterator[list[bytes]]:
    if file.name == DATABASE:
        keys = None if sources is None else json.dumps([source.key for source in sources])
        yield from database_rows(file.path, window, keys)
    elif file.name.endswith(".parquet"):
        yield from _parquet_rows(file.path, window, sources)
    elif _may_hold_rows(export, file, window, sources):
        is_wanted = _of_sources(export, file, sources)
        for raws in lines(file.path, file.name, file.size):
            yield raws if is_wanted is None else [raw for raw in raws if is_wanted(row_of(raw))]


def _of_sources(
    export: _Export, file: _File, sources: frozenset[Source] | None
) -> Callable[[Row], bool] | None:
    """Return what says whether a row of a file of lines was stored for the sources; None where all were."""
    if sources is None:
        return None
    if (blocks := _blocks(export, file)) is None:
        is_theirs = _folder_of_source(file) in set(map(source_name, sources))
        return None if is_theirs else lambda _: False
    if all(source in sources for _, source in blocks):
        return None
    numbers = IdSet.union(block.ids for block, source in blocks if source in sources)
    others = _others(export, file, sources)
    return lambda row: (number(row.id) or 0) in numbers or key_of(row) in others


def _parquet_rows(path: Path, window: TimeWindow, sources: frozenset[Source] | None) -> Iterator[list[bytes]]:
    if sources is None:
        yield from (raws for raws, _ in parquet_batches(path, (), window))
        return
    chosen = frozenset(map(str, sources))
    for raws, [names] in parquet_batches(path, ["source_name"], window):
        yield [raw for raw, name in zip(raws, names, strict=True) if name in chosen]


def _is_chosen(
    block: StoreBlock, source: Source | None, window: TimeWindow, sources: frozenset[Source] | None
) -> bool:
    has_others = len(block.ids) < block.rows  # they may be undated
    may_hold = has_others or window.may_hold(block.since, block.until)
    return may_hold and (sources is None or source in sources)


def _blocks(export: _Export, file: _File) -> list[tuple[StoreBlock, Source | None]] | None:
    """Return the blocks of a file with their sources; None where the journal cannot be asked any more."""
    if not export.has_journal:
        return None
    try:
        with Journal(export.folder / JOURNAL) as journal:
            blocks = journal.blocks(file.number)
            sources = journal.sources_of(block.source for block in blocks)
            return [(block, sources.get(block.source)) for block in blocks]
    except InUseError:  # a run has begun meanwhile
        return None


def _others(export: _Export, file: _File, sources: frozenset[Source]) -> set[str]:
    """Return the ids of a file that are no numbers, and that were stored for sources."""
    with Journal(export.folder / JOURNAL) as journal:
        keys = journal.others_in(file.number)
        return {
            key for source in sources for key in journal.others_seen(journal.source_of(source.key), keys)
        }


def _folder_of_source(file: _File) -> str | None:
    """Return the name of the source in a file's path; None where a column or table tells the sources.

    Raises `ChatRestError` where only the journal tells them.
    """
    if file.name == DATABASE or file.name.endswith(".parquet"):
        return None
    folder, prefix = file.name.rpartition("/")[0], f"{MESSAGES}/source="
    if not folder.startswith(prefix):
        raise ChatRestError(
            f"{file.path}: only the {JOURNAL} tells which source wrote a message here, and it is lost, "
            "damaged, or in use by a run: read without source"
        )
    return folder.removeprefix(prefix)

