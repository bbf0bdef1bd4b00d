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
in between; any other is of another time.
"""

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

from ..errors import ChatRestError, RequestInvalidError
from . import manifest as manifests
from .disk import Disk, copy_aside, set_aside, sync_folder
from .file_names import DAMAGED, DATABASE, MESSAGES, SPOOL, path_inside
from .journal.journal import Journal
from .journal.reader import JournalReader
from .journal.schema import GENERATION, NAME as JOURNAL, PREVIOUS_GENERATION, InUseError
from .manifest import Manifest
from .workspace import Workspace

Relation: TypeAlias = Literal["same", "begun", "other"]
"""Of a journal to a manifest. same: of one generation; begun: a run has begun since the manifest was written;
other: of another time, or of another export."""

DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet|sqlite|spool)(?:\.gz|\.zst)?\Z")
"""The names of files that may be an export's."""
_LONGEST_NAME: Final = 255
"""Characters of a name that file systems take."""
_OWN_FILES: Final = (JOURNAL, manifests.NAME, "runs.jsonl")
_BACKUP: Final = f"restore {JOURNAL} and {manifests.NAME} from one backup, or export into another folder"
_MOVE: Final = "move the file out of the folder, keep it, and what was in it is read again"
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
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._folder)
            raise InUseError(f"{folder / JOURNAL}: another export is writing here") from None
        except OSError:
            pass  # a file system without such locks: SQLite's own is left

    def release(self) -> None:
        """Give it back."""
        os.close(self._folder)


def claim_folder(folder: Path, disk: Disk | None = None) -> None:
    """Make the folder, or check that an export can go there; called before its journal is opened.

    Raises `RequestInvalidError` for a folder that holds something else than an export, or an export that
    cannot be continued, and PermissionError where it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"'{folder}' is no folder: choose another path")
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another export may begin at the same moment
        sync_folder(disk or Disk(), folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))
    check_links(folder)
    if _size(folder / JOURNAL):
        return
    if _readable_manifest(folder) is not None or (folder / manifests.NAME).exists():
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
    manifest = _readable_manifest(folder)
    names = [file.name for file in journal.files()]
    names += [entry.name for entry in manifest.files] if manifest is not None else []
    for name in names:
        file_path(folder, name)
    check_links(folder)
    if manifest is not None and (difference := _difference(folder, journal, manifest)):
        raise RequestInvalidError(f"{difference}; nothing was changed: {_BACKUP}")
    if manifest is None:
        _refuse_unknown_files(folder, journal)
    return manifest


def begin_generation(journal: Journal, manifest: Manifest | None) -> None:
    """Give the journal the next generation, unless it is ahead of the manifest already."""
    generation = journal[GENERATION]
    if generation and (manifest is None or manifest.generation != generation):
        return
    with journal.transaction():
        journal[PREVIOUS_GENERATION] = generation or ""
        journal[GENERATION] = f"{_number(generation) + 1}-{secrets.token_hex(8)}"


def relation_of(journal: JournalReader, manifest: Manifest) -> Relation:
    """Return how a journal relates to a manifest, by their generations."""
    if journal[GENERATION] == manifest.generation:
        return "same"
    has_begun = manifest.generation != "" and journal[PREVIOUS_GENERATION] == manifest.generation
    return "begun" if has_begun else "other"


def _readable_manifest(folder: Path) -> Manifest | None:
    """Return the manifest; None where there is none, or where it is damaged and vouches for nothing.

    Raises `RequestInvalidError` where it is of another version.
    """
    try:
        return manifests.find(folder)
    except RequestInvalidError:
        raise
    except ChatRestError:
        return None


# ── paths ──


def file_path(folder: Path, name: str) -> Path:
    """Return the path of a data file that a journal or manifest names.

    Raises what `path_inside` raises, and `RequestInvalidError` for the name of the journal or manifest.
    """
    if name.partition("/")[0].casefold().startswith(_OWN_FILES):
        raise RequestInvalidError(f"{folder}: {name!r} is no data file, and is named as one; {_FOREIGN}")
    if max(map(len, name.split("/"))) > _LONGEST_NAME:
        raise RequestInvalidError(
            f"{folder}: a name of {len(name):,} characters is no data file's; {_FOREIGN}"
        )
    return path_inside(folder, name)


def check_links(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a symbolic link that leads out of the folder."""
    for path in _links(folder):
        if not _is_within(path, folder):
            raise RequestInvalidError(
                f"{path} is a symbolic link that leads out of '{folder}'; nothing was changed: replace it by "
                "what it leads to"
            )


def _links(folder: Path) -> Iterator[Path]:
    """Yield the symbolic links in the folder itself and below its folders of messages."""
    yield from (path for path in folder.iterdir() if path.is_symlink())
    for name in (MESSAGES, SPOOL, DAMAGED):
        for parent, folders, files in os.walk(folder / name):
            yield from (path for each in [*folders, *files] if (path := Path(parent, each)).is_symlink())


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


# ── the journal beside the manifest ──


def _difference(folder: Path, journal: JournalReader, manifest: Manifest) -> str:
    """Return in words why a journal is not that of a manifest; an empty text where it is."""
    path = folder / JOURNAL
    if manifest.app_id != journal["app"]:
        return f"{path} is of the app {journal['app']!r}, and {manifests.NAME} of {manifest.app_id!r}"
    relation = relation_of(journal, manifest)
    if relation == "other" and _number(journal[GENERATION]) < _number(manifest.generation):
        return f"{path} is older than {manifests.NAME}: files that are newer than the journal would be cut"
    if relation == "other":
        return f"{path} does not belong to {manifests.NAME}: it is of another time, or of another export"
    if relation == "same" and manifest.finished is not None and journal.facts() != manifest.journal_facts:
        return (
            f"{path} is not as the last run left it: its rows are not those of the hash in {manifests.NAME}"
        )
    return ""


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


def _refuse_unknown_files(folder: Path, journal: JournalReader) -> None:
    """Refuse a folder without a manifest, and with files that the journal does not know, or knows less of.

    A database is not among them: it is made when an export is opened, and keeps rows that are newer.
    """
    files = (file for file in journal.files() if file.name != DATABASE)
    names = [file.name for file in files if _size(folder / file.name) > file.size]
    if names := [*names, *_unknown_files(folder, journal)]:
        raise RequestInvalidError(
            f"{folder / names[0]} is newer than {folder / JOURNAL}, and {manifests.NAME} is lost or damaged; "
            f"nothing was changed: {_BACKUP}; or {_MOVE}"
        )


def _unknown_files(folder: Path, journal: JournalReader) -> list[str]:
    """Return the names of data files in the folder of messages that the journal does not have."""
    known = {file.name.casefold() for file in journal.files()}
    paths = (path for path in sorted((folder / MESSAGES).rglob("*")) if path.is_file() and _size(path))
    names = (path.relative_to(folder).as_posix() for path in paths)
    return [name for name in names if name.casefold() not in known and DATA_FILE.search(name)]


def _number(generation: str | None) -> int:
    number = (generation or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


def _size(path: Path) -> int:
    """Return the size of a file; 0 where it is not there."""
    return path.stat().st_size if path.is_file() else 0
