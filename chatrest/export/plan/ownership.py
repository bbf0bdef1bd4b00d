"""The lists that an export reads, and which of them writes a message that two of them hold. Pure.

A message is stored once in an export. Of the sources of the plan that claim it, as its members say,
the first one writes it, so that a message is in the same file whatever is read first:

| source     | claims                                     | how sure                                   |
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
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from ..._parameters.messages import MessageQuery
from ..._resources.messages import Messages
from ..._walk.walk import Walk

Kind: TypeAlias = Literal["everything", "group", "pair", "user", "parts"]
"""parts: no list, but what the lists of other parts have shown, and this part of an export writes."""

_ORDER: Final[dict[Kind, int]] = {"everything": 0, "group": 1, "pair": 2, "user": 3, "parts": 4}
_MAX_CLAIMANTS: Final = 10_000
"""Decisions that are remembered: one a conversation."""


class Source(Struct, frozen=True):
    """One list of messages."""

    kind: Kind
    names: tuple[str, ...] = ()
    """The uid, the guid, or the two uids in order."""

    def __str__(self) -> str:
        return " ".join((self.kind, *self.names))

    @property
    def is_of_plans(self) -> bool:
        """False for what is read beside the sources that a plan names, or stands for other parts."""
        return self.kind not in ("everything", "parts")

    @property
    def key(self) -> str:
        """The source as text, the same in every run, whatever its names hold."""
        return json.dumps((self.kind, *self.names))  # the standard library's: a lone surrogate is an escape

    @classmethod
    def parse(cls, key: str) -> "Source":
        kind, *names = json.loads(key)
        return msgspec.convert({"kind": kind, "names": names}, cls)

    def list(self, messages: Messages, query: MessageQuery) -> Walk[Any]:
        match self.kind:
            case "everything":
                return messages.list(query=query)
            case "group":
                return messages.list_group(self.names[0], query=query)
            case "pair":
                return messages.list_user(self.names[0], on_behalf_of=self.names[1], query=query)
            case "user":
                return messages.list_user(self.names[0], query=query)
            case "parts":
                raise NotImplementedError("it is no list: its messages are asked for one by one")


OF_PARTS: Final = Source("parts")
"""What other parts of an export have shown of its messages."""


class OwnershipRules:
    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self._ranks: dict[Source, int] = {}
        self._claimants: dict[tuple[str, str, str], list[Source]] = {}
        self._empty: set[Source] = set()
        for source in sources:
            self.add(source)

    def add(self, source: Source) -> None:
        """Add a source; among users, those that were added before go first."""
        if source not in self._ranks:
            self._ranks[source] = len(self._ranks)
            self._claimants.clear()

    def note_empty(self, source: Source) -> None:
        """Note that a list shows nothing in this run: what the source claims is left to the next claimant.

        Where a service ignores the acting user, the acting user's own list shows none of the messages.
        """
        self._empty.add(source)

    def writer(self, sender: str, receiver: str, receiver_type: str) -> Source | None:
        """Return the source that writes a message; None if no source claims it."""
        claimants = self.claimants(sender, receiver, receiver_type)
        if not claimants or not self._empty:
            return claimants[0] if claimants else None
        return next((source for source in claimants if source not in self._empty), claimants[0])

    def writes(self, source: Source, sender: str, receiver: str, receiver_type: str) -> bool:
        """Return True if a source writes a message: its own, or one that no source claims."""
        return self.writer(sender, receiver, receiver_type) in (None, source)

    def writes_all(self, source: Source) -> bool:
        return source.kind == "everything" or self._ranks.keys() == {source}

    def claimants(self, sender: str, receiver: str, receiver_type: str) -> "list[Source]":
        """Return the sources that claim a message, the one that writes it first; not to be changed."""
        names = (sender, receiver, receiver_type)
        claimants = self._claimants.get(names)
        if claimants is None:
            if len(self._claimants) >= _MAX_CLAIMANTS:
                self._claimants.clear()
            numbers = ((each, self._ranks.get(each)) for each in self._candidates(*names))
            ranked = sorted(
                (_ORDER[each.kind], number, each.names, each)
                for each, number in numbers
                if number is not None
            )
            claimants = self._claimants[names] = [each for *_, each in ranked]
        return claimants

    def _candidates(self, sender: str, receiver: str, receiver_type: str) -> "set[Source]":
        candidates = {Source("everything"), Source("user", (sender,))}
        if receiver_type == "group":
            candidates.add(Source("group", (receiver,)))
        elif receiver_type == "user":
            candidates |= {pair_of(sender, receiver), Source("user", (receiver,))}
        return candidates


def pair_of(uid: str, other: str) -> Source:
    return Source("pair", tuple(sorted((uid, other))))
