"""The part that writes a message: a rule that needs no talk between parts, and never changes. Pure.

| a message of       | is written by the part of                                                         |
|--------------------|-----------------------------------------------------------------------------------|
| a group, exported  | the group                                                                         |
| a pair, exported   | the pair                                                                          |
| two users          | the party that was listed first; of two in one night the smaller uid              |
| a group that is    | the sender, listed or not; where no list of that part can show it, whoever sees   |
| not exported       | it leaves the message itself there                                                |

"Listed first" is the number of a night, which is kept with the list of users: a later user owns
nothing of one who was there before. A rule without it, or one by which an unlisted sender's messages are the
group's, stores messages twice as soon as a user is listed.

Of each night a set of 32-bit hashes is in memory: some two bytes a user, 100 MB for 50 million. Where two
uids have one hash, one of them may count as listed that is not: for all parts alike, so the rule stays one.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple, final

from msgspec import structs

from .id_set import IdSet
from .ownership import Source, pair_of
from .parts import spread
from .plan import Plan

_NEVER: Final = 1 << 30
"""The night of a user who was never listed."""


class PartOwner(NamedTuple):
    """The part that writes a message."""

    part: int
    may_show: bool
    """False if no list of that part can show it: the message itself is left there, and not its id alone."""


@final
class PartOwnership:
    """The rule for the parts of a plan."""

    def __init__(self, plan: Plan, parts: int) -> None:
        self._parts = parts
        self._named = frozenset(each for each in plan.sources if each.kind != "user")
        self._nights: list[IdSet] = []

    def add_night(self, uids: Iterable[str]) -> None:
        """Add the users that a night has listed first; nights are added in their order."""
        self._nights.append(IdSet(map(_hash, uids)))

    def owner(self, sender: str, receiver: str, receiver_type: str) -> PartOwner:
        """Return the part that writes a message that some list of the plan has shown."""
        if receiver_type == "group" and Source("group", (receiver,)) in self._named:
            return PartOwner(spread(receiver, self._parts), may_show=True)
        if receiver_type == "user":
            if (pair := pair_of(sender, receiver)) in self._named:
                return PartOwner(self.part_of(pair), may_show=True)
            night, first = min((self._night(uid), uid) for uid in (sender, receiver))
            if night < _NEVER:
                return PartOwner(spread(first, self._parts), may_show=True)
        return PartOwner(spread(sender, self._parts), may_show=self._night(sender) < _NEVER)

    def claimants(self, sender: str, receiver: str, receiver_type: str) -> list[Source]:
        """Return the sources of the plan that claim a message, in no order."""
        users = dict.fromkeys([sender, receiver] if receiver_type == "user" else [sender])
        claimants = [Source("user", (uid,)) for uid in users if self._night(uid) < _NEVER]
        conversation = Source("group", (receiver,)) if receiver_type == "group" else pair_of(sender, receiver)
        return claimants + [conversation] * (conversation in self._named)

    def part_of(self, source: Source) -> int:
        """Return the part that reads a source."""
        return spread(source.key if source.kind == "pair" else source.names[0], self._parts)

    def plan_of(self, plan: Plan, part: int) -> Plan:
        """Return the plan of a part: the sources of the whole plan that it reads."""
        return structs.replace(
            plan,
            groups=[guid for guid in plan.groups if spread(guid, self._parts) == part],
            pairs=[pair for pair in plan.pairs if self.part_of(pair_of(*pair)) == part],
            users=[uid for uid in plan.users if spread(uid, self._parts) == part],
        )

    def _night(self, uid: str) -> int:
        key = _hash(uid)
        return next((number for number, listed in enumerate(self._nights) if key in listed), _NEVER)


def _hash(uid: str) -> int:
    digest = blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=4, person=b"listed").digest()
    return int.from_bytes(digest, "big") + 1  # an id begins with 1
