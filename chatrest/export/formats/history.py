"""The history: older versions of messages, as they were served, in a file of its own.

`history.jsonl` is no part of the export: a message stands once in an export, in its newest version.
"""

from typing import Final, final

from ...core.rows import Row
from ..workspace import Workspace
from .block_files import BlockFiles
from .compression import Compression
from .recovery import repaired

NAME: Final = "history"


@final
class History:
    """The file of older versions."""

    def __init__(self, workspace: Workspace, compression: Compression) -> None:
        self._workspace = workspace
        self._lines = BlockFiles(workspace, compression, role="history", suffix=".jsonl")

    def add(self, old: list[tuple[int, Row]]) -> None:
        """Writes versions, each with the number of its source; called inside of a transaction."""
        by_source: dict[int, list[Row]] = {}
        for source, row in old:
            by_source.setdefault(source, []).append(row)
        for source, rows in by_source.items():
            self._lines.add_to(NAME, NAME, source, rows)
        self._lines.flush()

    def recover(self) -> None:
        """Cuts a torn end."""
        repaired(self._workspace, self._lines)

    def rollback(self) -> None:
        """Forgets what was not committed."""
        self._lines.rollback()
