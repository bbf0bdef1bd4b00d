"""The history: older versions of messages, as they were served, in a file of its own.

`history.jsonl` is no part of the messages: a message stands once in an export, in its newest version.
"""

from typing import Final, final

from ...core.replies.rows import Row
from ..workspace import Workspace
from .block_files import BlockFiles
from .compression import Compression
from .recovery import recover_blocks

STEM: Final = "history"


@final
class History:
    """The file of older versions."""

    def __init__(self, workspace: Workspace, compression: Compression) -> None:
        self._workspace = workspace
        self._files = BlockFiles(workspace, compression, role="history", suffix=".jsonl")

    def add(self, versions: list[tuple[int, Row]]) -> None:
        """Write versions, each with the number of its source; called inside of a transaction."""
        by_source: dict[int, list[Row]] = {}
        for source, row in versions:
            by_source.setdefault(source, []).append(row)
        for source, rows in by_source.items():
            self._files.add(STEM, STEM, source, rows)
        self._files.flush()

    def put_in_place(self) -> None:
        """Give a new file its name; called after a commit."""
        self._files.put_in_place()

    def recover(self) -> None:
        """Drop from the journal what is not on disk; called inside of a transaction."""
        recover_blocks(self._workspace, self._files)

    def rollback(self) -> None:
        """Forget what was not committed."""
        self._files.rollback()
