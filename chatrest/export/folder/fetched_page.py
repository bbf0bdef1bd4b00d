"""A page of a list on its way to the disk: what of it is written, and what it says of the list.

Those that fetch make it, and the export's folder writes it and notes it in one commit.
"""

from collections.abc import Sequence
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
ListOrder: TypeAlias = Literal["ids", "times", "other"]
"""ids: a list is ordered by id, and continues after an id; times: it is ordered by time, then id, and its
positions tell times, but it can be entered at an id, too; other: its ids are no positions, so each run reads
all of it."""


class Coverage(NamedTuple):
    after: int = 0
    last: int = 0
    position: Pairs = ()
    """Where the list continues after `last`, as the service named it; empty if it did not."""
    proven: int = 0
    """The frozen end up to which nothing is left, as the end of the list is proven; 0 if it is not."""


class SourceRows(NamedTuple):
    source: Source
    rows: list[Row]
    ids: PageIds


class ShownAgain(NamedTuple):
    """Known messages that a recheck, or its confirmation, has shown."""

    ids: PageIds
    """All ids, in any window: they are not deleted."""
    rows: list[Row]
    """Those that are compared with the rows on disk."""


class ForeignMessages(NamedTuple):
    """Messages of a page that other parts of the export write."""

    ids: dict[int, PageIds]
    """All of them, by the part."""
    rows: dict[int, list[Row]]
    """Those that no list of their part can show."""


class FetchedPage(Struct, frozen=True, kw_only=True):
    """A page on its way to the disk."""

    number: int
    """That of the source in the journal."""
    source: Source
    purpose: Purpose = "walk"
    covered: Coverage = Coverage()
    order: ListOrder | None = None
    """The order of the list, if the page has shown that it is not `ids`."""
    seen: PageIds = NO_IDS
    """The ids of its messages; a page without any only says what is covered."""
    rows: Sequence[SourceRows] = ()
    """Those that are written, unless they are on disk already."""
    again: ShownAgain | None = None
    foreign: ForeignMessages | None = None
    """None if other parts of the export write none of its messages."""
    bytes: int = 0
    """The memory that the page needs."""
