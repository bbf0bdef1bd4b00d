"""The checks of a folder before anything in it is changed: its paths, its journal and its manifest.

A folder is refused, untouched, if continuing with it could destroy messages: if it holds other files than an
export, if rows of its journal are not those of the manifest (one was edited, or a bit has flipped), and if a
path or link leads out of it. The store repairs all other differences of journal and files.

A generation is a number and a random text. Each opening for writing gives the journal the next one, and keeps
the one before as `previous_generation`; the manifest takes it over when the run begins to change the export,
and when it ends. So a journal whose previous generation is the manifest's belongs to a run that was killed
in between; any other is of another time. `verify` and reading back ask the same question, `mismatch`.
"""

import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, structs

from ..._storage import InUseError, Marks, marks_of, try_lock
from ...errors import ChatRestError, RequestInvalidError
from ..plan.file_names import DAMAGED, MESSAGES, SPOOL, is_of_system, path_inside
from ..plan.parts import FOREIGN, STATE, is_app_name
from ..plan.plan import Plan, difference, growth_fault
from ..store.disk import Disk, sync_folder
from ..store.journal import REMEDY
from .journal import GENERATION, NAME as JOURNAL, PREVIOUS_GENERATION, Journal
from .manifest import NAME as MANIFEST, Manifest, find_undamaged, read
from .tables import ASKED_ATTACHMENTS, ASKED_TABLES, ATTACHMENTS, LOST_LIMITS, TABLES

DATA_FILE: Final = re.compile(r"\.(?:ndjson|jsonl|parquet|spool)(?:\.gz|\.zst)?\Z")
_OWN_FILES: Final = (JOURNAL, MANIFEST, "runs.jsonl")
INCOMPLETE: Final = ".store"
"""The file in a working copy that says which store has the other data files."""
_PATIENCE: Final = 200
"""How often a run asks for a folder again that a reader is asking about."""
_PAUSE: Final = 0.005
_TRIES: Final = 20
T = TypeVar("T")
_NO_PLAN: Final = "has no plan: it is no export's journal"
_OTHER_WINDOW: Final = (
    "a window can become wider and no narrower; nothing was read or changed: expected no plan at all, which "
    "continues with the folder's own, --only (only=True), which reads a narrower window once and leaves the "
    "plan, --change-plan (change_plan=True) with a wider one, or another folder"
)
_OTHER_FILES: Final = (
    "the format, the compression and the partition of a folder stay; nothing was read or changed: expected "
    "none of them, or another folder"
)
_FOREIGN: Final = "it is damaged, or made to overwrite files elsewhere; nothing was changed: do not use it"


class FolderLock:
    """The right to write into a folder: for one export at a time, of this process or of another one.

    SQLite's own lock is not enough: of exports that open the journal at the same instant each can keep the
    others out, so that none continues. Raises `InUseError` if another one has it.
    """

    def __init__(self, folder: Path) -> None:
        self.is_held = True
        """False on a file system without such locks: SQLite's own is left, which keeps readers out, too."""
        self._folder = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for _ in range(_PATIENCE):
                if try_lock(self._folder):
                    return
                if not try_lock(self._folder, shared=True):
                    break
                time.sleep(_PAUSE)  # who has it only asks whether a run is writing
        except OSError:
            self.is_held = False
            return
        os.close(self._folder)
        raise InUseError(f"{folder / JOURNAL}: another export is writing here")

    def release(self) -> None:
        os.close(self._folder)


@contextmanager
def run_under_way(folder: Path) -> Iterator[bool]:
    """Give True if a run is writing in a folder; else none begins within the block."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            is_free = try_lock(descriptor, shared=True)
        except OSError:
            is_free = True  # nobody can say
        yield not is_free
    finally:
        os.close(descriptor)


def claim_folder(folder: Path, disk: Disk | None = None) -> None:
    """Make the folder, or check that an export can go there; called before its journal is opened.

    Raises what `check_place` raises, and PermissionError if the folder is not writable.
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


def check_part(folder: Path, stored: str, part: str) -> None:
    """Refuse a part of an export with `RequestInvalidError` if it is opened as another one, or by itself:
    it would read all users, and write what other parts have.
    """
    if stored == part:
        return
    if stored:
        raise RequestInvalidError(
            f"folder '{folder}' is part {stored} of an export: expected the folder that contains it"
        )
    raise RequestInvalidError(f"folder '{folder}' is an export by itself, and not part {part} of one")


def check_place(folder: Path) -> None:
    """Refuse with `RequestInvalidError` a folder that holds something else than an export, or one that has
    lost both its journal and its manifest; changes nothing.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RequestInvalidError(f"'{folder}' is not a folder: choose another path")
    check_links(folder)
    if _size(folder / JOURNAL) or find_undamaged(folder) is not None:
        return
    if (folder / MANIFEST).exists():
        raise RequestInvalidError(
            f"folder '{folder}' is an export whose {JOURNAL} is lost or empty, and whose {MANIFEST} is "
            "damaged; nothing was changed: restore one of them from a backup, or export into another folder"
        )
    refuse_others(folder, lambda name: name.startswith(JOURNAL) or name in (STATE, FOREIGN))


def refuse_others(folder: Path, is_own: Callable[[str], bool]) -> None:
    """Refuse with `RequestInvalidError` a folder with files that are not its own, nor the system's."""
    names = (path.name for path in folder.iterdir())
    if name := next((each for each in names if not is_of_system(each) and not is_own(each)), None):
        if is_app_name(name):
            raise RequestInvalidError(
                f"folder '{folder}' has many apps, such as {name}: expected --apps FILE (export_apps), "
                "or the folder of one app"
            )
        raise RequestInvalidError(
            f"folder '{folder}' holds something else than an export, such as {name}, and is not touched: "
            "choose another folder"
        )


def check_folder(folder: Path, journal: Journal) -> Manifest | None:
    """Return the folder's manifest, None if there is none, after all checks; changes nothing.

    Raises `RequestInvalidError` with the fault, and a safe remedy. `ChatRestError` of a damaged
    journal is raised unchanged.
    """
    manifest = find_undamaged(folder)
    for file in journal.files():
        file_path(folder, file.name)
    check_links(folder)
    if manifest is not None and is_edited(journal, manifest):
        raise RequestInvalidError(
            f"{folder / JOURNAL} is not as the last run left it: its rows do not match the hash in "
            f"{MANIFEST}; nothing was changed: {REMEDY}"
        )
    return manifest


def first_meta(folder: Path, app_id: str, plan: str) -> dict[str, str]:
    """Return the first values of a new journal: app, plan and tables of the manifest, if the journal was
    lost.
    """
    if not _size(folder / JOURNAL) and (manifest := find_undamaged(folder)) is not None:
        named = {entry.table for entry in manifest.tables}
        meta = {"app": manifest.app_id, "plan": bytes(manifest.plan).decode()}
        if tables := [table for table in TABLES if table in named]:
            meta[ASKED_TABLES] = msgspec.json.encode(tables).decode()
        if ATTACHMENTS in named:
            meta[ASKED_ATTACHMENTS] = LOST_LIMITS
        return meta
    return {"app": app_id, "plan": plan}


# ── journal and manifest ──


def begin_generation(journal: Journal, manifest: Manifest | None) -> None:
    """Give the journal the next generation, unless it is ahead of the manifest already; in a transaction."""
    generation = journal[GENERATION]
    if not generation or (manifest is not None and manifest.generation == generation):
        journal[PREVIOUS_GENERATION] = generation or ""
        journal[GENERATION] = f"{_number(generation) + 1}-{secrets.token_hex(8)}"


def mismatch(journal: Journal, manifest: Manifest) -> tuple[str, str]:
    """Return in words why a journal does not belong to a manifest, and the remedy: empty texts if it does.

    The journal of a run that has begun since is the manifest's as well; `has_begun` says it. With one of
    another time a run continues: there is no remedy.
    """
    if journal["app"] is None:
        return _NO_PLAN, REMEDY
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
    return has_same and journal.facts() != manifest.journal_facts


def has_begun(journal: Journal, manifest: Manifest) -> bool:
    """Return True if a run has changed the journal since its manifest was written, and not the manifest.

    A run that has begun, and failed before it changed anything, gives the journal another generation only.
    """
    return journal[GENERATION] != manifest.generation and journal.facts() != manifest.journal_facts


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


def with_state(folder: Path, work: Callable[[FolderState], T]) -> T:
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
    state, has_journal = FolderState(), _size(folder / JOURNAL) > 0  # an empty one is none
    if not has_journal and not (folder / MANIFEST).is_file():
        raise no_export(folder)
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
    if has_journal:
        _open_journal(folder / JOURNAL, state, stack)
    return state


def no_export(folder: Path) -> RequestInvalidError:
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
            if has_begun(journal, manifest):
                state.is_finished = False
        state.journal = journal
    except PermissionError:
        raise
    except (ChatRestError, OSError) as error:
        if isinstance(error, RequestInvalidError) and manifest is None:
            raise
        state.journal_fault, state.journal_remedy = journal_fault(path.parent, error)


def journal_fault(folder: Path, error: Exception) -> tuple[str, str]:
    return f"it {_without_path(folder / JOURNAL, error)}".removesuffix(f": {REMEDY}"), REMEDY


def _without_path(path: Path, error: Exception) -> str:
    return str(error).removeprefix(str(path)).removeprefix(":").strip()


def _number(generation: str | None) -> int:
    number = (generation or "").partition("-")[0]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


def is_new(journal: Journal, manifest: Manifest | None) -> bool:
    """Return whether no list of the plan was asked for yet: another one may take its place, as no run has
    come so far.
    """
    return is_unused(journal, manifest) and next(journal.iter_sources(), None) is None


def is_unused(journal: Journal, manifest: Manifest | None) -> bool:
    """Return whether no list of the plan has answered yet: it may become any other one where it is said that
    it changes, as a name, a window or a format may be wrong.
    """
    if (manifest is not None and manifest.complete) or next(iter(journal.files()), None) is not None:
        return False
    if manifest is not None and next(journal.iter_sources(), None) is None:
        return False  # the journal was lost, and the lists may have answered
    return all(each.state == "failed" for each in journal.iter_sources()) and not journal.seen()


def agreed(
    folder: Path,
    meta: Mapping[str, str | None],
    plan: Plan | None,
    app_id: str,
    *,
    may_change: bool = False,
    is_unused: bool = False,
) -> tuple[Plan, Plan]:
    """Return the folder's plan, from its journal's meta, and the plan that continues with it.

    Values missing in `plan` are those of the folder. Raises `RequestInvalidError` if the rest differs
    from it and not `may_change`, where the export cannot be continued by it, and where the app is another
    one. The plan of a folder that `is_unused` may change in all.
    """
    app, encoded = meta.get("app"), meta.get("plan")
    if app is None or encoded is None:
        raise RequestInvalidError(f"{folder / JOURNAL} {_NO_PLAN}: {REMEDY}")
    if app != app_id:
        raise RequestInvalidError(
            f"folder '{folder}' holds an export of the app {app!r}, and not of {app_id!r}: choose another"
        )
    stored = Plan.parse(encoded)
    continued = stored if plan is None else stored.continued(plan, is_literal=may_change)
    old, new = growth_fault(stored, continued)
    if old and not (may_change and is_unused):
        in_window = structs.replace(continued, since=stored.since, until=stored.until)
        ways = _OTHER_WINDOW if growth_fault(stored, in_window) == ("", "") else _OTHER_FILES
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {old}, and this plan has {new}: {ways}"
        )
    old, new = difference(stored, continued)
    if old and not may_change:
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {old}, and this plan has {new}; nothing was read or "
            "changed: expected no plan at all, which continues with the folder's own, --only (only=True), "
            "which reads just these sources once and leaves the plan, or --change-plan (change_plan=True)"
        )
    return stored, continued


# ── paths ──


def file_path(folder: Path, name: str) -> Path:
    """Return the path of a data file that a journal or manifest names.

    Raises what `path_inside` raises, and `RequestInvalidError` for the name of the journal or manifest.
    """
    if name.partition("/")[0].casefold().startswith(_OWN_FILES):
        raise RequestInvalidError(f"{folder}: {name!r} is named like a data file, and is not one; {_FOREIGN}")
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


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
