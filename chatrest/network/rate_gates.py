"""The rate gates of a pool: made when first asked for, and let go when a new one would do the same."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, TypeAlias, final
from weakref import WeakValueDictionary

from ..core.requests.endpoint import RateClass
from .rate_gate import RateGate
from .timing import Timing

GateKey: TypeAlias = tuple[str, RateClass]
"""App id and rate class."""

KEPT: Final = 500
"""Gates that are kept whatever they know."""
MOST_LEARNT: Final = 5000
"""Gates up to which learnt limits are kept."""
LEARNT_SECONDS: Final = 300.0
"""Seconds after the last reply for which a learnt limit is kept."""


@final
class RateGates(OrderedDict[GateKey, RateGate]):
    """The gates by app id and rate class; `gates[key]` makes the one that is missing.

    | beyond 500 gates, a gate …                                 | is let go                         |
    |------------------------------------------------------------|-----------------------------------|
    | that has waiters, or holds requests back at this moment    | never                             |
    | that learnt a limit from 429 replies, or looks for its end | 300 s after its last reply, or    |
    |                                                            | at once beyond 5000 gates         |
    | any other: the next reply tells what it knew               | at once                           |

    Each gate that is made costs a look at the two oldest, so there is no background task and no full scan.
    A gate that was let go while a call still uses it is found again: two gates would double the rate.
    """

    def __init__(self, make: Callable[[str, RateClass], RateGate], timing: Timing) -> None:
        super().__init__()
        self._make = make
        self._timing = timing
        self._released: WeakValueDictionary[GateKey, RateGate] = WeakValueDictionary()

    def __missing__(self, key: GateKey) -> RateGate:
        gate = self._released.pop(key, None) or self._make(*key)
        self._let_go()
        self[key] = gate
        return gate

    def known(self) -> Iterator[tuple[GateKey, RateGate]]:
        """Yield the gates that are kept or still used, with their keys."""
        return chain(list(self.items()), list(self._released.items()))

    def _let_go(self) -> None:
        for _ in range(min(2, len(self) - KEPT + 1)):
            key, gate = self.popitem(last=False)
            if self._is_needed(gate):
                self[key] = gate  # as the newest
            else:
                self._released[key] = gate

    def _is_needed(self, gate: RateGate) -> bool:
        if gate.waiting or gate.delay("bulk") > 0:
            return True
        age = self._timing.now() - gate.replied_at
        has_learnt = gate.pacer.rate_source == "learnt" or gate.pacer.is_probing
        return has_learnt and age < LEARNT_SECONDS and len(self) < MOST_LEARNT
