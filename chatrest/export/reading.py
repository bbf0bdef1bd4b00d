"""Read an export back: its messages, typed or as they were served, from any format.

| the folder                               | what is read                                                |
|------------------------------------------|-------------------------------------------------------------|
| with its journal, also of a killed run   | what the journal says is committed, open segments included  |
| no journal, a damaged one, or an old one | the files of a finished run's manifest; else it is refused  |
| a run is writing                         | what is whole on the disk, open segments included           |

The journal shows which rows are of a source; without it the name of a file's folder does, or a column. Where
files may be beside what they were made of, each message is given once all the same. Hashes are not
checked: `verify` does that.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ..core.replies.decode import many, parse
from ..core.replies.rows import row_of
from ..errors import ChatRestError, ReplyUnreadableError, RequestInvalidError
from ..models.lenient import Coercions
from ..models.messages import Message
from ..secrets import shown
from ..times import Time, parse_timestamp, timestamp_words
from .file_names import DATABASE, MESSAGES, SPOOL, STEM, path_inside, source_name
from .folder_view import FolderView, open_view
from .id_set import IdSet
from .journal import NAME as JOURNAL, Journal
from .manifest import NAME as MANIFEST
from .message_ids import ids_of, key_of, number
from .opening import FolderState, read_folder
from .ownership import Source
from .store.inspection import path_of
from .store.journal import StoreFile
from .store.segments import SEGMENT, name_of
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
      that tell no time are always given. Files and row groups of other times are not read.
    - `source`: the messages stored for a source, such as `"user alice"`, `"group team"`, `"pair alice bob"`,
      or several of these. Each message is stored once, in the first source that it belongs to, so this is
      not all of alice's messages where another source of the plan comes first.

    Messages come in the order of the files: within a source by ascending id, as far as they were written so.
    Memory is needed for some thousand rows. Nothing in the folder is changed.

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


class _Choice(NamedTuple):
    """The choice of a reader: times and sources."""

    window: TimeWindow
    sources: frozenset[Source] | None = None
    """None is any."""

    @property
    def is_all(self) -> bool:
        return self.sources is None and self.window == ALL_TIMES


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
        with ExitStack() as until_chosen:
            files = _files(view, read_folder(view.folder, until_chosen), window, source)
        stack.pop_all()
    return _batches(view, files, window)


def _time(name: str, time: Time | None, *, end: bool) -> int | None:
    return None if time is None else milliseconds(parse_timestamp(name, time, end=end), end=end)


def _named_sources(source: Sources, sources: Collection[Source]) -> Iterator[Source]:
    """Return the sources of these names; `RequestInvalidError` for one that the export does not have."""
    known = {str(each): each for each in sources}
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
    """A file with messages that are to be read."""

    path: Path
    name: str
    """Below the export's folder; of a segment that of the file that it becomes."""
    size: int | None = None
    """Bytes to read; None for all whole records that are there."""
    is_segment: bool = False
    is_wanted: Callable[[bytes], bool] | None = None
    """Whether a record was stored for the sources that are to be read; None if all were."""
    sources: frozenset[Source] | None = None
    """Those that are to be read, where a column tells them."""


class _Files(NamedTuple):
    """The files of an export."""

    files: list[_File]
    is_settled: bool = True
    """False if files may be beside what they were made of."""
    again: Callable[[], list[_File]] = list
    """Returns the files that there are by now."""


def _files(view: FolderView, state: FolderState, window: TimeWindow, source: Sources | None) -> _Files:
    """Return what is to be read. Raises `ChatRestError` where no one knows what is committed."""
    manifest, journal, folder = state.manifest, state.journal, view.folder
    listed = [] if manifest is None else [Source.parse(json.dumps(each.source)) for each in manifest.sources]

    def choice(sources: Collection[Source]) -> _Choice:
        return _Choice(window, None if source is None else frozenset(_named_sources(source, sources)))

    is_finished = manifest is not None and manifest.finished is not None
    if state.is_in_use:
        chosen = choice(listed)
        return _Files(_on_disk(view, chosen), is_settled=False, again=lambda: _on_disk(view, chosen))
    if journal is not None:
        try:
            chosen = choice([each.source for each in journal.sources()])
            return _Files(list(_of_journal(folder, journal, chosen)), is_settled=state.is_finished)
        except RequestInvalidError:
            raise
        except ChatRestError:
            if not is_finished:  # else the manifest lists the files as well
                raise
    if manifest is not None and is_finished:
        chosen = choice(listed)
        parts = [entry for entry in manifest.files if entry.role == "part"]
        files = [_File(path_inside(folder, each.name), each.name, each.bytes) for each in parts]
        return _Files(list(_told(files, chosen)))
    if manifest is None:
        raise ChatRestError(f"{folder / MANIFEST}: {state.manifest_fault}")
    fault = state.journal_fault or "it is lost, and the last run did not come to its end"
    raise ChatRestError(f"{folder / JOURNAL}: {fault}")


def _of_journal(folder: Path, journal: Journal, choice: _Choice) -> Iterator[_File]:
    stored = [
        file
        for file in journal.files("open", "sealing", "sealed")
        if file.size and file.stem.partition("/")[0] == STEM
    ]
    is_wanted = None if choice.sources is None else _SourceIds(journal, stored, choice.sources)
    for file in stored:
        path_inside(folder, file.name)
        path = path_of(folder, file)
        if file.state == "sealing" and not path.exists():  # it was renamed, and not noted
            path = folder / file.name
        found = _File(path, file.name, file.size, is_segment=path.suffix == SEGMENT)
        if choice.is_all:
            yield found
            continue
        is_told = _is_told(file.name, choice)
        if is_told is False or not _may_hold(journal, file, choice.window):
            continue
        if is_told is None and is_wanted is not None:
            if (wanted := is_wanted.of(file)) is None:
                continue
            found = found._replace(is_wanted=wanted)
        yield found


def _may_hold(journal: Journal, file: StoreFile, window: TimeWindow) -> bool:
    """Return False if no row of a file was sent in a window; those that have no numbers may be undated."""
    return any(
        len(block.ids) < block.rows or window.may_hold(block.since, block.until)
        for block in journal.blocks(file.number)
    )


class _SourceIds:
    """The ids that were stored for some sources, by their files.

    A row of a file that was adopted is of no source: it counts as the first one's that has shown it. Raises
    `ChatRestError` where the journal has no row of a file.
    """

    def __init__(self, journal: Journal, files: list[StoreFile], sources: Collection[Source]) -> None:
        self._blocks = {file.number: journal.blocks(file.number) for file in files}
        if unknown := [file.name for file in files if file.size and not self._blocks[file.number]]:
            raise ChatRestError(
                f"{journal.path}: only it tells which source wrote a message here, and it has no row of "
                f"{unknown[0]}: read without source"
            )
        numbers = {each.number: each.source in sources for each in journal.sources()}
        self._numbers = {number for number, is_chosen in numbers.items() if is_chosen}
        blocks = [block for blocks in self._blocks.values() for block in blocks]
        left, self._adopted = IdSet.union(block.ids for block in blocks if not block.source), IdSet()
        for each, is_chosen in numbers.items():
            if not left:
                break
            shown = journal.seen(each) & left
            left.discard(shown)
            if is_chosen:
                self._adopted.update(shown)
        owners = dict[str, int]()
        for key, each, _file in sorted(
            journal.others(), key=lambda row: (not row[1], row[2] is None, row[1])
        ):
            owners.setdefault(key, each)
        self._keys = {key for key, each in owners.items() if each in self._numbers}

    def of(self, file: StoreFile) -> Callable[[bytes], bool] | None:
        """Return what says whether a record of a file is one of them; None if none can be."""
        blocks = self._blocks[file.number]
        ids = IdSet.union(block.ids for block in blocks if block.source in self._numbers)
        ids.update(self._adopted & IdSet.union(block.ids for block in blocks if not block.source))
        if not ids and not self._keys:
            return None

        def is_wanted(raw: bytes) -> bool:
            row = row_of(raw)
            return (number(row.id) or 0) in ids or key_of(row) in self._keys

        return is_wanted


def _on_disk(view: FolderView, choice: _Choice) -> list[_File]:
    """Return what is there while a run continues: its journal cannot be asked.

    Rows that are on their way to a column are left out where sources are asked for.
    """
    folder = view.folder
    segments = [_File(path, name_of(path), is_segment=True) for path in (folder / SPOOL).glob(f"*{SEGMENT}")]
    files = [each for each in segments if each.name.partition("/")[0].startswith(STEM)]
    if choice.sources is not None:
        files = [each for each in files if not each.name.endswith((".parquet", ".sqlite"))]
    paths = sorted(path for path in (folder / MESSAGES).rglob("*") if path.name.endswith(_SUFFIXES))
    names = [path.relative_to(folder).as_posix() for path in paths]
    names += [DATABASE] if view.has(DATABASE) else []
    return list(_told([*files, *(_File(path_inside(folder, name), name) for name in names)], choice))


def _told(files: list[_File], choice: _Choice) -> Iterator[_File]:
    """Yield the files with rows of the sources that are to be read, as far as files tell them.

    Raises `ChatRestError` where only the journal shows them.
    """
    for file in files:
        is_told = _is_told(file.name, choice)
        if is_told is None:
            if file.name.endswith((".ndjson", ".gz", ".zst")):
                raise ChatRestError(
                    f"{file.path}: only the {JOURNAL} tells which source wrote a message here, and it is "
                    "lost, damaged, or in use by a run: read without source"
                )
            yield file._replace(sources=choice.sources)
        elif is_told:
            yield file


def _is_told(name: str, choice: _Choice) -> bool | None:
    """Return whether a file holds rows of the sources, as its folder says; None if that does not."""
    if choice.sources is None:
        return True
    folder, prefix = name.rpartition("/")[0], f"{MESSAGES}/source="
    if not folder.startswith(prefix):
        return None
    return folder.removeprefix(prefix) in set(map(source_name, choice.sources))


# ── their records ──


def _batches(view: FolderView, export: _Files, window: TimeWindow) -> Iterator[tuple[Path, list[bytes]]]:
    once, done, files = _Once(), set[Path](), export.files
    with view:
        while files:
            places = [file.path.relative_to(view.folder).as_posix() for file in files]
            view.expect(places)
            is_gone = False
            for file, place in zip(files, places, strict=True):
                done.add(file.path)
                try:
                    with view.file(place):
                        for raws in _of_file(file, window):
                            raws = raws if export.is_settled else once.new(raws)
                            if file.is_wanted is not None:
                                raws = list(filter(file.is_wanted, raws))
                            if raws := window.within(raws):
                                yield file.path, raws
                except FileNotFoundError:
                    if export.again is list:
                        raise
                    is_gone = True  # the run that is under way has made another file of it
            files = [file for file in export.again() if file.path not in done] if is_gone else []


def _of_file(file: _File, window: TimeWindow) -> Iterator[list[bytes]]:
    """Yield the records of a file; where that is cheap, without those of other times."""
    if file.is_segment or not file.name.endswith((".parquet", ".sqlite")):
        yield from lines(file.path, file.name, file.size)
    elif file.name.endswith(".sqlite"):
        keys = None if file.sources is None else json.dumps([source.key for source in file.sources])
        yield from database_rows(file.path, window, keys)
    elif file.sources is None:
        yield from (raws for raws, _ in parquet_batches(file.path, (), window))
    else:
        chosen = frozenset(map(str, file.sources))
        for raws, [names] in parquet_batches(file.path, ["source_name"], window):
            yield [raw for raw, name in zip(raws, names, strict=True) if name in chosen]


class _Once:
    """Leaves out what was given before."""

    def __init__(self) -> None:
        self._numbers, self._others = IdSet(), set[str]()

    def new(self, raws: list[bytes]) -> list[bytes]:
        """Return the records that are new; memory for their ids."""
        rows = list(map(row_of, raws))
        ids = ids_of(rows)
        again, known = ids.numbers & self._numbers, self._others & ids.others.keys()
        if again or known:
            kept = [(number(row.id) or 0) not in again and key_of(row) not in known for row in rows]
            raws = [raw for raw, is_new in zip(raws, kept, strict=True) if is_new]
        self._numbers.update(ids.numbers)
        self._others |= ids.others.keys()
        return raws
