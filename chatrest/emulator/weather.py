"""The weather of one emulator: the script of its faults, and the decision which of them strike a request.

- The script is read from its beginning, and one fault strikes: the first that is due. The faults after it do
  not count the request, so a list of faults with `First` is a sequence.
- Faults that accompany (`Latency`, `IgnoredActingUser`) strike together with that one, and with each other.
- A fault counts the requests that it `fits`, from 1, and `when` decides by that number and its dice.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Final, NamedTuple, final

from msgspec import Struct, structs

from ..errors import RequestInvalidError
from .faults import Chance, Cut, Fault, Latency, Reset, Status, TooManyRequests
from .limits import Spelling
from .service.handler_input import ServiceRequest


class FaultSet(NamedTuple):
    fault: Fault | None
    all: tuple[Fault, ...]
    number: int = 0
    """The number of strikes of `fault`, this one included."""


class _Entry(Struct):
    fault: Fault
    dice: Random
    requests: int = 0
    strikes: int = 0


@final
class Weather:
    """The faults of one emulator, `emulator.weather`."""

    def __init__(self, faults: Iterable[Fault] = (), seed: int = 0) -> None:
        self._seed = seed
        self._script: list[_Entry] = []
        self._streaks: Counter[tuple[str, str, str, str]] = Counter()
        self._released = asyncio.Event()
        self.struck: Counter[str] = Counter()
        """The number of strikes by the fault's name, such as `struck["too_many_requests"]`."""
        self.add(*faults)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.struck.items()))
        return f"<Weather of {len(self._script)} faults; struck: {counts or 'nothing'}>"

    def add(self, *faults: Fault) -> None:
        """Add faults at the script's end, for requests that arrive from now on.

        Raises `RequestInvalidError` for anything that is not a `Fault`; then none is added.
        """
        for fault in faults:
            if not isinstance(fault, Fault):
                raise RequestInvalidError(f"weather = {fault!r}: expected a Fault")
        for fault in faults:
            seed = fault.when.seed if isinstance(fault.when, Chance) else None
            dice = Random(f"{self._seed}/{len(self._script)}" if seed is None else seed)  # noqa: S311
            self._script.append(_Entry(fault, dice))

    def clear(self) -> None:
        """Remove every fault from the script; a request that is half-open stays so until `release`."""
        self._script.clear()
        self._streaks.clear()

    def release(self) -> None:
        """Answer every request that is half-open now."""
        self._released.set()
        self._released = asyncio.Event()

    async def released(self) -> None:
        """Wait for the next `release`."""
        await self._released.wait()

    def strike(self, request: ServiceRequest) -> FaultSet:
        """Return the faults that strike a request, and count them."""
        # The strikes of a request in a row are counted; one that succeeds is forgotten.
        identity = request.method, request.path, request.query, request.headers.get("onbehalfof", "")
        main: _Entry | None = None
        accompanying: list[Fault] = []
        for entry in self._script:
            fault = entry.fault
            if (main is not None and not fault.accompanies) or not fault.fits(request):
                continue
            entry.requests += 1
            is_due = fault.when is None or fault.when.strikes(entry.requests, entry.dice)
            if not is_due or (fault.max_streak is not None and self._streaks[identity] >= fault.max_streak):
                continue
            self.struck[fault.name] += 1
            entry.strikes += 1
            if fault.accompanies:
                accompanying.append(fault)
            else:
                main = entry
        if main is None:
            self._streaks.pop(identity, None)
            return FaultSet(None, tuple(accompanying))
        self._streaks[identity] += 1
        return FaultSet(main.fault, (*accompanying, main.fault), main.strikes)


MAX_STREAK: Final = 3
"""A storm strikes a request at most this many times in a row: the fourth attempt succeeds."""


def storm(seed: int = 0, intensity: float = 0.2) -> list[Fault]:
    """Return mixed faults that strike a share `intensity` (0 to 1) of the requests; the seed decides which.

    A client that makes at least four attempts for a read (five are the default) gets every record once: no
    fault changes a record, no request is struck more than three times in a row, and requests that must not be
    repeated (POST, PATCH) get nothing worse than 429, which is not processed. Equal requests at the same time
    are counted as one row. Replies name waits of up to two seconds: give the session another `sleep`.

    Raises `RequestInvalidError` for another intensity.
    """
    if not 0 <= intensity <= 1:
        raise RequestInvalidError(f"intensity = {intensity!r}: expected a number from 0 to 1")
    dice = Random(f"storm/{seed}")  # noqa: S311 - weather, and no keys
    spellings: tuple[Spelling, ...] = ("a", "b", "retry-after", "none")
    bodies = (None, b"<html><body><h1>Bad gateway</h1></body></html>", b"upstream failed", b"")
    faults: list[Fault] = [
        *(TooManyRequests(dice.randrange(3), spelling) for spelling in spellings),
        *(Status(status, dice.choice(bodies), method="GET") for status in (408, 500, 502, 503, 504)),
        Reset(method="GET"),
        Reset(dice.randrange(2000), method="GET"),
        Cut(dice.randrange(2000), method="GET"),
    ]
    dice.shuffle(faults)
    share = 1 - (1 - intensity) ** (1 / len(faults))

    def chance(share: float) -> Chance:
        return Chance(share, dice.randrange(2**32))

    faults = [structs.replace(each, when=chance(share), max_streak=MAX_STREAK) for each in faults]
    return [Latency(dice.uniform(0.0, 0.004), when=chance(intensity / 4)), *faults]
