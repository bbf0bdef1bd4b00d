"""What an export of parts needs, by arithmetic: from the sizes of an app and the figures of single exports.

It is no measurement. The figures are those of small exports (2 vCPUs): of one of 3,000 users in 64 parts, and
those of the guide for memory. What they are multiplied by is the design: which things grow with a part, and
which with the whole.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from .measure import table

SOURCE_BYTES: Final = 270
"""Of a source in the journal: its row, its coverage, its set of ids."""
ID_BYTES: Final = 14
"""Of a message in the journal: its id in two sets of what was seen and in one of what is written."""
FOREIGN_BYTES: Final = 3
"""Of an id that is left to another part, there and in the journal of who has left it."""
FILE_BYTES: Final = 340
"""Of a file in the manifest."""
MESSAGE_BYTES: Final = 870
"""Of a message, as served."""
FILE_SIZE: Final = 128_000_000
"""Of a full file of messages."""
BASE_MEMORY: Final = 90_000_000
MEMORY_OF_SOURCE: Final = 850
MEMORY_OF_MESSAGE: Final = 20
RULE_BYTES: Final = 12
"""Of a user in each process: the rule of ownership, and the packed lists of users."""
KNOWN_BYTES: Final = 100
"""Of a user where a night begins."""
PAGE: Final = 1_000
REQUESTS_OF_LIST: Final = 2
"""Of a list beside its full pages: its end, and the check of it."""
A_MINUTE: Final = 20_000
"""Requests a minute that the service allows."""


class Needs(NamedTuple):
    """What an app of this size needs."""

    users: int
    messages: int
    parts: int

    @property
    def hours(self) -> float:
        """Return the time of the first night at the service's limit; each message is in two lists."""
        requests = 2 * self.messages / PAGE + REQUESTS_OF_LIST * self.users
        return requests / A_MINUTE / 60

    @property
    def journal(self) -> float:
        """Return the bytes of a part's journal."""
        ids = self.messages * (ID_BYTES + FOREIGN_BYTES * (self.parts > 1))
        return (self.users * SOURCE_BYTES + ids) / self.parts

    @property
    def manifest(self) -> float:
        """Return the bytes of a part's manifest, with full files."""
        return max(1, self.messages / self.parts * MESSAGE_BYTES / FILE_SIZE) * FILE_BYTES

    @property
    def memory(self) -> float:
        """Return the bytes of a process that runs a part."""
        part = (self.users * MEMORY_OF_SOURCE + self.messages * MEMORY_OF_MESSAGE) / self.parts
        return BASE_MEMORY + part + RULE_BYTES * self.users * (self.parts > 1)

    @property
    def beginning(self) -> float:
        """Return the bytes of the process that begins a night."""
        return BASE_MEMORY + KNOWN_BYTES * self.users


MODELS: Final = (
    Needs(300_000, 100_000_000, 1),
    Needs(300_000, 100_000_000, 16),
    Needs(2_000_000, 500_000_000, 64),
    Needs(50_000_000, 10_000_000_000, 64),
    Needs(50_000_000, 10_000_000_000, 2_000),
)


def model_table(models: Sequence[Needs] = MODELS) -> str:
    """Return a table of what exports of parts need."""
    heads = (
        "users",
        "messages",
        "parts",
        "hours at the limit",
        "journal",
        "manifest",
        "memory",
        "of a night",
    )
    return table(heads, (_cells(each) for each in models))


def _cells(needs: Needs) -> tuple[str, ...]:
    sizes = (needs.journal, needs.manifest, needs.memory, needs.beginning)
    counts = (needs.users, needs.messages, needs.parts)
    return (*(f"{each:,}" for each in counts), f"{needs.hours:,.1f}", *(_size(each) for each in sizes))


def _size(count: float) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.2f} MB"
