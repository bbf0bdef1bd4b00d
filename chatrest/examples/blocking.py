"""Calls from code without asyncio (Django, Flask, Celery, a script): one session, in a loop in a thread.

    python -m chatrest.examples.blocking        # reads an emulator from four threads

`BlockingSession` stands alone: copy it, or import it. It may be made when a module is imported, as nothing is
opened before the first call: each process has a loop, a thread and a session, also after a fork.
"""

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias, TypeVar, final

from chatrest import AsyncSession, Walk
from chatrest.emulator import Emulator

T = TypeVar("T")
_OpenSession: TypeAlias = tuple[AsyncSession, asyncio.AbstractEventLoop, asyncio.Event]


@final
class BlockingSession:
    """One session per process for threads without an event loop; closed at the exit of the process.

        chat = BlockingSession(lambda: AsyncSession(App.from_env(), deadline=5.0))
        user = chat.run(lambda session: session.users.get("bob"))
        for message in chat.items(lambda session: session.messages.list_user("bob").limit(20)):
            print(message.text)

    Any thread may call it. A call raises what the session raises; an interrupted one is cancelled.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[AsyncSession]]) -> None:
        self._make = make
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def _forget(self) -> None:
        """Begin again: in a forked child there is no thread, and the lock may be held by one."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Return the result of `call`, which gets the session in its event loop."""
        session, loop, _ = self._open()

        async def work() -> T:
            return await call(session)

        future = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return future.result()
        except BaseException:  # such as Ctrl-C in this thread: the call ends, too
            future.cancel()
            raise

    def items(self, walk: Callable[[AsyncSession], Walk[T]]) -> Iterator[T]:
        """Yield the items of a list, one page at a time."""
        pages = walk(self._open()[0]).pages()
        while (page := self.run(lambda _: anext(pages, None))) is not None:
            yield from page.items

    def close(self) -> None:
        """Close the connections; the next call opens others."""
        with self._lock:
            if self._thread is not None:
                _, loop, done = self._opened
                loop.call_soon_threadsafe(done.set)
                self._thread.join()
                self._thread = None

    def _open(self) -> _OpenSession:
        with self._lock:
            if self._thread is None:
                opened: Future[_OpenSession] = Future()
                thread = threading.Thread(target=lambda: asyncio.run(self._serve(opened)), daemon=True)
                thread.start()
                self._opened = opened.result()  # raises what prevents the session
                self._thread = thread
            return self._opened

    async def _serve(self, opened: Future[_OpenSession]) -> None:
        try:
            async with self._make() as session:
                done = asyncio.Event()
                opened.set_result((session, asyncio.get_running_loop(), done))
                await done.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)


@asynccontextmanager
async def _sample() -> AsyncIterator[AsyncSession]:
    async with Emulator(users=4, messages=400) as emulator, AsyncSession(emulator.app) as session:
        yield session


def main() -> None:
    """Count the messages of each user of an emulator, in four threads."""
    chat = BlockingSession(_sample)
    uids = [user.uid for user in chat.items(lambda session: session.users.list())]

    def count(uid: str) -> int:
        return sum(1 for _ in chat.items(lambda session: session.messages.list_user(uid)))

    with ThreadPoolExecutor(4) as threads:
        for uid, messages in zip(uids, threads.map(count, uids), strict=True):
            sys.stdout.write(f"{uid}: {messages} messages\n")
    chat.close()


if __name__ == "__main__":
    main()
