"""Faults of the connection: the service's answer, damaged on its way. `delivery` carries them out."""

from typing import Literal, final

from .faults import Fault, at_least


class Line(Fault, frozen=True, kw_only=True):
    """A fault that damages the service's answer on its way."""


class LostReply(Line, frozen=True, kw_only=True):
    """A request that gets no whole answer."""

    processed: bool = False
    """The service processes the request all the same: a message sent is then stored."""

    @property
    def is_withheld(self) -> bool:
        """True where the service never sees the request."""
        return not self.processed


@final
class Reset(LostReply, frozen=True):
    """The connection is reset (RST) before any reply, or once `after` bytes of the body are sent."""

    after: int | None = None
    """Bytes; None for before any reply. A reply that is sent in part was always processed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("reset.after", self.after, 0)

    @property
    def is_withheld(self) -> bool:
        """True where the service never sees the request."""
        return self.after is None and not self.processed


@final
class HalfOpen(LostReply, frozen=True):
    """The request is read, and nothing happens until `weather.release()`: then it is answered."""


@final
class Cut(Line, frozen=True):
    """The connection is closed once `after` bytes of the body are sent, and at least one is missing."""

    after: int = 0
    chunked: bool = False
    """The length is not announced, and the last chunk is missing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("cut.after", self.after, 0)


@final
class WrongLength(Line, frozen=True):
    """Content-Length is `by` bytes more than is sent, or less; then the connection is closed."""

    by: int = 10


@final
class Drip(Line, frozen=True):
    """The body in pieces of `size` bytes, with `pause` seconds between them."""

    size: int = 64
    pause: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("drip.size", self.size, 1)
        at_least("drip.pause", self.pause, 0)


@final
class CloseIdle(Line, frozen=True):
    """A keep-alive connection that is closed without notice after the reply to the request that is struck.

    `reply`: right after it. `request`: upon the next request of the same route on the same connection,
    which is not answered and not processed.
    """

    upon: Literal["reply", "request"] = "request"
