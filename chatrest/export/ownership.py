"""The lists that an export reads, and whose a message is where two of them hold it. Pure.

A message stands once in an export. To remember every id would cost memory without end, so there is a rule
of ownership, which a message's own members decide: of the sources of the plan that claim it, the first one
writes it, and the others leave it to that one.

| source     | claims                                   | how sure (specification, Endpoints)           |
|------------|------------------------------------------|-----------------------------------------------|
| everything | every message                            | stands alone in a plan                        |
| group      | what is sent to it                       | its own list                                  |
| pair       | what one of the two has sent to the other | "exchanged between" the two                  |
| user       | what it has sent, what was sent to it    | without an acting user: not specified         |

The surer one goes first; among users, the one that the journal has known longer. A rule may be wrong about a
service: what is left to another is noted, and `settle` checks that it is there. What no source claims, such
as a group's message in a member's list, belongs to whoever comes first; the journal keeps such ids.
"""

import json
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias, final

import msgspec
from msgspec import Struct, structs

from ..core.cursor import Cursor
from ..core.intervals import Gap
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

    def walk(
        self, messages: Messages, query: MessageQuery, hole: Gap, *, from_start: bool = False
    ) -> Walk[Any]:
        """The walk over it from a hole's beginning on, ids ascending; it asks once more at the end.

        Where the service has not named the place, it is the id, or with `from_start` that of the whole list:
        what lies before the hole comes, too.
        """
        begin = self.list(messages, structs.replace(query, affix="append"))
        if not hole.after:
            return begin.thorough()
        if from_start:
            return begin.thorough()
        at = hole.at or (("affix", "append"), ("id", str(hole.after)))
        start: Cursor = structs.replace(
            begin.cursor, position=at, direction="append", last=str(hole.after), inside=True
        )
        return begin.at(start).thorough()


class Ownership(IntEnum):
    """What a source does with a message."""

    OWN = 0
    """It writes it: nobody else claims it."""
    SHARED = 1
    """It writes it, and another source leaves it to this one."""
    FOREIGN = 2
    """It leaves it to another one."""
    UNCLAIMED = 3
    """No source claims it: who comes first writes it."""


@final
class OwnershipRules:
    """The rule of ownership for the sources of a plan."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._ranks: dict[Source, tuple[int, int]] = {}
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        """One more; among users, those that were added before go first."""
        self._ranks.setdefault(source, (_ORDER[source.kind], len(self._ranks)))

    def of(self, source: Source) -> "SourceOwnership":
        """Decides for one source."""
        return SourceOwnership(self, source)

    def claimants(self, sender: str, receiver: str, receiver_type: str) -> "list[Source]":
        """The sources that claim a message, the one that writes it first."""
        found = [Source("everything"), Source("user", (sender,))]
        if receiver_type == "group":
            found.append(Source("group", (receiver,)))
        elif receiver_type == "user":
            found += [pair_of(sender, receiver), Source("user", (receiver,))]
        known = {source for source in found if source in self._ranks}
        return sorted(known, key=self._ranks.__getitem__)


@final
class SourceOwnership:
    """What one source does with each message."""

    def __init__(self, claims: OwnershipRules, source: Source) -> None:
        self._claims = claims
        self._source = source
        self._known: dict[tuple[str, str, str], Ownership] = {}

    def __call__(self, row: Row) -> Ownership:
        """Ownership `row` is."""
        return self.of((row.sender, row.receiver, row.receiver_type))

    def of(self, names: tuple[str, str, str]) -> Ownership:
        """Ownership a message is: by its sender, its receiver, and the receiver's type."""
        if self._source.kind == "everything":
            return Ownership.OWN
        found = self._known.get(names)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[names] = self._judged(names)
        return found

    def _judged(self, names: tuple[str, str, str]) -> Ownership:
        claimants = self._claims.claimants(*names)
        if not claimants:
            return Ownership.UNCLAIMED
        if claimants[0] != self._source:
            return Ownership.FOREIGN
        return Ownership.SHARED if len(claimants) > 1 else Ownership.OWN


def pair_of(one: str, other: str) -> Source:
    """The conversation of two, whichever is named first."""
    return Source("pair", tuple(sorted((one, other))))
