"""Imports of users, groups, members, messages and bans from JSON lines, resumable after any interruption.

from chatrest.importing import run

`check(files)` validates every line without network. See `importer` for the rules of repetition.
"""

from .import_journal import FileResult, ImportResult, LineNote, Omission
from .import_records import KINDS, Kind
from .importer import ImportProgress, check, run

__all__ = [
    "KINDS", "FileResult", "ImportProgress", "ImportResult", "Kind", "LineNote", "Omission", "check", "run",
]  # fmt: skip
