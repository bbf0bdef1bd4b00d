"""A page of a list on its way to the disk: what of it is written, and what it says of the list.

Those that fetch make it, and the export's folder writes it and notes it in one commit.
"""

from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from ..._core.replies.rows import Row
from ..._core.requests.endpoint import Pairs
from ..plan.message_ids import NO_IDS, PageIds
from ..plan.ownership import Source

Purpose: TypeAlias = Literal["walk", "recheck", "confirm", "missing"]
"""walk: ids that were not read yet; recheck: messages are read again, to find those that have changed or are
deleted; confirm: ids that the recheck did not show are looked for again; missing: ids that a source has
seen and no one has written."""


class ForeignMessages(NamedTuple):
    """Messages of a page that other parts of the export write."""

    ids: dict[int, PageIds]
    """All of them, by the part."""
    rows: dict[int, list[Row]]
    """Those that no list of their part can show."""
    edits: list[Row]
    """Of a recheck: those that were edited or deleted."""


class FetchedPage(Struct, frozen=True, kw_only=True):
    """A page on its way to the disk."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    after: int = 0
    last: int = 0
    """It covers the ids above `after` up to `last`."""
    position: Pairs = ()
    """Where the list continues."""
    proven: int = 0
    """The frozen end, where this page comes last, and the end of the source is proven."""
    seen: PageIds = NO_IDS
    """The ids of all of its rows; a page without any only says what is covered."""
    rows: list[Row] = []
    """Those that the source writes if they are not written yet, in ascending order of ids."""
    ids: PageIds = NO_IDS
    """The ids that may be written."""
    writers: dict[Source, list[Row]] | None = None
    """Of missing ids: the rows by the source whose file they belong to."""
    shown: PageIds | None = None
    """Of a recheck and its confirmation: all ids that the service showed, in any window."""
    repeated: list[Row] = []
    """Rows that came again under ids that were read before."""
    compared: list[Row] = []
    """Of a recheck: the rows that are compared with those on disk."""
    foreign: ForeignMessages | None = None
    """Those of its messages that other parts of the export write; None without any."""
    bytes: int = 0
    """The memory that the page needs."""
