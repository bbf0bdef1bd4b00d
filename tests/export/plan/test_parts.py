"""The rule of ownership: each message is in one part, also as users are added, deleted and leave groups."""

from random import Random

from hypothesis import given, settings
from hypothesis.strategies import integers

from chatrest.export.plan.ownership import Source
from chatrest.export.plan.parts import PartOwner, PartOwnership, spread
from chatrest.export.plan.plan import Plan


class Service:
    """Users are added and deleted, and leave groups; a list shows what its owner may see now."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.users = {f"u{number}": True for number in range(dice.randrange(3, 12))}
        self.groups = {
            f"g{number}": set(dice.sample(sorted(self.users), dice.randrange(1, len(self.users))))
            for number in range(dice.randrange(4))
        }
        self.messages: dict[int, tuple[str, str]] = {}
        self.newest = 0

    def day(self) -> None:
        dice = self.dice
        for _ in range(dice.randrange(60)):
            there = sorted(user for user, is_there in self.users.items() if is_there)
            choice = dice.randrange(30)
            if choice == 0:
                self.users[f"u{len(self.users)}"] = True
                for members in self.groups.values():
                    members |= {user for user in self.users if dice.random() < 0.2}
            elif choice == 1 and len(there) > 2:
                self.users[dice.choice(there)] = False
            elif choice == 2 and self.groups:
                members = self.groups[dice.choice(sorted(self.groups))]
                members -= {dice.choice(sorted(members))} if len(members) > 1 else set()
            elif choice == 3 and self.messages:
                del self.messages[dice.choice(sorted(self.messages))]
            elif choice in (4, 5, 6) and self.groups:
                group = dice.choice(sorted(self.groups))
                if senders := sorted(self.groups[group] & set(there)):
                    self.send(dice.choice(senders), group)
            elif len(there) > 1:
                self.send(*dice.sample(there, 2))

    def send(self, sender: str, receiver: str) -> None:
        self.newest += 1
        self.messages[self.newest] = (sender, receiver)

    def shown(self, source: str) -> dict[int, tuple[str, str]]:
        if source not in self.groups and not self.users.get(source):
            return {}
        return {
            number: (sender, receiver)
            for number, (sender, receiver) in self.messages.items()
            if source in (sender, receiver) or source in self.groups.get(receiver, ())
        }


class Part:
    """The messages of one part after all its runs."""

    def __init__(self) -> None:
        self.written: dict[int, tuple[str, str]] = {}
        self.shown_ids: set[int] = set()
        self.gone: set[int] = set()
        self.left: dict[int, tuple[str, str]] = {}


class Job:
    """An export of parts, whose runs may be killed anywhere."""

    def __init__(self, service: Service, count: int, *, with_groups: bool) -> None:
        self.service, self.count = service, count
        self.groups = sorted(service.groups) if with_groups else []
        self.rule = PartOwnership(Plan(all_users=True, groups=self.groups), count)
        self.parts = [Part() for _ in range(count)]
        self.listed: list[str] = []

    def owner(self, message: tuple[str, str]) -> PartOwner:
        return self.rule.owner(*message, "group" if message[1] in self.service.groups else "user")

    def night(self, dice: Random, *, is_whole: bool) -> None:
        users = self.service.users.items()
        new = [user for user, is_there in users if is_there and user not in self.listed]
        self.rule.add_night(new)
        self.listed += new
        sources = [*self.listed, *self.groups]
        dice.shuffle(sources)
        for source in sources:
            if is_whole or dice.random() > 0.3:
                self._read(source, dice, is_whole=is_whole)
            if dice.random() < 0.3 and not is_whole:
                self.service.day()
        for part in self.parts:
            self._settle(part, dice, is_whole=is_whole)

    def _read(self, source: str, dice: Random, *, is_whole: bool) -> None:
        own = spread(source, self.count)
        for number, message in self.service.shown(source).items():
            if not is_whole and dice.random() < 0.05:
                return  # killed in the middle of it
            owner = self.owner(message)
            if owner.part == own:
                self.parts[own].written.setdefault(number, message)
            else:
                self.parts[owner.part].shown_ids.add(number)
                if not owner.may_show:
                    self.parts[owner.part].left[number] = message

    def _settle(self, part: Part, dice: Random, *, is_whole: bool) -> None:
        part.written = part.left | part.written
        for number in part.shown_ids - part.written.keys() - part.gone:
            if is_whole or dice.random() < 0.5:
                if (message := self.service.messages.get(number)) is None:
                    part.gone.add(number)
                else:
                    part.written[number] = message


@given(integers(0, 10**9))
@settings(max_examples=12)
def test_each_message_is_in_one_part(seed: int) -> None:
    dice = Random(seed)
    service = Service(dice)
    jobs = [Job(service, count, with_groups=bool(seed % 2)) for count in (1, 3, 16)]
    for _ in range(dice.randrange(1, 6)):
        service.day()
        for job in jobs:
            job.night(dice, is_whole=dice.random() < 0.5)
    for job in jobs:
        job.night(dice, is_whole=True)
        stored = [number for part in job.parts for number in part.written]
        assert len(stored) == len(set(stored))
        visible = set().union(*(service.shown(source) for source in [*job.listed, *job.groups]))
        assert visible <= set(stored)
        assert not any(part.shown_ids - part.written.keys() - part.gone for part in job.parts)


def test_names_are_spread_as_on_every_machine() -> None:
    assert [spread(name, 64) for name in ("alice", "bob", "größe", "\ud83d")] == [9, 18, 41, 58]


def test_the_party_that_was_listed_first_owns_a_message() -> None:
    rule = PartOwnership(Plan(all_users=True, groups=["team"], pairs=[("ann", "bob")]), 64)
    rule.add_night(["zoe", "bob"])
    rule.add_night(["ann"])
    part_of = lambda name: spread(name, 64)  # noqa: E731
    assert rule.owner("ann", "zoe", "user") == (part_of("zoe"), True)
    assert rule.owner("zoe", "bob", "user") == (part_of("bob"), True)
    assert rule.owner("zoe", "nobody", "user") == (part_of("zoe"), True)
    assert rule.owner("bob", "ann", "user") == (rule.part_of(Source("pair", ("ann", "bob"))), True)
    assert rule.owner("nobody", "team", "group") == (part_of("team"), True)
    assert rule.owner("bob", "other", "group") == (part_of("bob"), True)
    assert rule.owner("nobody", "other", "group") == (part_of("nobody"), False)


def test_the_plan_of_a_part_has_its_sources() -> None:
    plan = Plan(users=[f"u{number}" for number in range(40)], groups=["a", "b"], pairs=[("x", "y")], since=5)
    rule = PartOwnership(plan, 4)
    parts = [rule.plan_of(plan, number) for number in range(4)]
    assert sorted(source for part in parts for source in map(str, part.sources)) == sorted(
        map(str, plan.sources)
    )
    assert {part.since for part in parts} == {5}
