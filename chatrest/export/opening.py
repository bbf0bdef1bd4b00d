"""The checks of a folder before anything in it is changed: its paths, its journal and its manifest.

A folder is refused, untouched, where going on with it could destroy messages:

| what is there                                     | why it is refused                                     |
|---------------------------------------------------|-------------------------------------------------------|
| no journal, or an empty one, beside other files   | all files would look new, and be overwritten          |
| a journal of another generation than the manifest | files newer than the journal would be cut             |
| a journal whose rows are not the manifest's       | a row was edited, or a bit of one has flipped         |
| no manifest, and files the journal does not know  | they are newer than the journal                       |
| a path or link that leads out of the folder       | files elsewhere would be overwritten                  |
| an export of version 1                            | its files are in the folder itself                    |

Where journal and manifest belong together and are older than the files, as from a backup, the export goes on
with them, and what the newer files hold is kept in the folder `damaged`.

A generation is a number and a random text. Each opening for writing gives the journal the next one, and keeps
the one before as `previous_generation`; the manifest takes it over when the run begins to change the export,
and when it ends. So a journal whose previous generation is the manifest's belongs to a run that was killed
in between; any other is of another time. `verify` and reading back ask the same question, `mismatch`.
"""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, final

from msgspec import Struct

from ..errors import ChatRestError, RequestInvalidError
from ..storage import InUseError, try_lock
from .disk import Disk, copy_aside, set_aside, sync_folder
from .file_names import DAMAGED, DATABASE, MESSAGES, SPOOL, path_inside
from .journal.journal import Journal
from .journal.reader import JournalReader
from .journal.schema import GENERATION, NAME as JOURNAL, PREVIOUS_GENERATION
from .manifest import NAME as MANIFEST, Manifest, find_undamaged, read
from .workspace import Workspace

DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet|sqlite|spool)(?:\.gz|\.zst)?\Z")
"""The names of files that may be an export's."""
_OWN_FILES: Final = (JOURNAL, MANIFEST, "runs.jsonl")
INCOMPLETE: Final = ".store"
"""The file in a working copy that says which store has the other data files."""
_BACKUP: Final = f"restore {JOURNAL} and {MANIFEST} from one backup, or export into another folder"
_FOREIGN: Final = "it is damaged, or made to overwrite files elsewhere; nothing was changed: do not use it"


@final
class FolderLock:
    """The right to write into a folder: for one archive at a time, of this process or of another one.

    SQLite's own lock is not enough: of exports that open the journal at the same instant each can keep the
    others out, so that none goes on. Raises `InUseError` where another one has it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            is_free = try_lock(self._folder)
        except OSError:
            is_free = True  # a file system without such locks: SQLite's own is left
        if not is_free:
            os.close(self._folder)
            raise InUseError(f"{folder / JOURNAL}: another export is writing here")

    def release(self) -> None:
        """Give it back."""
        os.close(self._folder)


def claim_folder(folder: Path, disk: Disk | None = None) -> None:
    """Make the folder, or check that an export can go there; called before its journal is opened.

    Raises what `check_place` raises, and PermissionError where the folder cannot be written to.
    """
    check_place(folder)
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another export may begin at the same moment
        sync_folder(disk or Disk(), folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))


def check_is_whole(folder: Path) -> None:
    """Refuse with `RequestInvalidError` the copy of an export whose data files are in an object store.

    They would look lost, and be read again; messages that the service does not show any more would be.
    """
    if (path := folder / INCOMPLETE).is_file():
        address = path.read_text(errors="replace").strip()
        raise RequestInvalidError(
            f"folder '{folder}' is the working copy of {address}, where its data files are: give that address"
        )


def check_place(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a folder that holds something else than an export, or one that has
    lost its journal; changes nothing.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RequestInvalidError(f"'{folder}' is no folder: choose another path")
    check_links(folder)
    if _size(folder / JOURNAL):
        return
    find_undamaged(folder)  # one of version 1 is refused with what to do
    if (folder / MANIFEST).exists():
        raise RequestInvalidError(
            f"folder '{folder}' is an export whose {JOURNAL} is lost or empty: it can be verified and read, "
            f"but not continued; nothing was changed: {_BACKUP}"
        )
    others = (path.name for path in folder.iterdir() if not path.name.startswith((".", JOURNAL)))
    if (name := next(others, None)) is not None:
        raise RequestInvalidError(
            f"folder '{folder}' holds something else than an export, such as {name}, and is not touched: "
            "choose another folder"
        )


def check_folder(folder: Path, journal: JournalReader) -> Manifest | None:
    """Return the folder's manifest, None where there is none, after all checks; changes nothing.

    Raises `RequestInvalidError` with what is wrong, and what is safe to do. `ChatRestError` of a damaged
    journal is raised as it is.
    """
    manifest = find_undamaged(folder)
    names = [file.name for file in journal.files()]
    names += [entry.name for entry in manifest.files] if manifest is not None else []
    for name in names:
        file_path(folder, name)
    check_links(folder)
    if manifest is None:
        _refuse_newer_files(folder, journal)
    elif fault := mismatch(journal, manifest):
        raise RequestInvalidError(f"{folder / JOURNAL} {fault}; nothing was changed: {_BACKUP}")
    return manifest


# ── the journal beside the manifest ──


def begin_generation(journal: Journal, manifest: Manifest | None) -> None:
    """Give the journal the next generation, unless it is ahead of the manifest already."""
    generation = journal[GENERATION]
    if generation and (manifest is None or manifest.generation != generation):
        return
    with journal.transaction():
        journal[PREVIOUS_GENERATION] = generation or ""
        journal[GENERATION] = f"{_number(generation) + 1}-{secrets.token_hex(8)}"


def mismatch(journal: JournalReader, manifest: Manifest) -> str:
    """Return in words why a journal is not that of a manifest; an empty text where it is.

    The journal of a run that has begun since is the manifest's as well; `has_begun` tells it.
    """
    generation = journal[GENERATION]
    has_same = generation == manifest.generation
    if not has_same and (not manifest.generation or journal[PREVIOUS_GENERATION] != manifest.generation):
        if _number(generation) < _number(manifest.generation):
            return f"is older than {MANIFEST}: files that are newer than the journal would be cut"
        return f"does not belong to {MANIFEST}: it is of another time, or of another export"
    if manifest.app_id != journal["app"]:
        return f"is of the app {journal['app']!r}, and {MANIFEST} of {manifest.app_id!r}"
    if has_same and manifest.finished is not None and journal.facts() != manifest.journal_facts:
        return f"is not as the last run left it: its rows are not those of the hash in {MANIFEST}"
    return ""


def has_begun(journal: JournalReader, manifest: Manifest) -> bool:
    """Return True if a run has changed the journal since its manifest was written, and not the manifest.

    A run that has begun, and failed before it changed anything, gives the journal another generation only.
    """
    return journal[GENERATION] != manifest.generation and journal.facts() != manifest.journal_facts


@final
class FolderState(Struct, kw_only=True):
    """An export's folder as those find it who only read: what is there, and why something cannot be used."""

    manifest: Manifest | None = None
    manifest_fault: str = ""
    """A sentence; empty where the manifest is there and undamaged."""
    journal: JournalReader | None = None
    """The journal if it is undamaged, and the manifest's or that of a run that has begun since."""
    journal_fault: str = ""
    """A sentence; empty also where there is no journal."""
    is_in_use: bool = False
    """True where a run is writing, and so its journal cannot be read."""
    is_finished: bool = False
    """True where the manifest is that of a finished run, and no run has changed anything since."""


def read_folder(folder: Path, stack: ExitStack) -> FolderState:
    """Read the manifest, and open the journal until `stack` is closed, as far as that can be done.

    Raises `RequestInvalidError` where the folder is not an export, or one of another version.
    """
    state, paths = FolderState(), [folder / MANIFEST, folder / JOURNAL]
    if not any(path.is_file() for path in paths):
        raise RequestInvalidError(
            f"folder '{folder}' is not an export: it has no {MANIFEST} and no {JOURNAL}"
        )
    try:
        state.manifest = read(folder / MANIFEST)
        state.is_finished = state.manifest.finished is not None
    except FileNotFoundError:
        state.manifest_fault = "it is not there"
    except OSError as error:
        state.manifest_fault = f"it cannot be read ({error.strerror or error})"
    except RequestInvalidError:  # of another version
        raise
    except ChatRestError as error:
        state.manifest_fault = f"it {_without_path(folder / MANIFEST, error)}"
    if (folder / JOURNAL).is_file():
        _open_journal(folder / JOURNAL, state, stack)
    return state


def _open_journal(path: Path, state: FolderState, stack: ExitStack) -> None:
    manifest = state.manifest
    try:
        journal = stack.enter_context(JournalReader(path))
        journal.check_integrity()
        if fault := mismatch(journal, manifest) if manifest else "":
            state.journal_fault = f"it {fault}"
            return
        if manifest is not None and has_begun(journal, manifest):
            state.is_finished = False
        state.journal = journal
    except InUseError:
        state.is_in_use = True
    except (ChatRestError, OSError) as error:
        if isinstance(error, RequestInvalidError) and manifest is None:
            raise
        state.journal_fault = f"it {_without_path(path, error)}"


def _without_path(path: Path, error: Exception) -> str:
    """Return the text of an error about a file without its path in front."""
    return str(error).removeprefix(str(path)).removeprefix(":").strip()


def _number(generation: str | None) -> int:
    number = (generation or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


# ── paths ──


def file_path(folder: Path, name: str) -> Path:
    """Return the path of a data file that a journal or manifest names.

    Raises what `path_inside` raises, and `RequestInvalidError` for the name of the journal or manifest.
    """
    if name.partition("/")[0].casefold().startswith(_OWN_FILES):
        raise RequestInvalidError(f"{folder}: {name!r} is no data file, and is named as one; {_FOREIGN}")
    return path_inside(folder, name)


def check_links(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a symbolic link that leads out of the folder.

    Looks at the folder itself and below its folders of messages.
    """
    paths = list(folder.iterdir())
    for name in (MESSAGES, SPOOL, DAMAGED):
        for parent, folders, files in os.walk(folder / name):
            paths += [Path(parent, each) for each in (*folders, *files)]
    for path in paths:
        if path.is_symlink() and not _is_within(path, folder):
            raise RequestInvalidError(
                f"{path} is a symbolic link that leads out of '{folder}'; nothing was changed: replace it by "
                "what it leads to"
            )


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


# ── files that are newer than the journal ──


def keep_newer_files(workspace: Workspace, manifest: Manifest | None) -> None:
    """Set aside, in the folder `damaged`, what the journal does not know of files of messages.

    A run that was killed leaves such bytes, which are torn: it has written a manifest before, which is
    unfinished. Behind a finished run they are of another time, or of another program: a file that has grown
    is copied before it is cut, one that is unknown is moved.
    """
    if manifest is None or manifest.finished is None:
        return
    folder, disk = workspace.folder, workspace.disk
    for file in workspace.journal.files():
        if file.digest is None and file.name != DATABASE and _size(folder / file.name) > file.size:
            copy_aside(workspace.files, disk, folder, file.name)
    for name in _unknown_files(folder, workspace.journal):
        set_aside(disk, folder, name)


def _refuse_newer_files(folder: Path, journal: JournalReader) -> None:
    """Refuse a folder without a manifest, and with files that the journal does not know, or knows less of.

    A database is not among them: it is made when an export is opened, and keeps rows that are newer.
    """
    files = (file for file in journal.files() if file.name != DATABASE)
    names = [file.name for file in files if _size(folder / file.name) > file.size]
    if names := [*names, *_unknown_files(folder, journal)]:
        raise RequestInvalidError(
            f"{folder / names[0]} is newer than {folder / JOURNAL}, and {MANIFEST} is lost or damaged; "
            f"nothing was changed: {_BACKUP}; or move the file out of the folder, keep it, and what was in "
            "it is read again"
        )


def _unknown_files(folder: Path, journal: JournalReader) -> Iterator[str]:
    """Yield the names of data files in the folder of messages that the journal does not have."""
    known = {file.name.casefold() for file in journal.files()}
    for path in sorted((folder / MESSAGES).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.casefold() not in known and DATA_FILE.search(name) and _size(path):
            yield name


def _size(path: Path) -> int:
    """Return the size of a file; 0 where it is not there."""
    return path.stat().st_size if path.is_file() else 0
