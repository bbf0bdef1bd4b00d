"""The shares of workers in a rate: by what each wants, and evenly where they want more than there is."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

K = TypeVar("K")


def shares(rate: float, wanted: Mapping[K, float]) -> dict[K, float]:
    """Return the share of each worker in `rate`; their sum is `rate`, also where less is wanted.

    Nobody gets less than it wants as long as another one gets more (max-min fairness). `wanted` is in
    requests a second, and infinite for a worker whose requests wait.
    """
    result: dict[K, float] = {}
    left = rate
    for place, name in enumerate(sorted(wanted, key=wanted.__getitem__)):
        result[name] = min(wanted[name], left / (len(wanted) - place))
        left -= result[name]
    if not result:
        return result
    extra = max(0.0, left) / len(result)
    return {name: share + extra for name, share in result.items()}


def phases(names: Sequence[K], share: float, anchor: float, now: float) -> dict[K, float]:
    """Return for workers of one equal `share` the seconds from `now` to a slot, so that slots alternate.

    The slots of all of them together are as evenly spread as those of one pacer. `anchor` is any time that
    stays the same while the rate does.
    """
    interval = 1 / share
    count = len(names)
    return {
        name: (anchor + interval * (place + 1) / count - now) % interval for place, name in enumerate(names)
    }
