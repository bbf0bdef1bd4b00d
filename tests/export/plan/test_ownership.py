"""The rule of ownership, against the table that states it."""

from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from chatrest._core.replies.rows import Row
from chatrest.export.plan import ownership as rules_module
from chatrest.export.plan.ownership import OwnershipRules, Source, pair_of

names = st.sampled_from(["a", "b", "c"])
"""Of users and groups alike: a group may be named as a user is."""
sources = st.one_of(
    st.builds(lambda name: Source("user", (name,)), names),
    st.builds(lambda name: Source("group", (name,)), names),
    st.lists(names, min_size=2, max_size=2, unique=True).map(lambda pair: pair_of(*pair)),
)
plans = st.lists(sources, unique=True, max_size=7) | st.just([Source("everything")])
people = st.sampled_from(["a", "b", "c", "x", ""])
messages = st.builds(
    Row, sender=people, receiver=people, receiver_type=st.sampled_from(["user", "group", "", "bot"])
)


def is_served(source: Source, row: Row) -> bool:
    """The table: whether a source claims a message."""
    match source.kind:
        case "everything":
            return True
        case "group":
            return row.receiver_type == "group" and source.names == (row.receiver,)
        case "pair":
            return row.receiver_type == "user" and sorted((row.sender, row.receiver)) == list(source.names)
        case "user":
            received = row.receiver_type == "user" and source.names == (row.receiver,)
            return source.names == (row.sender,) or received


def ends_of(row: Row) -> tuple[str, str, str]:
    return row.sender, row.receiver, row.receiver_type


@given(plans, messages)
def test_exactly_one_of_the_claimants_writes_a_message(plan: list[Source], row: Row) -> None:
    claims = OwnershipRules(plan)
    served = [source for source in plan if is_served(source, row)]
    writers = [source for source in plan if claims.writes(source, *ends_of(row))]
    if not served:
        assert writers == plan, "whichever comes first"
    else:
        assert writers == [claims.writer(*ends_of(row))]
        assert writers[0] in served


@given(plans, messages)
def test_groups_and_pairs_write_before_users_and_users_in_the_order_of_listing(
    plan: list[Source], row: Row
) -> None:
    order = ["everything", "group", "pair", "user"]
    served = [source for source in plan if is_served(source, row)]
    expected = sorted(served, key=lambda source: (order.index(source.kind), plan.index(source)))
    assert OwnershipRules(plan).claimants(row.sender, row.receiver, row.receiver_type) == expected


@given(plans, st.lists(names, max_size=4), messages)
@example([Source("user", ("a",))], ["b"], Row("", "", "b", "a", "user"))
def test_users_listed_later_own_no_message_of_earlier_users(
    plan: list[Source], later: list[str], row: Row
) -> None:
    claims = OwnershipRules(plan)
    before = claims.claimants(row.sender, row.receiver, row.receiver_type)
    for source in [*(Source("user", (name,)) for name in later), *plan]:
        claims.add(source)
    after = claims.claimants(row.sender, row.receiver, row.receiver_type)
    assert after[: len(before)] == before


@given(plans, st.lists(messages, max_size=12))
def test_rules_of_ownership_with_a_full_cache_give_the_same_writer(
    plan: list[Source], rows: list[Row]
) -> None:
    claims = OwnershipRules(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules_module, "_MAX_CLAIMANTS", 2)
        for source in plan:
            judged = [claims.writes(source, *ends_of(row)) for row in rows]
            assert judged == [OwnershipRules(plan).writes(source, *ends_of(row)) for row in rows]


texts = st.text(st.characters(codec=None, categories=None))


@given(st.sampled_from(["user", "group", "pair", "everything"]), st.lists(texts, max_size=2))
def test_a_key_is_read_back_whatever_the_names_hold(kind: Any, names: list[str]) -> None:
    source = Source(kind, tuple(names))
    assert Source.parse(source.key) == source
    assert source.key.isascii(), "a database keeps no lone surrogate"


@given(st.lists(texts, max_size=2), st.lists(texts, max_size=2))
def test_two_sources_never_share_a_key(names: list[str], other_names: list[str]) -> None:
    assert (Source("pair", tuple(names)).key == Source("pair", tuple(other_names)).key) == (
        names == other_names
    )


def test_a_source_has_a_text_for_people() -> None:
    assert list(map(str, [Source("everything"), Source("group", ("g",)), pair_of("b", "a")])) == [
        "everything", "group g", "pair a b"
    ]  # fmt: skip
