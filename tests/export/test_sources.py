"""The rule of ownership, against the table that states it; and walks that begin where a hole does."""

import json
from typing import Any

import pytest
from aioresponses import aioresponses
from hypothesis import example, given, settings, strategies as st

from chatrest import App, AsyncSession, MessageQuery
from chatrest.core.encode import query_pairs
from chatrest.core.endpoint import Call
from chatrest.core.paging import PageSizes
from chatrest.core.rows import Row
from chatrest.export import sources as ownership
from chatrest.export.ownership import Ownership, OwnershipRules, Source, pair_of
from chatrest.core.intervals import Gap
from chatrest.resources.messages import Messages

some = settings(max_examples=250, deadline=None, database=None)
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


# ── ownership ──


@some
@given(plans, messages)
def test_of_those_that_claim_a_message_exactly_one_writes_it(plan: list[Source], row: Row) -> None:
    claims = OwnershipRules(plan)
    found = {source: claims.of(source)(row) for source in plan}
    served = [source for source in plan if is_served(source, row)]
    writers = [source for source in plan if found[source] in (Ownership.OWN, Ownership.SHARED)]
    if not served:
        assert set(found.values()) <= {Ownership.UNCLAIMED}
        return
    assert len(writers) == 1
    assert writers[0] in served
    assert found[writers[0]] is (Ownership.SHARED if len(served) > 1 else Ownership.OWN)
    assert all(found[source] is Ownership.FOREIGN for source in plan if source not in writers)


@some
@given(plans, messages)
def test_the_surer_one_goes_first_and_among_users_the_one_known_longer(plan: list[Source], row: Row) -> None:
    order = ["everything", "group", "pair", "user"]
    served = [source for source in plan if is_served(source, row)]
    expected = sorted(served, key=lambda source: (order.index(source.kind), plan.index(source)))
    assert OwnershipRules(plan).claimants(row.sender, row.receiver, row.receiver_type) == expected


@some
@given(plans, st.lists(names, max_size=4), messages)
@example([Source("user", ("a",))], ["b"], Row("", "", "b", "a", "user"))
def test_users_who_come_later_take_nothing_from_those_who_were_there(
    plan: list[Source], later: list[str], row: Row
) -> None:
    claims = OwnershipRules(plan)
    before = claims.claimants(row.sender, row.receiver, row.receiver_type)
    for source in [*(Source("user", (name,)) for name in later), *plan]:
        claims.add(source)
    after = claims.claimants(row.sender, row.receiver, row.receiver_type)
    assert after[: len(before)] == before


@some
@given(plans, st.lists(messages, max_size=12))
def test_a_judge_that_forgets_judges_as_before(plan: list[Source], rows: list[Row]) -> None:
    claims = OwnershipRules(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ownership, "_KEPT", 2)
        for source in plan:
            judge = claims.of(source)
            assert [judge(row) for row in rows] == [claims.of(source)(row) for row in rows]


def test_what_somebody_writes_to_themselves_is_theirs_alone() -> None:
    row = Row(sender="a", receiver="a", receiver_type="user")
    claims = OwnershipRules([Source("user", ("a",)), Source("user", ("b",)), pair_of("a", "b")])
    assert claims.of(Source("user", ("a",)))(row) is Ownership.OWN
    assert claims.of(Source("user", ("b",)))(row) is Ownership.FOREIGN


def test_a_conversation_is_one_source_whoever_is_named_first() -> None:
    assert pair_of("b", "a") == pair_of("a", "b") == Source("pair", ("a", "b"))
    claims = OwnershipRules([pair_of("b", "a")])
    for sender, receiver in (("a", "b"), ("b", "a")):
        assert claims.of(pair_of("a", "b"))(Row("", "", sender, receiver, "user")) is Ownership.OWN
        assert claims.of(pair_of("a", "b"))(Row("", "", sender, receiver, "group")) is Ownership.UNCLAIMED


# ── keys ──

texts = st.text(st.characters(codec=None, categories=None))


@some
@given(st.sampled_from(["user", "group", "pair", "everything"]), st.lists(texts, max_size=2))
def test_a_key_is_read_back_whatever_the_names_hold(kind: Any, its: list[str]) -> None:
    source = Source(kind, tuple(its))
    assert Source.parse(source.key) == source
    assert source.key.isascii(), "a database keeps no lone surrogate"


@some
@given(st.lists(texts, max_size=2), st.lists(texts, max_size=2))
def test_two_sources_never_share_a_key(one: list[str], other: list[str]) -> None:
    assert (Source("pair", tuple(one)).key == Source("pair", tuple(other)).key) == (one == other)


def test_a_source_is_told_in_words() -> None:
    assert list(map(str, [Source("everything"), Source("group", ("g",)), pair_of("b", "a")])) == [
        "everything", "group g", "pair a b"
    ]  # fmt: skip


# ── walks ──


class Listed:
    """A service with the messages 1 to 30, ten to a page, that calls every page its last."""

    app_id, acting_user = "app-1", None

    cursor_key = None

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []
        self.page_sizes = PageSizes()

    async def sleep(self, seconds: float, /) -> None:
        raise AssertionError(f"asked to sleep {seconds} s")

    def dice(self) -> float:
        return 0.5

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        after = int(dict(call.position).get("id", "0"))
        found = [{"id": str(i), "category": "message", "type": "x"} for i in range(after + 1, 31)][:10]
        end = int(found[-1]["id"]) if found else after
        numbers = {"count": len(found), "per_page": 1000, "current_page": 1, "total_pages": 1}
        body = {"data": found, "meta": {"cursor": {"id": end, "affix": "append"}, "pagination": numbers}}
        return call.endpoint.reply(json.dumps(body).encode())


FILTER = MessageQuery(types=["x"], from_timestamp=5, to_timestamp=9)
FILTERED = {"types": "x", "fromTimestamp": "5", "toTimestamp": "9"}.items()


@pytest.mark.parametrize(
    ("source", "path", "acting"),
    [(Source("everything"), "/messages", None), (Source("group", ("g/",)), "/groups/g%2F/messages", None),
     (pair_of("b", "a"), "/users/a/messages", "b"), (Source("user", ("a",)), "/users/a/messages", None)],
)  # fmt: skip
@pytest.mark.parametrize("hole", [Hole(0, 30), Hole(7, 30), Hole(7, 30, (("affix", "append"), ("id", "7")))])
async def test_a_walk_goes_from_the_beginning_of_its_hole_with_the_filter_of_the_plan(
    source: Source, path: str, acting: str | None, hole: Hole
) -> None:
    service = Listed()
    walk = source.walk(Messages(service), FILTER, hole)
    assert [item.id for item in await walk.collect()] == [str(i) for i in range(hole.after + 1, 31)]
    for call in service.calls:
        assert (call.path, call.acting_user) == (path, acting)
        assert dict(query_pairs(call.query, "repeat")).items() >= FILTERED
        assert dict(call.position)["affix"] == "append"
    assert dict(service.calls[-1].position)["id"] == "30", "a short page is not taken for the end"


@pytest.mark.parametrize("position", ["4", "6", "7"])
async def test_what_the_service_repeats_at_a_holes_border_is_left_out(position: str) -> None:
    hole = Hole(7, 30, (("affix", "append"), ("id", position)))
    items = await Source("everything").walk(Messages(Listed()), FILTER, hole).collect()
    assert [item.id for item in items] == [str(i) for i in range(8, 31)]


async def test_a_hole_is_asked_for_to_the_letter(http: aioresponses) -> None:
    app = App("app-1", "k" * 20, "eu", service_domain="chat.example.com")
    at = (("affix", "append"), ("id", "57"), ("sentAt", "99"))
    base = "https://app-1.api-eu.chat.example.com/v3/users/a/messages"
    http.get(f"{base}?affix=append&id=57&sentAt=99&perPage=1000&types=x", payload={"data": []}, repeat=True)
    async with AsyncSession(app) as session:
        walk = Source("user", ("a",)).walk(session.messages, MessageQuery(types=["x"]), Hole(57, 90, at))
        assert await walk.collect() == []
    [(_, url)] = http.requests
    assert dict(url.query) == {"affix": "append", "id": "57", "sentAt": "99", "perPage": "1000", "types": "x"}
