"""The checks of a folder before anything in it is changed: its paths, its journal and its manifest.

A folder is refused, untouched, where going on with it could destroy messages:

| what is there                                     | why it is refused                                     |
|---------------------------------------------------|-------------------------------------------------------|
| no journal, or an empty one, beside other files   | all files would look new, and be overwritten          |
| a journal of another generation than the manifest | files newer than the journal would be cut             |
| a journal whose rows are not the manifest's       | a row was edited, or a bit of one has flipped         |
| files of messages that the journal does not know, | they are newer than journal and manifest              |
| or knows less of, and no run that was killed      |                                                       |
| a path or link that leads out of the folder       | files elsewhere would be overwritten                  |
| an export of version 1                            | its files are in the folder itself                    |

A generation is a number and a random text. Each opening for writing gives the journal the next one, and keeps
the one before as `previous_generation`; the manifest takes it over when the run begins to change the export,
and when it ends. So a journal whose previous generation is the manifest's belongs to a run that was killed
in between; any other is of another time.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..errors import ChatRestError, RequestInvalidError
from . import manifest as manifests
from .disk import Disk, sync_folder
from .file_names import DAMAGED, MESSAGES, SPOOL, path_inside
from .journal.journal import Journal
from .journal.reader import JournalReader
from .journal.schema import GENERATION, NAME as JOURNAL, PREVIOUS_GENERATION
from .manifest import Manifest

Relation: TypeAlias = Literal["same", "begun", "other"]
"""Of a journal to a manifest. same: of one generation; begun: a run has begun since the manifest was written;
other: of another time, or of another export."""

_OWN_FILES: Final = (JOURNAL, manifests.NAME, "runs.jsonl")
_BACKUP: Final = f"restore {JOURNAL} and {manifests.NAME} from one backup, or export into another folder"
_MOVE: Final = "move the file out of the folder, keep it, and what was in it is read again"
_FOREIGN: Final = "it is damaged, or made to overwrite files elsewhere; nothing was changed: do not use it"


def claim_folder(folder: Path, disk: Disk | None = None) -> None:
    """Make the folder, or check that an export can go there; called before its journal is opened.

    Raises `RequestInvalidError` for a folder that holds something else than an export, or an export that
    cannot be continued, and PermissionError where it cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"{folder} is no folder: choose another")
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another export may begin at the same moment
        sync_folder(disk or Disk(), folder.parent)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written to", str(folder))
    check_links(folder)
    if _size(folder / JOURNAL):
        return
    manifest = manifests.find(folder)  # one of version 1 is refused with what to do
    if manifest is not None:
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
    try:
        manifest = manifests.find(folder)
    except RequestInvalidError:
        raise
    except ChatRestError:  # what it vouched for is not known: as if it were lost
        manifest = None
    names = [file.name for file in journal.files()]
    names += [entry.name for entry in manifest.files] if manifest is not None else []
    for name in names:
        file_path(folder, name)
    check_links(folder)
    if manifest is not None and (difference := _difference(folder, journal, manifest)):
        raise RequestInvalidError(f"{difference}; nothing was changed: {_BACKUP}")
    if manifest is None or manifest.finished is not None:
        _refuse_newer_files(folder, journal)
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
    return "begun" if journal[PREVIOUS_GENERATION] == manifest.generation else "other"


# ── paths ──


def file_path(folder: Path, name: str) -> Path:
    """Return the path of a data file that a journal or manifest names.

    Raises what `path_inside` raises, and `RequestInvalidError` for the name of the journal or manifest.
    """
    if name.partition("/")[0].casefold().startswith(_OWN_FILES):
        raise RequestInvalidError(f"{folder}: {name!r} is no data file, and is named as one; {_FOREIGN}")
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


def _refuse_newer_files(folder: Path, journal: JournalReader) -> None:
    """Refuse files of messages that the journal does not have, or has less of.

    No run leaves one: it writes a manifest that is unfinished before it writes messages.
    """
    sizes = {file.name.casefold(): file.size for file in journal.files()}
    names = [file.name for file in journal.files("history")]
    names += [path.relative_to(folder).as_posix() for path in sorted((folder / MESSAGES).rglob("*"))]
    for name in names:
        path, known = folder / name, sizes.get(name.casefold(), 0)
        if path.is_file() and not path.name.startswith((".", "_")) and (size := path.stat().st_size) > known:
            raise RequestInvalidError(
                f"{path} has {size:,} bytes, and {JOURNAL} knows of {known:,}: it is newer than the journal, "
                f"or another program has written it; nothing was changed: {_BACKUP}; or {_MOVE}"
            )


def _number(generation: str | None) -> int:
    number = (generation or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


def _size(path: Path) -> int:
    """Return the size of a file; 0 where it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
