"""The state of an export's folder: can its journal and its manifest be used, and do they belong together?

A run refuses a journal whose rows are not those of its manifest: one was edited, or a bit has flipped.
`verify` and reading back ask the same question, `mismatch`. The store repairs all other differences of
journal and files.

A generation is a number and a random text. Each opening for writing gives the journal the next one, and keeps
the one before as `previous_generation`. The manifest takes it over when the run begins to change the export,
and when it ends. So a journal whose previous generation is the manifest's belongs to a run that was killed
in between; any other is of another time.
"""

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from ..._storage import InUseError, Marks, marks_of
from ...errors import ChatRestError, RequestInvalidError
from ..store.store_journal import REMEDY
from .folder_access import check_links, data_file_path, run_under_way
from .journal import GENERATION, NAME as JOURNAL, NO_PLAN, PREVIOUS_GENERATION, Journal, has_journal
from .manifest import NAME as MANIFEST, Manifest, find_undamaged, read

T = TypeVar("T")
_TRIES: Final = 20
"""How often a reader reads again because runs begin and end meanwhile."""


def check_journal(folder: Path, journal: Journal) -> Manifest | None:
    """Return the folder's manifest, None if there is none, after all checks; changes nothing.

    Raises `RequestInvalidError` with the fault, and a safe remedy. `ChatRestError` of a damaged
    journal is raised unchanged.
    """
    manifest = find_undamaged(folder)
    for file in journal.files():
        data_file_path(folder, file.name)
    check_links(folder)
    if manifest is not None and is_edited(journal, manifest):
        raise RequestInvalidError(
            f"{folder / JOURNAL} is not as the last run left it: its rows do not match the hash in "
            f"{MANIFEST}; nothing was changed: {REMEDY}"
        )
    return manifest


def begin_generation(journal: Journal, manifest: Manifest | None) -> None:
    """Give the journal the next generation, unless it is ahead of the manifest already; in a transaction."""
    generation = journal[GENERATION]
    if not generation or (manifest is not None and manifest.generation == generation):
        journal[PREVIOUS_GENERATION] = generation or ""
        journal[GENERATION] = f"{_number(generation) + 1}-{secrets.token_hex(8)}"


def mismatch(journal: Journal, manifest: Manifest) -> tuple[str, str]:
    """Return in words why a journal does not belong to a manifest, and the remedy: empty texts if it does.

    The journal of a run that has begun since is the manifest's as well; `has_later_changes` says it. With one
    of another time a run continues: there is no remedy.
    """
    if journal["app"] is None:
        return NO_PLAN, REMEDY
    if manifest.app_id != journal["app"]:
        return f"is of the app {journal['app']!r}, and {MANIFEST} of {manifest.app_id!r}", REMEDY
    generation = journal[GENERATION]
    has_same = generation == manifest.generation
    if not has_same and (not manifest.generation or journal[PREVIOUS_GENERATION] != manifest.generation):
        if _number(generation) < _number(manifest.generation):
            return f"is older than {MANIFEST}", ""
        return f"does not belong to {MANIFEST}: it is of another time, or of another export", ""
    if is_edited(journal, manifest):
        return f"is not as the last run left it: its rows do not match the hash in {MANIFEST}", REMEDY
    return "", ""


def is_edited(journal: Journal, manifest: Manifest) -> bool:
    """Return True if the journal is that of a finished run's manifest, with other rows than it had then."""
    has_same = journal[GENERATION] == manifest.generation and manifest.finished is not None
    return has_same and journal.rows_sha256() != manifest.journal_facts


def has_later_changes(journal: Journal, manifest: Manifest) -> bool:
    """Return True if a run has changed the journal since its manifest was written, and not the manifest.

    A run that has begun, and failed before it changed anything, gives the journal another generation only.
    """
    return journal[GENERATION] != manifest.generation and journal.rows_sha256() != manifest.journal_facts


def _number(generation: str | None) -> int:
    number = (generation or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


class FolderState(Struct, kw_only=True):
    """An export's folder for readers: its content, and why something cannot be used."""

    manifest: Manifest | None = None
    manifest_fault: str = ""
    journal: Journal | None = None
    """The journal if it is undamaged, and the manifest's or that of a run that has begun since."""
    journal_fault: str = ""
    journal_remedy: str = ""
    """What to do about the fault; empty where a run continues with the journal, or makes one."""
    is_in_use: bool = False
    """True if a run was writing when its journal was read."""
    is_finished: bool = False
    """True if the manifest is that of a finished run, and no run has changed anything since."""


def read_consistently(folder: Path, work: Callable[[FolderState], T]) -> T:
    """Return the result of `work` for the state of an export: that of one commit of its journal.

    It is called again if a run has begun in between. Raises as `read_folder` and `work`, and `InUseError`
    if a run writes so that its journal cannot be read.
    """
    for _ in range(_TRIES):
        marks = marks_of(folder / JOURNAL)
        with ExitStack() as stack:
            journal = None
            try:
                state = read_folder(folder, stack)
                journal = state.journal
                result = work(state)
            except (ChatRestError, OSError):
                if _is_as_it_was(folder, journal, marks):
                    raise
                continue
            if _is_as_it_was(folder, journal, marks):
                return result
    raise InUseError(f"{folder / JOURNAL}: a run is writing; ask again when it has ended")


def _is_as_it_was(folder: Path, journal: Journal | None, marks: Marks) -> bool:
    return marks_of(folder / JOURNAL) == marks if journal is None else journal.is_unchanged()


def read_folder(folder: Path, stack: ExitStack) -> FolderState:
    """Read the manifest, and open the journal until `stack` is closed, as far as that can be done.

    Raises `RequestInvalidError` if the folder is not an export, or one of another version.
    """
    state = FolderState()
    if not has_journal(folder) and not (folder / MANIFEST).is_file():
        raise no_export_error(folder)
    try:
        state.manifest = read(folder / MANIFEST)
        state.is_finished = state.manifest.finished is not None
    except FileNotFoundError:
        state.manifest_fault = "it is not there"
    except PermissionError:
        raise
    except OSError as error:
        state.manifest_fault = f"it cannot be read ({error.strerror or error})"
    except RequestInvalidError:  # of another version
        raise
    except ChatRestError as error:
        state.manifest_fault = f"it {_without_path(folder / MANIFEST, error)}"
    if has_journal(folder):
        _open_journal(folder / JOURNAL, state, stack)
    return state


def no_export_error(folder: Path) -> RequestInvalidError:
    """Return the error for a path at which there is no export; it names an export directly below."""
    if not folder.is_dir():
        lack = "it is a file" if folder.exists() else "there is no such folder"
    else:
        below = min((path.parent for path in folder.glob(f"*/{MANIFEST}")), default=None)
        hint = f"; an export is in '{below}'" if below else ""
        lack = f"it has no {MANIFEST} and no {JOURNAL}{hint}"
    return RequestInvalidError(f"'{folder}' is not an export: {lack}")


def _open_journal(path: Path, state: FolderState, stack: ExitStack) -> None:
    manifest = state.manifest
    try:
        with run_under_way(path.parent) as state.is_in_use:
            journal = stack.enter_context(Journal(path, is_shared=state.is_in_use))
        journal.check_integrity()
        if manifest is not None:
            fault, state.journal_remedy = mismatch(journal, manifest)
            if fault:
                state.journal_fault = f"it {fault}"
                return
            if has_later_changes(journal, manifest):
                state.is_finished = False
        state.journal = journal
    except PermissionError:
        raise
    except (ChatRestError, OSError) as error:
        if isinstance(error, RequestInvalidError) and manifest is None:
            raise
        state.journal_fault, state.journal_remedy = journal_fault(path.parent, error)


def journal_fault(folder: Path, error: Exception) -> tuple[str, str]:
    """Return why a journal cannot be read, as the end of a sentence, and the remedy."""
    return f"it {_without_path(folder / JOURNAL, error)}".removesuffix(f": {REMEDY}"), REMEDY


def _without_path(path: Path, error: Exception) -> str:
    return str(error).removeprefix(str(path)).removeprefix(":").strip()
