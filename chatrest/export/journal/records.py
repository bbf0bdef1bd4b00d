"""The records of the journal: a file, a block of it, a source, what is to be read again."""

from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from ...core.requests.endpoint import Pairs
from ..id_set import IdSet
from ..ownership import Source

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""Of bytes, of rows, or an id: one that is negative is damage."""
State: TypeAlias = Literal["open", "failed", "deleted_user"]
"""open: read, or to be read; failed: the service refused it; deleted_user: it is not listed any more."""
Role: TypeAlias = Literal["part", "spool", "history"]
FileState: TypeAlias = Literal["open", "whole", "replacing"]
"""open: more may be added; whole: no more; replacing: its new content is in `name.new`."""


class SourceState(NamedTuple):
    """A source as the journal knows it."""

    number: int
    """Its rank among users: the lower one writes what two of them have."""
    source: Source
    state: State = "open"
    error: str | None = None
    by_time: bool = False
    """True where its list goes by time, with ids in any order: each run reads all of it."""
    proven: int = 0
    """The frozen end for which its newest id was probed: all that the service has up to there was seen."""
    asked: bool = True
    """True where the plan still asks for it; what it wrote is kept where not."""


class DataFile(NamedTuple):
    """A file of the export."""

    number: int
    name: str
    """Below the export's folder."""
    partition_key: str
    """The content of the file: a source's key, a month, a day."""
    role: Role
    size: Count
    """How many of its bytes are committed."""
    state: FileState
    digest: bytes | None
    """SHA-256 of a file that is written in one go; one that grows has a hash a block."""


class Block(NamedTuple):
    """Rows of one source, one after the other in one file."""

    file: int
    start: Count
    size: Count
    source: int
    rows: Count
    first: int
    last: int
    since: int
    until: int
    digest: bytes
    ids: IdSet
    """The ids of its rows; those that are no numbers are in the table `other_ids`."""
    other: int = 0
    """2 where any of the rows has no number for an id, 1 where any tells no time."""


class OtherId(NamedTuple):
    """An id that is no number of 64 bits, as one of its sources saw it."""

    key: str
    """The id's text; `#` and a SHA-256 for a record without an id."""
    source: int
    file: int | None
    """The file that this source wrote it into; None where it did not."""


class Recheck(NamedTuple):
    """A source that is read again."""

    since: int
    after: int
    """The id up to which that was done."""
    until: int
    position: Pairs

    @property
    def is_done(self) -> bool:
        """True if it was read again to its end."""
        return self.after >= self.until


class DeletedId(NamedTuple):
    """An id that the service does not show any more."""

    id: str
    source: int
    noticed: int
    """In epoch seconds."""
    missing: bool
    """True where it is not in the export either: it was in a file that was lost."""
