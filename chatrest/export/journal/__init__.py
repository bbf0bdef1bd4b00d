"""The journal: what of an export is safe, and what its sources have shown."""

from ...storage import InUseError, UnreadableError
from .journal import Journal
from .reader import JournalReader
from .records import Block, DataFile, DeletedId, FileState, OtherId, Recheck, Role, SourceState, State
from .schema import NAME

__all__ = [
    "NAME", "Block", "DataFile", "DeletedId", "FileState", "InUseError", "Journal", "JournalReader",
    "OtherId", "Recheck", "Role", "SourceState", "State", "UnreadableError",
]  # fmt: skip
