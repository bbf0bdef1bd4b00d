"""The pages of the pieces of a list that wait for their consumer, in the order of the list.

Of two pieces that meet at a cut, the lower one shows which item comes first there: the one at the cut itself,
or the first one that it has seen beyond. The upper piece, which was entered by a guess, must begin with the
same item, or the service has left something out. Nothing of the upper piece is given in order before that is
known. Where pages are given as they arrive, the ranks before its first item count as covered only then.
"""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, final

from msgspec import structs

from ...core.paging.intervals import LAST, rank_of
from ...core.paging.order import Affix
from .piece_queue import ListPiece
from .piece_reader import PiecePage, id_of

T = TypeVar("T")


class NotSplittableError(Exception):
    """The list cannot be read from many positions, for the reason that is the message."""

    def __init__(
        self, reason: str, *, suspect: tuple[int, int] | None = None, is_named_refused: bool = False
    ) -> None:
        super().__init__(reason)
        self.suspect = suspect
        """The first and the last rank of which items may have been left out."""
        self.is_named_refused = is_named_refused
        """True if the service refused a position that it had named itself."""


@final
class PieceOutput(Generic[T]):
    """The pages of one piece that were read, and not yet taken."""

    __slots__ = (
        "covered", "error", "expected", "first_rank", "is_cut_known", "is_finished", "pages", "piece",
        "suspect_from",
    )  # fmt: skip

    def __init__(self, piece: ListPiece[Any], *, is_cut_known: bool) -> None:
        self.piece = piece
        self.pages: deque[PiecePage[T]] = deque()
        self.covered: int = piece.after
        """The rank up to which the piece was read."""
        self.expected: int | None = None
        """The rank that the piece before shows at the cut between the two; `LAST` for the end of the list."""
        self.is_cut_known = is_cut_known
        """False while it is not known that all pieces before show the same items at their cuts."""
        self.suspect_from: int = 0
        """The first rank that may have been left out, where that is not what this piece begins with."""
        self.first_rank: int | None = None
        """The first rank that this piece shows."""
        self.is_finished = False
        self.error: BaseException | None = None

    def check_cut(self) -> None:
        """Raise `NotSplittableError` if the two pieces at the lower cut show different items."""
        expected, first_rank = self.expected, self.first_rank
        if expected is None or first_rank is None or expected == first_rank or not self.piece.is_guess:
            return
        if self.piece.after == expected < self.piece.entry:
            return  # it was entered after the item at the cut, as there are none up to there
        left_out = expected == LAST or expected < first_rank
        raise NotSplittableError(
            "entered at an id that the service has not named, it leaves items out",
            suspect=(self.suspect_from, first_rank - 1) if left_out else None,
        )


@final
class PieceBuffer(Generic[T]):
    """The outputs of all pieces that are not done, in the order of the list."""

    def __init__(self, *, is_ordered: bool, max_pages: int, max_bytes: int) -> None:
        self._is_ordered = is_ordered
        self._limits = (max_pages, max_bytes)
        self._outputs: list[PieceOutput[T]] = []
        self._waiting = 0
        self._bytes = 0
        self.requests: int = 0
        """The number of pages that were asked for, and have not arrived."""

    def __iter__(self) -> Iterator[PieceOutput[T]]:
        return iter(self._outputs)

    @property
    def is_empty(self) -> bool:
        """True if every piece was read and taken."""
        return not self._outputs

    @property
    def first_rank(self) -> int | None:
        """The rank after which the first piece that is not done continues."""
        return self._outputs[0].covered if self._outputs else None

    @property
    def last_piece(self) -> ListPiece[Any] | None:
        """The piece after all others that are not done."""
        return self._outputs[-1].piece if self._outputs else None

    def add_piece(self, piece: ListPiece[Any], *, is_cut_off: bool) -> None:
        """Add a piece that is to be read, with a separate output; `is_cut_off` from the one before."""
        piece.of = PieceOutput(piece, is_cut_known=not is_cut_off)
        insort(self._outputs, piece.of, key=lambda each: each.piece.after)

    def may_read(self, piece: ListPiece[PieceOutput[T]]) -> bool:
        """Return True if the next page of a piece may be asked for: there is room, or it is its turn."""
        max_pages, max_bytes = self._limits
        if self._waiting + self.requests < max_pages and self._bytes < max_bytes:
            return True
        return self._outputs[0].piece is piece if self._is_ordered else not self._waiting

    def add_page(self, output: PieceOutput[T], page: PiecePage[T]) -> None:
        """Add a page that has arrived; `NotSplittableError` where it shows that something was left out."""
        output.covered = page.covered
        if page.first_rank is not None:
            output.first_rank = page.first_rank
            output.check_cut()
            if not output.is_cut_known:
                page = structs.replace(page, after=max(page.after, page.first_rank - 1))
        if page.items or not self._is_ordered:
            self._append(output, page)

    def finish(self, output: PieceOutput[T], page: PiecePage[T], direction: Affix) -> None:
        """Note that `page` was the last one of a piece; `NotSplittableError` as above."""
        output.is_finished = True
        upper = self._upper_of(output)
        if upper is None:
            return
        upper.suspect_from = page.after + 1 if page.is_end else upper.piece.after + 1
        if page.is_end:
            upper.expected = LAST
        else:
            last = rank_of(id_of(page.items[-1]), direction) if page.items else None
            upper.expected = last if last == output.piece.until else page.beyond
        upper.check_cut()
        # What a piece shows counts only if the cut below it holds, and so on down to the first piece.
        while output.is_finished and output.is_cut_known and upper is not None and not upper.is_cut_known:
            upper.is_cut_known = True
            if upper.first_rank is not None and not self._is_ordered:
                end = min(upper.first_rank - 1, upper.piece.until)
                self._append(upper, PiecePage([], upper.piece.after, end, (), page.start, None))
            output, upper = upper, self._upper_of(upper)

    def _upper_of(self, output: PieceOutput[T]) -> PieceOutput[T] | None:
        return next((each for each in self._outputs if each.piece.after == output.piece.until), None)

    def _append(self, output: PieceOutput[T], page: PiecePage[T]) -> None:
        output.pages.append(page)
        self._waiting += 1
        self._bytes += _size(page)

    def take(self) -> PiecePage[T] | None:
        """Return the page that is the consumer's next; None if none has arrived.

        In order, that is the first piece's; else the first one of any piece. Raises the error of a piece
        where it is its turn.
        """
        while self._outputs and not self._outputs[0].pages and self._outputs[0].is_finished:
            del self._outputs[0]
        outputs = self._outputs[:1] if self._is_ordered else self._outputs
        for output in outputs:
            if output.pages:
                page = output.pages.popleft()
                self._waiting -= 1
                self._bytes -= _size(page)
                return page
        for output in outputs:
            if output.error is not None:
                raise output.error
        return None


def _size(page: PiecePage[T]) -> int:
    return 0 if page.page is None else len(page.page.raw)
