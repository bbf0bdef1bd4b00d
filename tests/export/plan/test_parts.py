"""The rule of ownership. That it keeps each message in one part is proven by nights with kills."""

from chatrest.export.plan.export_plan import Plan
from chatrest.export.plan.ownership import Source
from chatrest.export.plan.parts import PartOwnership, spread


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
    rule.gone = frozenset(["zoe", "bob"])  # whose lists cannot show a message any more
    assert rule.owner("ann", "zoe", "user") == (part_of("zoe"), False)
    assert rule.owner("bob", "other", "group") == (part_of("bob"), False)


def test_the_plan_of_a_part_has_its_sources() -> None:
    plan = Plan(users=[f"u{number}" for number in range(40)], groups=["a", "b"], pairs=[("x", "y")], since=5)
    rule = PartOwnership(plan, 4)
    parts = [rule.plan_of(plan, number) for number in range(4)]
    assert sorted(source for part in parts for source in map(str, part.sources)) == sorted(
        map(str, plan.sources)
    )
    assert {part.since for part in parts} == {5}
