"""A test double of the session: it records calls and answers them without a network."""

from collections.abc import Callable
from typing import Any, TypeAlias

from chatrest._core.paging.cursor import CursorKey
from chatrest._core.paging.walk_state import PageSizes
from chatrest._core.requests.encode import query_pairs
from chatrest._core.requests.endpoint import Call

Answer: TypeAlias = bytes | Callable[[Call[Any]], Any] | object
"""A reply's body, which the endpoint decodes; a function of the call; or the result itself."""


class Sender:
    """A sender that returns its answers in order and repeats the last one."""

    def __init__(
        self, *answers: Answer, app_id: str = "app", acting_user: str | None = None, key: bytes | None = None
    ) -> None:
        self.app_id, self.acting_user = app_id, acting_user
        self.page_sizes = PageSizes()
        self.check_acting_user = True
        self.reads_rows = self.drops_mismatches = False
        self.has_reader_token = False
        self.cursor_key = None if key is None else CursorKey(key)
        self.answers = list(answers)
        self.calls: list[Call[Any]] = []
        self.slept: list[float] = []

    async def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)

    def dice(self) -> float:
        return 0.5

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        if isinstance(answer, bytes):
            return call.endpoint.reply(answer)
        return answer(call) if callable(answer) else answer

    @property
    def call(self) -> Call[Any]:
        [call] = self.calls
        return call

    def asked(self) -> dict[str, str]:
        call = self.calls[-1]
        return {**dict(query_pairs(call.query)), **dict(call.position)}
