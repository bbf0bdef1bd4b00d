"""The lineage of a copy: the generations of its manifest at which it was published or fetched.

`publications.json` is in the export's folder, and is a file of each published version.

| relation                                       | publish                      | fetch              |
|------------------------------------------------|------------------------------|--------------------|
| the published generation is in the copy's list | goes on from it: allowed     | see the next rows  |
| the copy's generation is in the published list | refused: the copy is older   | allowed            |
| neither                                        | refused: runs on both copies | refused            |

A generation is a number and a random text, and what an export holds at one does not change: so a generation
that two lists share is one and the same state of one export.
"""

from pathlib import Path
from typing import Final, final

import msgspec
from msgspec import Struct

from ...errors import ChatRestError
from ..disk import Disk
from ..manifest import put

NAME: Final = "publications.json"
_MOST: Final = 10_000
"""Generations that are kept, the newest ones: those of 27 years of daily publications."""


@final
class Lineage(Struct, frozen=True):
    """The content of `publications.json`."""

    generations: list[str] = []
    """Oldest first."""
    version: int = 1

    @property
    def newest(self) -> str:
        """The generation that was published or fetched last; an empty text where there is none."""
        return self.generations[-1] if self.generations else ""

    def extended(self, generation: str) -> "Lineage":
        """Return the lineage that ends with `generation`."""
        if self.newest == generation:
            return self
        kept = [each for each in self.generations if each != generation]
        return Lineage([*kept, generation][-_MOST:])

    def encoded(self) -> bytes:
        """Return the content of the file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def decode_lineage(data: bytes, place: object) -> Lineage:
    """Return the lineage in a file's content; `ChatRestError` names `place` where it is damaged."""
    try:
        lineage = msgspec.json.decode(data, type=Lineage)
    except (msgspec.DecodeError, UnicodeDecodeError):
        lineage = None
    if lineage is None or lineage.version != 1:
        raise ChatRestError(f"{place} is damaged, or of another version of chatrest")
    return lineage


def read_lineage(folder: Path) -> Lineage:
    """Return the lineage of the copy in `folder`; an empty one where it was never published or fetched."""
    path = folder / NAME
    return decode_lineage(path.read_bytes(), path) if path.is_file() else Lineage()


def write_lineage(folder: Path, lineage: Lineage) -> None:
    """Put the lineage in its place, whole and durably, if it differs from what is there."""
    if read_lineage(folder) != lineage:
        put(Disk(), folder / NAME, lineage.encoded())
