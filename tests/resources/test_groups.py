"""`session.groups` and `session.members`: what lists send, and groups on the emulator."""

import json
from typing import Any

import pytest

from chatrest import (
    AsyncSession,
    BadRequestError,
    ConflictError,
    GroupChanges,
    GroupQuery,
    NewGroup,
    NotFoundError,
)
from chatrest._core.requests.endpoint import Call
from chatrest._models.users import Group, MemberScope
from chatrest._parameters.users import NewMembers
from chatrest._resources.groups import MEMBERS_CHANGE_SCOPE, Groups, Members
from chatrest.emulator import Emulator
from chatrest.errors import CursorError, ReplyUnreadableError
from tests.resources.conftest import NOW
from tests.support.session_double import Sender

CURSOR = {"updatedAt": 5, "affix": "append"}


def pages(*guids: str, **members: Any) -> list[bytes]:
    """A page of each of the texts, whose letters are guids; groups that changed at 5."""
    return [
        json.dumps({"data": [{"guid": guid, "updatedAt": 5} for guid in page], **members}).encode()
        for page in guids
    ]


def queries_of(calls: list[Call[Any]]) -> list[dict[str, Any]]:
    return [{**(call.query or {}), **dict(call.position)} for call in calls]


@pytest.mark.parametrize("members", [{"cursor": CURSOR}, {"meta": {"cursor": CURSOR}}, {}])
async def test_a_list_from_a_time_on_goes_by_page_numbers(members: dict[str, Any]) -> None:
    """Three groups changed in the second at the border; a walk by that time would lose one of them."""
    sender = Sender(*pages("ab", "c", "", **members))
    query = GroupQuery(updated_at=4, affix="append", per_page=2)
    assert [group.guid async for group in Groups(sender).list(query)] == ["a", "b", "c"]
    asked = queries_of(sender.calls)
    assert [call.get("page") for call in asked] == [None, "2", "3"]
    assert {(call["updatedAt"], call["affix"], str(call["perPage"])) for call in asked} == {
        (4, "append", "2")
    }


async def test_a_service_that_ignores_page_numbers_and_positions_there_is_an_error() -> None:
    sender = Sender(*pages("ab", cursor=CURSOR))
    walk = Groups(sender).list(GroupQuery(updated_at=4, affix="append", per_page=2))
    with pytest.raises(CursorError, match="the cursor does not move"):
        await walk.collect()


async def test_a_list_continues_by_positions_if_page_numbers_are_ignored() -> None:
    later = {"updatedAt": 6, "affix": "append"}
    sender = Sender(*pages("ab", "ab", cursor=CURSOR), *pages("bc", "", cursor=later))
    assert [group.guid async for group in Groups(sender).list(GroupQuery(per_page=2))] == ["a", "b", "c"]
    assert queries_of(sender.calls)[2]["updatedAt"] == "5"


async def test_a_token_cannot_move_a_filter() -> None:
    query = GroupQuery(updated_at=4, affix="append")
    walk = Groups(Sender(*pages("ab"))).list(query)
    cursor = walk.cursor
    forged = type(cursor)(cursor.query, (("updatedAt", "0"),), "append", by_id=False)
    with pytest.raises(CursorError, match="leads out of its list"):
        Groups(Sender()).list(query, cursor=str(forged))


async def test_an_acknowledged_change_of_scope_returns_the_requested_scope() -> None:
    sender = Sender(b'{"data":{"group":{"guid":"g","name":"G"},"success":{"bob":{"success":true}}}}')
    assert await Members(sender).change_scope("g", "bob", "admin") == MemberScope("g", "bob", "admin")
    assert MEMBERS_CHANGE_SCOPE.reply.record_bytes(b'{"data":{"success":{"bob":{"success":true}}}}') == (
        b'{"success":{"bob":{"success":true}}}'
    )
    refused = Sender(b'{"data":{"group":{"guid":"g"},"success":{"bob":{"success":false}}}}')
    with pytest.raises(ReplyUnreadableError):
        await Members(refused).change_scope("g", "bob", "admin")


async def make(session: AsyncSession, guid: str, **fields: object) -> Group:
    return await session.groups.create(
        NewGroup(guid=guid, name=guid.title(), type="public", **fields)  # type: ignore[arg-type]
    )


async def guids(session: AsyncSession, on_behalf_of: str | None = None, **filters: object) -> list[str]:
    query = GroupQuery(**filters)  # type: ignore[arg-type]
    return [group.guid async for group in session.groups.list(query, on_behalf_of=on_behalf_of)]


async def test_a_group_is_seen_by_the_acting_user(session: AsyncSession) -> None:
    await make(session, "den", owner="user-001")
    group = await session.groups.get("den", on_behalf_of="user-001")
    assert (group.has_joined, group.scope, group.joined_at) == (True, "admin", NOW)
    assert (await session.groups.get("den", on_behalf_of="user-002")).has_joined is False
    made = await session.groups.create(
        NewGroup(guid="hall", name="Hall", type="private"), on_behalf_of="user-002"
    )
    assert (made.owner, made.has_joined) == ("user-002", True)
    assert await guids(session, "user-002", has_joined=True) == ["hall"]
    changes = GroupChanges(owner="user-003", name="Ours")
    assert (await session.groups.update("hall", changes, on_behalf_of="user-002")).owner == "user-002"
    assert (await session.groups.update("hall", changes)).owner == "user-003"
    assert (await session.groups.get("hall", on_behalf_of="user-003")).scope == "admin"
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await make(session, "attic", members={"admins": ["nobody"]})
    assert await guids(session) == ["den", "hall"]


async def test_a_password_is_needed_and_never_shown(session: AsyncSession) -> None:
    with pytest.raises(BadRequestError, match="ERR_EMPTY_GROUP_PASS"):
        await session.groups.create(NewGroup(guid="den", name="Den", type="password"))
    await session.groups.create(NewGroup(guid="den", name="Den", type="password", password="s3cret"))
    await session.groups.update("den", GroupChanges(name="Hall"))
    served = await session.request("GET", "/groups/den")
    assert "s3cret" not in str(served)
    await session.groups.update("den", GroupChanges(type="public"))
    with pytest.raises(BadRequestError, match="ERR_EMPTY_GROUP_PASS"):
        await session.groups.update("den", GroupChanges(type="password"))
    assert (await session.groups.get("den")).type == "public"


@pytest.fixture
async def several(people: Emulator) -> None:
    """Seven groups that differ in all that can be filtered for; three of them changed in one second."""
    for number, (guid, kind) in enumerate(
        zip("gfedcba", ("public", "private", "password") * 3, strict=False), start=1
    ):
        changed = {"updatedAt": (20, 30, 30, 30, 40, 50)[number - 2]} if number > 1 else {}
        fields = {"type": kind, "createdAt": number, "tags": ["odd"] if number % 2 else [], **changed}
        people.store.add_group(guid, f"Name {number}", **fields)
    people.store.members.add("c", "user-001")
    people.store.members.add("c", "user-002")
    people.store.members.add("b", "user-001")


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "g f e d c b a"),
        ({"search_key": "AME 3"}, "e"),
        ({"search_key": "b", "search_in": ["guid"]}, "b"),
        ({"search_key": "b", "search_in": ["name"]}, ""),
        ({"sort_by": "guid"}, "a b c d e f g"),
        ({"sort_by": "createdAt", "sort_order": "desc"}, "a b c d e f g"),
        ({"sort_by": "name", "sort_order": "asc"}, "g f e d c b a"),
        ({"type": "password"}, "e b"),
        ({"types": ["public", "private"]}, "g f d c a"),
        ({"guid": "d"}, "d"),
        ({"guids": ["a", "g", "none"]}, "g a"),
        ({"tags": ["odd", "none"]}, "g e c a"),
        ({"created_at_from": 2, "created_at_to": 3}, "f e"),
        ({"updated_at_from": 40}, "b a"),
        ({"updated_at_to": 30}, "f e d c"),
        ({"members_count_gt": 1}, "c"),
        ({"members_count_gte": 1, "members_count_lt": 2}, "b"),
        ({"members_count_eq": 0, "type": "public"}, "g d a"),
        ({"members_count_lte": 1, "types": ["password"]}, "e b"),
        ({"affix": "prepend"}, "a b c d e f g"),
    ],
)
async def test_filters(session: AsyncSession, filters: dict[str, object], expected: str) -> None:
    assert await guids(session, **filters) == expected.split()


async def test_additions_scopes_and_kicks_leave_their_state(people: Emulator, session: AsyncSession) -> None:
    people.store.add_group("den")
    for number in range(1, 4):
        scope = "admin" if number == 1 else "participant"
        people.store.members.add("den", f"user-00{number}", scope, joined_at=number)
    members = NewMembers(moderators=["user-004", "nobody", "user-002"], users_to_ban=["user-005"])
    outcomes = await session.members.add("den", members, on_behalf_of="user-001")
    assert set(outcomes.succeeded) == {"user-004", "user-005"}
    assert {uid: outcome.error["code"] for uid, outcome in outcomes.failed.items()} == {
        "nobody": "ERR_UID_NOT_FOUND", "user-002": "ERR_ALREADY_JOINED"
    }  # fmt: skip
    changed = await session.members.change_scope("den", "user-002", "admin")
    with pytest.raises(ConflictError, match="ERR_SAME_SCOPE"):
        await session.members.change_scope("den", "user-002", "admin")
    assert (changed.uid, changed.scope, changed.joined_at) == ("user-002", "admin", 2)
    assert (await session.members.kick("den", "user-003")).success
    scopes = {member.uid: member.scope async for member in session.members.list("den")}
    assert scopes == {"user-001": "admin", "user-002": "admin", "user-004": "moderator"}
