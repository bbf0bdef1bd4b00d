"""The lists that an export reads, and which of them writes a message that two of them hold. Pure.

A message stands once in an export. Of the sources of the plan that claim it, which its own members decide,
the first one writes it, so that a message lies in the same file whatever is read first:

| source     | claims                                     | how sure (specification, Endpoints)        |
|------------|--------------------------------------------|--------------------------------------------|
| everything | every message                              | stands alone in a plan                     |
| group      | messages that are sent to it               | its own list                               |
| pair       | messages of one of the two to the other    | "exchanged between" the two                |
| user       | messages that it has sent, or was sent     | without an acting user: not specified      |

The surer one goes first; among users, the one that the journal has known longer. The rule may be wrong about
a service: what was seen and not written is found by the sets of ids (`missing`), and read again from a source
that saw it.
"""

import json
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias, final

import msgspec
from msgspec import Struct

from ..core.rows import Row
from ..queries.messages import MessageQuery
from ..resources.messages import Messages
from ..walk import Walk

Kind: TypeAlias = Literal["everything", "group", "pair", "user"]

_ORDER: Final[dict[Kind, int]] = {"everything": 0, "group": 1, "pair": 2, "user": 3}
_KEPT: Final = 10_000
"""Decisions that are remembered: one a conversation."""


@final
class Source(Struct, frozen=True):
    """One list of messages."""

    kind: Kind
    names: tuple[str, ...] = ()
    """The uid, the guid, or the two uids in order."""

    def __str__(self) -> str:
        return " ".join((self.kind, *self.names))

    @property
    def key(self) -> str:
        """The source as text, the same in every run, whatever its names hold."""
        return json.dumps((self.kind, *self.names))  # the standard library's: a lone surrogate is an escape

    @classmethod
    def parse(cls, key: str) -> "Source":
        """The source of a key."""
        kind, *names = json.loads(key)
        return msgspec.convert({"kind": kind, "names": names}, cls)

    def list(self, messages: Messages, query: MessageQuery) -> Walk[Any]:
        """The walk over it, from its start."""
        match self.kind:
            case "everything":
                return messages.list(query=query)
            case "group":
                return messages.list_group(self.names[0], query=query)
            case "pair":
                return messages.list_user(self.names[0], on_behalf_of=self.names[1], query=query)
            case "user":
                return messages.list_user(self.names[0], query=query)


class Ownership(IntEnum):
    """The part of a source in a message."""

    OWN = 0
    """It writes it."""
    UNCLAIMED = 1
    """No source claims it: whichever comes first writes it."""
    FOREIGN = 2
    """It leaves it to another one."""


@final
class OwnershipRules:
    """The rule for the sources of a plan."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._ranks: dict[Source, tuple[int, int]] = {}
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        """Add a source; among users, those that were added before go first."""
        self._ranks.setdefault(source, (_ORDER[source.kind], len(self._ranks)))

    def of(self, source: Source) -> "SourceOwnership":
        """Return the rule of one source."""
        return SourceOwnership(self, source)

    def claimants(self, sender: str, receiver: str, receiver_type: str) -> "list[Source]":
        """The sources that claim a message, the one that writes it first."""
        candidates = [Source("everything"), Source("user", (sender,))]
        if receiver_type == "group":
            candidates.append(Source("group", (receiver,)))
        elif receiver_type == "user":
            candidates += [pair_of(sender, receiver), Source("user", (receiver,))]
        known = {source for source in candidates if source in self._ranks}
        return sorted(known, key=self._ranks.__getitem__)


@final
class SourceOwnership:
    """The part of one source in each message."""

    def __init__(self, rules: OwnershipRules, source: Source) -> None:
        self._rules = rules
        self._source = source
        self._known: dict[tuple[str, str, str], Ownership] = {}

    @property
    def owns_all(self) -> bool:
        """True if it writes every message that it shows."""
        return self._source.kind == "everything"

    def __call__(self, row: Row) -> Ownership:
        """Return what the source does with a row."""
        return self.of((row.sender, row.receiver, row.receiver_type))

    def of(self, names: tuple[str, str, str]) -> Ownership:
        """Return what the source does with a message of this sender, receiver and type of receiver."""
        if self.owns_all:
            return Ownership.OWN
        ownership = self._known.get(names)
        if ownership is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            ownership = self._known[names] = self._decide(names)
        return ownership

    def _decide(self, names: tuple[str, str, str]) -> Ownership:
        claimants = self._rules.claimants(*names)
        if not claimants:
            return Ownership.UNCLAIMED
        if claimants[0] != self._source:
            return Ownership.FOREIGN
        return Ownership.OWN


def pair_of(one: str, other: str) -> Source:
    """The conversation of two, whichever is named first."""
    return Source("pair", tuple(sorted((one, other))))
