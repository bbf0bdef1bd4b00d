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
    """The ids that a page covers: those above `after` up to `last`, after which the list continues there."""

    after: int = 0
    last: int = 0
    position: Pairs = ()
    proven: int = 0
    """The frozen end up to which nothing is left, as the end of the list is proven; 0 if it is not."""


class SourceRows(NamedTuple):
    """Rows in the order of their ids, and the source whose files they belong to."""

    source: Source
    rows: list[Row]
    ids: PageIds


class ShownAgain(NamedTuple):
    """Known messages that are shown again: the ids of all, and the rows that are compared with the disk."""

    ids: PageIds
    rows: list[Row]


class ForeignMessages(NamedTuple):
    """Messages of a page that other parts write, by the part: the rows are those that no list there shows."""

    ids: dict[int, PageIds]
    rows: dict[int, list[Row]]


class FetchedPage(Struct, frozen=True, kw_only=True):
    """A page on its way to the disk; one that has `seen` nothing only says what is covered."""

    number: int
    source: Source
    purpose: Purpose = "walk"
    covered: Coverage = Coverage()
    order: ListOrder | None = None
    """The order of the list, if the page has shown that it is not `ids`."""
    seen: PageIds = NO_IDS
    rows: Sequence[SourceRows] = ()
    again: ShownAgain | None = None
    foreign: ForeignMessages | None = None
    """None if other parts of the export write none of its messages."""
    bytes: int = 0
