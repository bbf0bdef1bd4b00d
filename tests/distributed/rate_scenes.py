"""The workers of a simulated cluster: their demand, their deaths, and how late their messages are."""

from collections.abc import Callable
from random import Random
from typing import Final

from tests.distributed.rate_simulation import Cluster

_HOURS: Final = 3600.0
_DRAWN: Final = 120
"""Numbers of readers that are drawn for a worker."""

Setup = Callable[[Cluster, int], None]


def equal(cluster: Cluster, workers: int) -> None:
    """40 readers on each worker."""
    for _ in range(workers):
        cluster.add()


def alone(cluster: Cluster, _: int) -> None:
    """One machine with its own pacer."""
    cluster.add_alone()


def uneven(cluster: Cluster, workers: int) -> None:
    """40 readers on one worker and one reader on each other; clocks that differ by hours."""
    for place in range(workers):
        cluster.add(lambda _, own=place: 40 if own == 0 else 1, clock=5 * _HOURS * place)  # type: ignore[misc]


def in_turn(cluster: Cluster, workers: int) -> None:
    """40 readers on one worker at a time, for 5 s each."""
    for place in range(workers):
        cluster.add(lambda now, own=place: 40 if int(now / 5) % workers == own else 0)  # type: ignore[misc]


def at_random(cluster: Cluster, workers: int) -> None:
    """0 to 40 readers on each worker, drawn again every 2 s; always 5 on one of them."""
    for place in range(workers):
        drawn = [Random(f"{place}/{number}").choice((0, 0, 1, 5, 40)) for number in range(_DRAWN)]
        cluster.add(lambda now, own=place, drawn=drawn: max(5 * (own == 0), drawn[int(now / 2) % _DRAWN]))  # type: ignore[misc]


def dying(cluster: Cluster, workers: int) -> None:
    """Equal demand; half of the workers die at 120 s."""
    equal(cluster, workers)
    for worker in list(cluster.workers.values())[: workers // 2]:
        cluster.at(120, lambda each=worker: setattr(each, "is_alive", False))  # type: ignore[misc]


def joining(cluster: Cluster, workers: int) -> None:
    """Equal demand; half of the workers begin at 120 s."""
    equal(cluster, workers - workers // 2)
    for _ in range(workers // 2):
        cluster.at(120, cluster.add)


def beside_another(cluster: Cluster, workers: int) -> None:
    """Equal demand; from 120 s on a session of one machine calls without pause, too."""
    equal(cluster, workers)
    cluster.at(120, cluster.add_alone)


def slow(cluster: Cluster, workers: int) -> None:
    """Replies after 1.5 s, and as many readers as that takes."""
    cluster.latency = 1.5
    for _ in range(workers):
        cluster.add(lambda _: 200)


def _stall(cluster: Cluster, stand_still: Callable[[float], None], longest: float, pause: float) -> None:
    """Let something pause for up to `longest` seconds, again and again."""
    seconds = longest * cluster.dice.random()
    stand_still(seconds)
    when = cluster.now + seconds + pause * cluster.dice.random()
    cluster.at(when, lambda: _stall(cluster, stand_still, longest, pause))


def busy_coordinator(cluster: Cluster, workers: int) -> None:
    """Equal demand; half of the time the coordinator gets no CPU time, for up to a second."""
    equal(cluster, workers)
    cluster.at(1, lambda: _stall(cluster, cluster.stand_still, 1.0, 1.0))


def busy_worker(cluster: Cluster, workers: int) -> None:
    """Equal demand; one worker gets no CPU time for up to 5 s, half of the time."""
    equal(cluster, workers)
    first = next(iter(cluster.workers.values()))
    cluster.at(1, lambda: _stall(cluster, first.stand_still, 5.0, 5.0))


def late(dice: Random) -> float:
    """Return about a second, in which a message is under way."""
    return 0.9 + 0.2 * dice.random()


def sometimes_late(dice: Random) -> float:
    """Return a second for each tenth message, else 5 ms."""
    return 1.0 if dice.random() < 0.1 else 0.005
