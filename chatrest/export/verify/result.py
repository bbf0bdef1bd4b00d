"""The result of `verify`: problems and notes, and the advice for each problem.

An advice is a value that is made with the finding. None of them may lose a message or an older version,
whatever the cause is: nothing is deleted or cut, and what is moved is kept. Tests follow each.
"""

import shlex
from enum import StrEnum
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, structs

from ..._struct_help import StructHelp
from ..._texts import name_list
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import NAME as MANIFEST
from ..plan.file_names import DAMAGED
from ..plan.report import sums

Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "unsafe", "seal",
]  # fmt: skip
id_list: Final = partial(name_list, most=3)
"""Return three of the ids, or names, of a problem, and the number of the others."""
MAX_PROBLEMS: Final = 1_000
"""Problems in the list; the others are counted, as each of a million files may be damaged."""


class Remedy(StrEnum):
    """The safe way to mend a problem, as its `remedy` says in a sentence."""

    NOTHING = "nothing"
    RUN = "run"
    """A run mends it: it reads again what is missing, and takes over or sets aside what it does not know."""
    CHANGE_PLAN = "change plan"
    READ_AGAIN = "read again"
    RUN_SETS_ASIDE = "run sets aside"
    """As `SET_ASIDE`; a run notices a file of another size by itself, and moves it."""
    SET_ASIDE = "set aside"
    """A run does not compare the bytes of a file: one with damaged bytes has to be moved by hand."""
    FETCH = "fetch"
    RESTORE = "restore"
    REBUILD = "rebuild"
    NEW_FOLDER = "new folder"
    KEEP_OUT = "keep out"
    """A name or link leads out of the folder: no export makes one."""
    MOVE = "move"

    def words(self, folder: str, subject: str, export: str = "") -> str:
        """Return the advice as a sentence; in a folder of exports `export` is the name of one."""
        path, aside = path_in(export, subject), path_in(export, f"{DAMAGED}/{subject}.damaged-1")
        file, new_file, new_folder = (
            shlex.quote(f"{folder}/{name}") for name in (path, aside, aside.rpartition("/")[0])
        )
        return _WORDS[self].format(
            path=path,
            journal=path_in(export, JOURNAL),
            aside=aside,
            move=f"`mkdir -p {new_folder} && mv -i {file} {new_file}`",
            run=f"run `chatrest export {shlex.quote(folder)}` again",
        )


_WORDS: Final[dict[Remedy, str]] = {
    Remedy.NOTHING: "",
    Remedy.RUN: "{run}",
    Remedy.CHANGE_PLAN: "another run would end the same way: name other sources with --change-plan",
    Remedy.READ_AGAIN: (
        "restore {path} from a backup, as what was deleted in the service is in it alone; without one "
        "{run}: what the service still shows of it is read again"
    ),
    Remedy.RUN_SETS_ASIDE: (
        "restore {path} from a backup; without one {run}: it moves the file to {aside}, reads again what "
        "the service still shows of it, and takes the rest from there"
    ),
    Remedy.SET_ASIDE: (
        "restore {path} from a backup; without one move it ({move}) and {run}: what the service still shows "
        "of it is read again, and the rest is taken from there"
    ),
    Remedy.FETCH: (
        "restore {path} from a backup; without one move it out of the folder, keep it, and {run}: where its "
        "link still leads to it, it is fetched again"
    ),
    Remedy.RESTORE: (
        "restore {path} from a backup, as older versions cannot be read again; without one keep it: what "
        "can still be read of it is nowhere else"
    ),
    Remedy.REBUILD: (
        "restore {journal} from a backup; without one move it out of the folder, keep it, and {run}: a new "
        "one is made from the files"
    ),
    Remedy.NEW_FOLDER: (
        f"keep the folder as it is; restore {JOURNAL} or {MANIFEST} from a backup, or export into another "
        "folder"
    ),
    Remedy.KEEP_OUT: (
        "do not run an export in this folder: it could overwrite files elsewhere; export into another one"
    ),
    Remedy.MOVE: "move it out of the folder, and keep it if you do not know what it is",
}


def path_in(export: str, subject: str) -> str:
    """Return a path in a folder of exports, or for a single export the path itself."""
    return "/".join(filter(None, (export, subject)))


class Finding(NamedTuple):
    """A problem that a check has found, with its advice; or a note, whose advice is None."""

    kind: Kind
    subject: str
    text: str
    advice: Remedy | None = None


class Problem(Struct, metaclass=StructHelp, frozen=True):
    """A problem of an export, or a note about it."""

    kind: Kind
    subject: str
    """The file, below the export's folder, or the source."""
    text: str
    """A sentence that describes it."""
    remedy: str = ""
    """A way to mend it without losing anything; empty if nothing needs to be done."""
    advice: Remedy = Remedy.NOTHING
    """The same as a value."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")


class VerifyResult(Struct, metaclass=StructHelp, kw_only=True):
    """The result of `verify`."""

    ok: bool = False
    """True if every check held, and the manifest says that the export is complete."""
    problems: list[Problem] = []
    """Up to 1,000 problems."""
    more: int = 0
    """The number of problems beyond those in the list."""
    notes: list[Problem] = []
    """Information that is not a problem."""
    until: int | None = None
    """The app's newest message id when the newest run began: up to there it has all of its plan if it is
    `ok`. None where the id is not known."""
    plan: str = ""
    """The sources of the plan and its window, in words: nothing is claimed of others."""
    by_app_list: bool = False
    """True if it is complete as far as the app's own list shows: the newest runs did not ask all sources."""
    messages: int = 0
    """Messages that were read, each counted once; without a journal those of files with a right checksum."""
    files: int = 0
    """Files that were read: those with messages, the history, and tables."""
    bytes: int = 0
    """The size of these files."""
    hashes: int = 0
    """Checksums of these files that were compared and are equal."""
    first: int | None = None
    """The lowest message id that was read."""
    last: int | None = None
    """The highest message id that was read."""
    root: str = ""
    """Of a bag of `chatrest seal` its root hash, where nothing in it differs from what was sealed."""
    exports: int = 1
    """The exports that were checked: the parts of a folder of parts, and those of each app."""

    @property
    def count(self) -> int:
        return len(self.problems) + self.more

    def add(self, problem: Problem) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1

    def add_result(self, export: str, other: "VerifyResult") -> None:
        """Add the result of one of several exports; the caller sets `ok`, `until` and `plan`."""
        for problem in other.problems:
            self.add(structs.replace(problem, subject=path_in(export, problem.subject)))
        self.more += other.more
        self.notes += (structs.replace(note, subject=path_in(export, note.subject)) for note in other.notes)
        for name, count in sums([self, other], ("messages", "files", "bytes", "hashes")).items():
            setattr(self, name, count)
        self.by_app_list |= other.by_app_list
        ids = [number for number in (self.first, self.last, other.first, other.last) if number is not None]
        self.first, self.last = min(ids, default=None), max(ids, default=None)

    def note(self, kind: Kind, subject: str, text: str) -> None:
        self.notes.append(Problem(kind, subject, text))
