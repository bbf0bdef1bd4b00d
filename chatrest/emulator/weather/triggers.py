"""Triggers of faults, and the requests that a fault is for; dice are an argument."""

from functools import cache
from random import Random
from typing import Final, TypeAlias

from ..._resources import OPERATIONS
from ...errors import RequestInvalidError
from ..checked import CheckedArguments, Count, FromZero, Share
from ..service.router import ROUTER


class Always(CheckedArguments):
    """Every request of the route."""

    def strikes(self, number: int, dice: Random) -> bool:
        return True


class First(CheckedArguments):
    """The first `count` requests of the route, after `after` others."""

    count: Count = 1
    after: FromZero = 0

    def strikes(self, number: int, dice: Random) -> bool:
        return self.after < number <= self.after + self.count


class Every(CheckedArguments):
    """Every `step`-th request of the route: 3 strikes the third, the sixth and so on."""

    step: Count

    def strikes(self, number: int, dice: Random) -> bool:
        return number % self.step == 0


class Chance(CheckedArguments):
    """Each request of the route with probability `share`, from 0 to 1.

    The dice come from `seed`, and where that is None from the emulator's seed and the fault's number in the
    script: the same requests in the same order are struck again.
    """

    share: Share
    seed: int | None = None

    def strikes(self, number: int, dice: Random) -> bool:
        return dice.random() < self.share


When: TypeAlias = Always | First | Every | Chance
ALWAYS: Final = Always()


class Target:
    """The requests that a fault is for: those of an operation by its name, or of a path template."""

    def __init__(self, route: str) -> None:
        self._operation = route if route in OPERATIONS else None
        if self._operation is None and not route.startswith("/"):
            names = ", ".join(sorted(OPERATIONS))
            raise RequestInvalidError(f"route = {route!r}: expected {names}, a path from its /, and None")
        self._segments = [None if segment[:1] == "{" else segment for segment in route[1:].split("/")]

    def fits(self, method: str, path: str) -> bool:
        """Return True for a request of this target; `path` is as sent, with the base address's own path."""
        if self._operation is not None:
            route = ROUTER.route(method, path)
            return route is not None and route.endpoint.name == self._operation
        segments = path.split("/")[2:]
        return len(segments) == len(self._segments) and all(
            own is None or own == segment for own, segment in zip(self._segments, segments, strict=True)
        )


target_of: Final = cache(Target)
"""Return the target of that name or template; made once."""
