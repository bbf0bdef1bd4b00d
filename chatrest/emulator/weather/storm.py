"""Weather for soak tests: many kinds of fault at random, which a correct client survives."""

from random import Random
from typing import Any, Final

from .compression import BadGzip, Gzip
from .connection_faults import CloseIdle, Cut, Drip, Reset, WrongLength
from .cursor_faults import EmptyPage
from .faults import Fault, Latency, Skew, Status, TooManyRequests
from .triggers import Chance, check_share

MAX_STREAK: Final = 3
"""A request is struck so often in a row at most: the fourth attempt gets through."""


def storm(seed: int = 0, intensity: float = 0.2) -> list[Fault]:
    """Return mixed faults that strike a share `intensity` (0 to 1) of the requests, equal for equal seeds.

    A client that repeats reads four times or more (five are the default) gets through with nothing lost
    and nothing twice: no fault alters a record, no request is struck more than three times in a row, and
    requests that must not be repeated (POST, PATCH) meet nothing worse than 429, which is not processed.
    Waits that replies ask for are up to two seconds, so give the session a `sleep` of your own.

    Two equal requests under way at once share one streak.
    """
    check_share("intensity", intensity)
    dice = Random(f"storm/{seed}")  # noqa: S311 - weather, and no keys
    kinds = [*_answers(dice), *_connection_faults(dice)]
    dice.shuffle(kinds)
    share = 1 - (1 - intensity) ** (1 / len(kinds))

    def when(part: float) -> Chance:
        return Chance(part, dice.randrange(2**32))

    faults = [kind(**options, when=when(share), max_streak=MAX_STREAK) for kind, options in kinds]
    beside = [
        Latency(dice.uniform(0.0, 0.004), when=when(intensity / 4)),
        Skew(dice.uniform(-5000.0, 5000.0), when=when(intensity)),
        Gzip(when=when(intensity)),
    ]
    return [*beside, *faults]


def _answers(dice: Random) -> list[tuple[type[Fault], dict[str, Any]]]:
    limits = [
        {"headers": headers, "as_date": as_date, "wait": dice.randrange(3)}
        for headers, as_date in (
            ("a", False),
            ("a", True),
            ("b", False),
            ("retry-after", True),
            ("none", False),
        )
    ]
    statuses = [
        {"status": status, "body_kind": dice.choice(("json", "html", "text", "empty")), "method": "GET"}
        for status in (408, 500, 502, 503, 504)
    ]
    return [
        *((TooManyRequests, options) for options in limits),
        *((Status, options) for options in statuses),
    ]


def _connection_faults(dice: Random) -> list[tuple[type[Fault], dict[str, Any]]]:
    kinds: list[tuple[type[Fault], dict[str, Any]]] = [
        (Reset, {}),
        (Reset, {"after": dice.randrange(2000)}),
        (Cut, {"after": dice.randrange(2000)}),
        (Cut, {"after": dice.randrange(2000), "chunked": True}),
        (WrongLength, {"by": dice.randrange(1, 2000)}),
        (BadGzip, {"wrong": dice.choice(("garbage", "cut", "checksum"))}),
        (CloseIdle, {"upon": "request"}),
        (EmptyPage, {"lossless": True}),
        (Drip, {"size": dice.randrange(500, 5000), "pause": 0.0}),
    ]
    return [(kind, options | {"method": "GET"}) for kind, options in kinds]
