"""Scripted weather: which fault strikes which request.

    from chatrest.emulator import Emulator
    from chatrest.emulator.weather.script import First, Latency, Reset, Status

    async with Emulator(weather=[Status(503, when=First(2)), Reset(route="messages.send")]) as emulator:
        emulator.weather.add(Latency(0.5, route="/users/{uid}/messages"))

Rules:
- The script is read from its beginning, and one fault strikes: the first that says so. Those after it do
  not see the request, nor count it, so a list of `First` is a sequence.
- What accompanies (`Latency`, `Skew`, `Gzip`) strikes beside that one, and beside each other.
- A fault counts the requests that it `fits`, from 1, and `when` decides by that number, time and dice.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final, NamedTuple, final

from ...errors import RequestInvalidError
from ..service.request import Request
from .faults import Fault, Latency, Skew
from .triggers import Chance


class Strike(NamedTuple):
    """What strikes one request."""

    fault: Fault | None
    """The one that does not accompany."""
    beside: tuple[Fault, ...]
    """Those that accompany, in the script's order."""
    number: int = 0
    """How often `fault` has struck, this time included."""

    @property
    def name(self) -> str | None:
        """The names of what struck, joined by `+`; None for nothing."""
        faults = [*self.beside, *([] if self.fault is None else [self.fault])]
        return "+".join(fault.name for fault in faults) or None

    @property
    def skew(self) -> float:
        """Seconds that the service's clock is ahead."""
        return sum(fault.seconds for fault in self.beside if isinstance(fault, Skew))

    @property
    def latency(self) -> float:
        """Seconds that the reply is late."""
        return sum(fault.seconds for fault in self.beside if isinstance(fault, Latency))


CALM: Final = Strike(None, ())


class _Entry:
    """A fault in the script, and how it has fared."""

    def __init__(self, fault: Fault, dice: Random) -> None:
        self.fault = fault
        self.dice = dice
        self.seen = 0
        self.strikes = 0


@final
class Weather:
    """The script of one emulator, `emulator.weather`: empty, nothing happens and nothing is paid."""

    def __init__(self, faults: Iterable[Fault] = (), seed: int = 0) -> None:
        self._seed = seed
        self._script: list[_Entry] = []
        self._added = 0
        self._streaks: Counter[tuple[str, str, str, str]] = Counter()
        self._released = asyncio.Event()
        self.struck: Counter[str] = Counter()
        """How often each kind of fault has struck, by name."""
        self.add(*faults)

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {count}" for name, count in sorted(self.struck.items()))
        return f"<Weather of {len(self._script)} faults; struck: {told or 'nothing'}>"

    def __len__(self) -> int:
        return len(self._script)

    def __iter__(self) -> Iterator[Fault]:
        return iter([entry.fault for entry in self._script])

    def add(self, *faults: Fault) -> None:
        """Adds faults at the script's end; what is under way is not touched."""
        for fault in faults:
            if not isinstance(fault, Fault):
                raise RequestInvalidError(f"weather: {fault!r} is no Fault")
        for fault in faults:
            seed = fault.when.seed if isinstance(fault.when, Chance) else None
            dice = Random(f"{self._seed}/{self._added}" if seed is None else seed)  # noqa: S311
            self._script.append(_Entry(fault, dice))
            self._added += 1

    def clear(self) -> None:
        """Takes every fault off the script; a request that is held half-open stays so until `release`."""
        self._script.clear()
        self._streaks.clear()

    def release(self) -> None:
        """Answers every request that is held half-open now."""
        self._released.set()
        self._released = asyncio.Event()

    async def released(self) -> None:
        """Waits for the next `release`."""
        await self._released.wait()

    def strike(self, request: Request, now: float) -> Strike:
        """What strikes `request` at `now`, seconds on the emulator's clock."""
        hit, beside = None, []
        for entry in self._script:
            if not entry.fault.accompanies and hit is not None:
                continue
            if self._strikes(entry, request, now):
                if entry.fault.accompanies:
                    beside.append(entry.fault)
                else:
                    hit = entry
        self._remember(request, hit is not None)
        if hit is None:
            return Strike(None, tuple(beside))
        hit.strikes += 1
        self.struck[hit.fault.name] += 1
        return Strike(hit.fault, tuple(beside), hit.strikes)

    def closes(self, fault: Fault, request: Request) -> bool:
        """Whether `request` is to find its connection closed, which the `CloseIdle` `fault` has doomed."""
        if not fault.fits(request) or self._is_spared(fault, request):
            return False
        self._remember(request, struck=True)
        return True

    def _strikes(self, entry: _Entry, request: Request, now: float) -> bool:
        fault = entry.fault
        if not fault.fits(request):
            return False
        entry.seen += 1
        strikes = fault.when.strikes(entry.seen, now, entry.dice)
        if strikes and fault.accompanies:
            self.struck[fault.name] += 1
        return strikes and not self._is_spared(fault, request)

    def _is_spared(self, fault: Fault, request: Request) -> bool:
        return fault.spare is not None and self._streaks[_line(request)] >= fault.spare

    def _remember(self, request: Request, struck: bool) -> None:
        """Counts how often in a row a request was struck; one that comes through is forgotten."""
        line = _line(request)
        if struck:
            self._streaks[line] += 1
        elif line in self._streaks:
            del self._streaks[line]


def _line(request: Request) -> tuple[str, str, str, str]:
    return request.method, request.path, request.query, request.headers.get("onbehalfof", "")
