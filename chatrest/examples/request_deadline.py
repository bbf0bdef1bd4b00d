"""The time that a web request has, for all calls to the chat service that it makes."""

import asyncio
from typing import final

from chatrest import AsyncSession, DeadlineExceededError


@final
class RequestDeadline:
    """The time by which a web request is answered: `seconds` from now, by the clock of the event loop."""

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + seconds

    def view(self, chat: AsyncSession, share: float = 1.0) -> AsyncSession:
        """Return a view of `chat` for the next call, which may take `share` of the time that is left.

        Make a view for each call: its deadline counts from the call's begin. For a walk it counts for each
        page. Raises `DeadlineExceededError` if no time is left.
        """
        left = self._end - self._clock()
        if left <= 0:
            raise DeadlineExceededError("the web request has no time left for another call", reason="wait")
        return chat.with_options(deadline=left * share)
