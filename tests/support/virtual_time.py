"""An event loop in virtual time, beside real sockets: hours of waiting take no time.

    from tests.support.virtual_time import run

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        async with Emulator(clock=clock) as emulator, AsyncSession(emulator.app, clock=clock) as session:
            await asyncio.sleep(3600)  # returns at once, and `clock` shows 3600 s more

    run(main())

Rules:
- `time()` begins at 0. It does not move while anything runs: computing and traffic take no virtual time.
- When no callback is ready and nothing is under way, time moves on to the next timer at once.
- Under way is what one end of a connection has sent (its closing included) and the other has not received, a
  connection that is being made, and a function that runs in a thread. The loop waits for these in real time.
- Both ends of a connection belong to this loop. For bytes that are not received, because a reader has paused
  or the other end is elsewhere, the loop waits `GRACE` seconds, once.
- A loop that has no timer and nothing under way would wait for ever: it raises `StalledError`.

The machine's clock is never read, and Linux delivers on loopback in the order of sending, so two runs with
the same dice are alike. TLS connections, pipes, and the loop's own `sock_recv` and `sock_sendall` are not
followed.
"""

import asyncio
import selectors
import socket
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, TypeVarTuple, Unpack, final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Direction: TypeAlias = tuple[Any, Any]
"""The addresses of the sender and of the receiver."""

GRACE: Final = 0.1
"""Seconds, in real time, until bytes under way are taken for ones that nobody receives."""


class StalledError(RuntimeError):
    """The loop has neither a timer nor anything under way, so nothing would ever happen."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a new `VirtualTimeLoop`, as `asyncio.run` does, and return its result."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run_test(*args: Any, **kwargs: Any) -> None:
        run(test(*args, **kwargs))

    return run_test


@final
class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves only when nothing is left to do at the present moment."""

    def __init__(self) -> None:
        self._traffic = _Traffic()
        self._virtual = _VirtualSelector(self._traffic)
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        with self._traffic.pend():
            await super().sock_connect(sock, address)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._traffic.pending += 1
        future.add_done_callback(self._finish)
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        with self._traffic.pend():
            await super().shutdown_default_executor(*args)

    def _finish(self, _: object) -> None:
        self._traffic.pending -= 1

    def _make_socket_transport(self, sock: socket.socket, *args: Any, **kwargs: Any) -> Any:
        # Where asyncio makes the transport of each end, accepted or connected: the one place for all sockets.
        followed = _FollowedSocket(sock, self._traffic)
        return super()._make_socket_transport(followed, *args, **kwargs)  # type: ignore[misc]


@final
class _Traffic:
    """The bytes, connections and threads that are under way."""

    def __init__(self) -> None:
        self.pending = 0
        """The connections that are being made, and the functions that run in threads."""
        self._ends: set[Direction] = set()
        self._unread: dict[Direction, int] = {}
        self._given_up: dict[Direction, int] = {}

    @contextmanager
    def pend(self) -> Iterator[None]:
        """Count a thing that is under way during the block."""
        self.pending += 1
        try:
            yield
        finally:
            self.pending -= 1

    @property
    def is_moving(self) -> bool:
        """True while something is under way that may still arrive."""
        return bool(self._unread) and self._unread != self._given_up

    def give_up(self) -> None:
        self._given_up = dict(self._unread)

    def open(self, outward: Direction) -> None:
        self._ends.add(outward)

    def send(self, outward: Direction, count: int) -> None:
        self._unread[outward] = self._unread.get(outward, 0) + count

    def receive(self, inward: Direction, count: int) -> None:
        left = self._unread.pop(inward, 0) - count
        if count and left > 0:
            self._unread[inward] = left

    def close(self, outward: Direction) -> None:
        """Note that an end is closed: the other one is to receive that, as if it were a byte."""
        inward = outward[::-1]
        self._ends.discard(outward)
        self._unread.pop(inward, None)
        if inward in self._ends:
            self.send(outward, 1)


@final
class _VirtualSelector(selectors.DefaultSelector):
    """A selector that moves the time on instead of waiting."""

    def __init__(self, traffic: _Traffic) -> None:
        super().__init__()
        self.now = 0.0
        self._traffic = traffic

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the files that are ready; if there are none and nothing is under way, pass `timeout`."""
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if self._traffic.pending:
            return super().select(None)
        if self._traffic.is_moving:
            events = super().select(GRACE)
            if not events:
                self._traffic.give_up()
            return events
        if timeout is None:
            raise StalledError("no timer is set, and nothing is under way: the loop would wait for ever")
        self.now += timeout
        return events


@final
class _FollowedSocket(socket.socket):
    """One end of a connection, whose traffic is counted; it takes the descriptor over from `sock`."""

    def __init__(self, sock: socket.socket, traffic: _Traffic) -> None:
        super().__init__(sock.family, sock.type, sock.proto, fileno=sock.detach())
        self.setblocking(False)
        self._traffic = traffic
        try:
            self._outward = (self.getsockname(), self.getpeername())
        except OSError:  # the other end has gone already
            self._outward = (self, None)
        self._inward = self._outward[::-1]
        traffic.open(self._outward)

    def send(self, data: "ReadableBuffer", flags: int = 0, /) -> int:
        count = super().send(data, flags)
        self._traffic.send(self._outward, count)
        return count

    def sendmsg(self, buffers: "Iterable[ReadableBuffer]", *args: Any) -> int:
        count = super().sendmsg(buffers, *args)
        self._traffic.send(self._outward, count)
        return count

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        data = super().recv(bufsize, flags)
        self._traffic.receive(self._inward, len(data))
        return data

    def recv_into(self, buffer: "WriteableBuffer", nbytes: int = 0, flags: int = 0) -> int:
        count = super().recv_into(buffer, nbytes, flags)
        self._traffic.receive(self._inward, count)
        return count

    def shutdown(self, how: int, /) -> None:
        super().shutdown(how)
        if how != socket.SHUT_RD:
            self._traffic.send(self._outward, 1)

    def close(self) -> None:
        super().close()
        self._traffic.close(self._outward)
