"""The session as operations know it: `Send` makes their calls, `AsRows` gives their lists as rows.

It is above the four packages of the core, as a session remembers something of each of them.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from msgspec import structs

from .paging.cursor import CursorKey
from .paging.walk_state import PageSizes
from .replies.rows import row_reader
from .requests.endpoint import Call

R = TypeVar("R")


class Send(Protocol):
    """A session as its collections know it: it makes calls."""

    @property
    def app_id(self) -> str:
        """The app that calls go to: a walk's token is bound to it."""

    @property
    def acting_user(self) -> str | None:
        """The acting user of calls that name none."""

    @property
    def page_sizes(self) -> PageSizes:
        """The largest pages that the session was served."""

    @property
    def cursor_key(self) -> CursorKey | None:
        """The key that signs cursors; None for none."""

    @property
    def check_acting_user(self) -> bool:
        """True if a walk that shows that the acting user was ignored is an error, not a warning."""

    @property
    def has_reader_token(self) -> bool:
        """True if a login token is sent beside the app's key: lists may be those of the token's user."""

    @property
    def reads_rows(self) -> bool:
        """True if the pages of lists are read as rows."""

    @property
    def drops_mismatches(self) -> bool:
        """True if the reader of a list drops what its filters exclude: an ignored filter is no warning."""

    def __call__(self, call: Call[R], /) -> Awaitable[R]: ...

    def sleep(self, seconds: float, /) -> Awaitable[None]:
        """Wait by the session's clock, between the requests of an operation that makes several."""

    def dice(self) -> float:
        """Return a random number from 0 to 1, to spread such waits."""


class AsRows:
    """A `Send` that reads the pages of lists as rows; an export `drops_mismatches` of its filters itself."""

    reads_rows: Final = True

    def __init__(self, send: Send, *, drops_mismatches: bool = False) -> None:
        self.drops_mismatches = drops_mismatches
        self.app_id: str = send.app_id
        self.acting_user: str | None = send.acting_user
        self.page_sizes: PageSizes = send.page_sizes
        self.cursor_key: CursorKey | None = send.cursor_key
        self.check_acting_user: bool = send.check_acting_user
        self.has_reader_token: bool = send.has_reader_token
        self.sleep: Callable[[float], Awaitable[None]] = send.sleep
        self.dice: Callable[[], float] = send.dice
        self._send: Callable[[Call[Any]], Awaitable[Any]] = send

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Make the call of a list; its result is a `Listing[Row]`, whatever the endpoint's reply is."""
        reply: Any = call.endpoint.reply
        endpoint: Any = structs.replace(call.endpoint, reply=row_reader(reply))
        return self._send(structs.replace(call, endpoint=endpoint))
