"""What sinks are handed and what they give back. Below the sinks, which import nothing from above."""

from pathlib import Path
from typing import Final, NamedTuple

from ..core.rows import Row
from .disk import Disk, OpenFiles
from .journal import Block, Journal

LAST: Final = (1 << 63) - 1
"""No id is higher."""


class Workspace(NamedTuple):
    """The folder of an export, and what is needed to write into it."""

    folder: Path
    journal: Journal
    disk: Disk
    files: OpenFiles


class StoredRow(NamedTuple):
    """A row as it is on disk."""

    row: Row
    source: int
    """The source that wrote it; 0 where that is not known any more."""


class MissingIds(NamedTuple):
    """Ids of a source that the journal knows and the disk does not have: they are to be read again."""

    source: int
    """0 for any source."""
    first: int
    last: int


def missing_with(block: Block) -> MissingIds:
    """The ids that are missing where a block is. Its rows without a number for an id may stand anywhere, in
    any source's list.
    """
    return MissingIds(0, 1, LAST) if block.other > 1 else MissingIds(block.source, block.first, block.last)
