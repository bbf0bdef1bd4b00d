"""The messages by which tasks on many workers share one rate: reports to the coordinator, and its grants.

A **task** runs one part on a worker. The **coordinator**, the process that runs the job, learns the rate of
the service and divides it. A **share** is the part of the rate that one task may use, in requests a second. A
**lease** is the time for which a share is valid. An **epoch** is the time between two 429s. A **probe** is a
single request that finds out whether the service accepts requests again.

| event                                   | the coordinator                                                |
|-----------------------------------------|----------------------------------------------------------------|
| requests of a task wait                 | grants it an equal share of the rate that others do not need   |
| a task sends no report for a while      | grants it nothing more; its share is free when its lease ends  |
| a task reports that it ends             | divides its share again at once                                |
| a reply of the current epoch is a 429   | begins an epoch, in which no task has a share                  |
| the 429 names no time to wait           | begins another epoch, and lets one task send a probe           |

The sum of the valid shares never exceeds the rate, also if messages are late or lost, and no two clocks are
compared: a task counts the seconds of a lease from its report that the grant answers, and the coordinator
from when it received that report, which is later. It divides a share again only when the task has confirmed
a later grant, or when the lease is over.
"""

from msgspec import Struct

from .._core.requests.endpoint import RateClass


class ReportedReply(Struct, frozen=True, array_like=True):
    epoch: int  # of its request; 0 for one of an earlier epoch than the current one
    age: float  # seconds since the request was sent
    limited: bool = False  # True for a 429
    retry_after: float | None = None  # seconds that remain of those that the 429 named


class RateReport(Struct, frozen=True, array_like=True):
    """A message of a task to the coordinator: how it has used its share since its last report."""

    task: str  # its name, `address#run`
    rate_class: RateClass
    number: int  # grows
    confirmed: int  # the number of the newest grant that it has
    waiting: int = 0  # requests that may not be sent yet
    sent: int = 0
    epoch: int = 0
    replies: list[ReportedReply] = []
    unanswered: int = 0  # requests that brought no reply
    is_last: bool = False  # the task ends, and uses no share any more


class Grant(Struct, frozen=True, array_like=True):
    """A message of the coordinator to a task: its share of the rate of one class."""

    number: int  # grows
    answers: int  # the number of the newest report that the coordinator has of the task
    epoch: int
    share: float  # requests a second
    lease: float  # seconds
    rate: float  # requests a second of the whole cluster
    is_probe: bool = False  # the task may send one request, and reports its reply at once
