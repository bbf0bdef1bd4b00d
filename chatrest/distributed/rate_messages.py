"""The messages between the workers of a cluster and the coordinator of their rate.

Plain data: no clock's time is in them, only ages and lengths in seconds, as the clocks of machines differ.
"""

from typing import TypeAlias

from msgspec import Struct

from ..core.requests.endpoint import RateClass

LEASE_SECONDS = 3.0
"""Seconds for which a grant is valid, counted from its receipt."""


class Refusal(Struct, frozen=True, array_like=True):
    """A request that was answered 429."""

    age: float
    """Seconds since it was sent, when the report was made."""
    grant: int
    """The number of the grant that was in force when it was sent."""
    retry_after: float | None = None
    """Seconds that the 429 named, counted from the report."""


class Usage(Struct, frozen=True, array_like=True):
    """The use of one rate class by a worker since its report before."""

    grant: int
    """The number of the last grant that it received; 0 before any."""
    epoch: int
    """The epoch of that grant; `offered` and `full` are of this epoch alone."""
    is_waiting: bool = False
    """True if a request had to wait for a slot."""
    sent: int = 0
    accepted: int = 0
    oldest: float = 0.0
    """The age of the first accepted request, from its sending."""
    newest: float = 0.0
    """The age of the last accepted request."""
    offered: float = 0.0
    """The requests that the grant's rate allowed."""
    full: float = 0.0
    """Those of them in the time in which all slots were used."""
    stated_limit: float | None = None
    probe: bool | None = None
    """True if the probe was accepted, False if it was not sent or brought no reply; a refused one is among
    the refusals, and None."""
    probe_refused: bool = False
    """True if the last of the refusals is the probe's."""
    refusals: tuple[Refusal, ...] = ()


class Grant(Struct, frozen=True, array_like=True):
    """A share of the rate of one class."""

    number: int
    """Grows with each grant of a class; an older one is ignored."""
    epoch: int
    """Grows with each change of the rate of the whole cluster."""
    rate: float
    """Requests a second; 0 for none."""
    seen: int = 0
    """The number of the worker's last report that the coordinator knew."""
    phase: float | None = None
    """Seconds from receipt to a slot, so that the slots of workers do not fall together; None for any."""
    is_probe: bool = False
    """True if one request may go, whose reply shows whether the limit still holds."""


Usages: TypeAlias = dict[RateClass, Usage]


class RateReport(Struct, frozen=True, array_like=True):
    """The report of a worker to the coordinator, several times a second."""

    worker: str
    number: int
    """Grows with each report of a worker."""
    usages: Usages
    is_last: bool = False
    """True if the worker needs no share any more."""


class RateLease(Struct, frozen=True, array_like=True):
    """The message of the coordinator to a worker: its grants by rate class."""

    worker: str
    grants: dict[RateClass, Grant]
    report_every: float = 0.2
    """Seconds between two reports."""
    seconds: float = LEASE_SECONDS
    """Seconds from receipt for which the grants are valid, and those before that were not replaced."""
