"""`session.groups` and `session.members`."""

import json
from typing import Any

import pytest

from chatrest.core.requests.endpoint import Call
from chatrest.core.requests.wire import json_body
from chatrest.errors import CursorError, ReplyUnreadableError, RequestInvalidError
from chatrest.models.groups import MemberScope
from chatrest.models.outcomes import Ack
from chatrest.parameters.groups import GroupQuery, MemberQuery, NewMembers
from chatrest.parameters.users import UserQuery
from chatrest.resources.groups import MEMBERS_CHANGE_SCOPE, Groups, Members
from tests.cases import loop_over
from tests.sending import Sender

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


async def test_a_list_without_a_time_goes_on_by_positions_where_page_numbers_are_ignored() -> None:
    later = {"updatedAt": 6, "affix": "append"}
    sender = Sender(*pages("ab", "ab", cursor=CURSOR), *pages("bc", cursor=later), *pages(""))
    assert [group.guid async for group in Groups(sender).list(GroupQuery(per_page=2))] == ["a", "b", "c"]
    assert queries_of(sender.calls)[2]["updatedAt"] == "5"


async def test_a_token_cannot_move_a_filter() -> None:
    query = GroupQuery(updated_at=4, affix="append")
    walk = Groups(Sender(*pages("ab"))).list(query)
    cursor = walk.cursor
    forged = type(cursor)(cursor.query, (("updatedAt", "0"),), "append", by_id=False)
    with pytest.raises(CursorError, match="leads out of its list"):
        Groups(Sender()).list(query, cursor=str(forged))


# ── members ──

ACK = b'{"data":{"success":true,"message":"gone"}}'
ADDED = (
    b'{"data":{"admins":{},"participants":{"bob":{"success":true},'
    b'"eve":{"success":false,"error":{"code":"ERR_ALREADY_JOINED","message":"in it"}}}}}'
)
SCOPE = b'{"data":{"guid":"g","uid":"bob","scope":"admin","joinedAt":5}}'


def sent(sender: Sender) -> tuple[str, str, str, str]:
    """The method, the path, what the operation says of repeating, and the body, as they go out."""
    call = sender.call
    body = "" if call.body is None else json_body(call.body).decode()
    return call.endpoint.method, call.path, call.endpoint.replay, body


async def test_the_list_goes_by_page_numbers_as_nobody() -> None:
    page = b'{"data":[{"uid":"bob","name":"Bob","scope":"admin","joinedAt":5}],"meta":{}}'
    sender = Sender(page, b'{"data":[]}', acting_user="eve")
    [member] = await Members(sender).list("a/b", MemberQuery(scopes=["admin"], per_page=1)).collect()
    assert (member.uid, member.name, member.scope, member.joined_at) == ("bob", "Bob", "admin", 5)
    assert {call.path for call in sender.calls} == {"/groups/a%2Fb/members"}
    assert sender.asked() == {"scopes": "admin", "perPage": "1", "page": "2"}
    assert {(call.endpoint.method, call.endpoint.acting) for call in sender.calls} == {("GET", "never")}
    assert {call.acting_user for call in sender.calls} == {None}


@pytest.mark.parametrize("user", [None, "eve"])
async def test_additions_give_an_outcome_of_each_uid(user: str | None) -> None:
    sender = Sender(ADDED)
    members = NewMembers(participants=["bob", "eve"])
    outcomes = await Members(sender).add("a/b", members, on_behalf_of=user)
    body = '{"participants":["bob","eve"]}'
    assert sent(sender) == ("POST", "/groups/a%2Fb/members", "never", body)
    assert sender.call.acting_user == user
    assert (list(outcomes.succeeded), list(outcomes.failed)) == (["bob"], ["eve"])


@pytest.mark.parametrize("user", [None, "eve"])
async def test_a_change_of_scope_gives_the_scope_as_it_is_now(user: str | None) -> None:
    sender = Sender(SCOPE)
    scope = await Members(sender).change_scope("g", "b/b", "admin", on_behalf_of=user)
    assert sent(sender) == ("PUT", "/groups/g/members/b%2Fb", "idempotent", '{"scope":"admin"}')
    assert sender.call.acting_user == user
    assert (scope.guid, scope.uid, scope.scope, scope.joined_at) == ("g", "bob", "admin", 5)


async def test_a_change_of_scope_that_is_only_acknowledged_gives_the_scope_that_was_asked_for() -> None:
    sender = Sender(b'{"data":{"group":{"guid":"g","name":"G"},"success":{"bob":{"success":true}}}}')
    assert await Members(sender).change_scope("g", "bob", "admin") == MemberScope("g", "bob", "admin")
    assert MEMBERS_CHANGE_SCOPE.reply.record_bytes(b'{"data":{"success":{"bob":{"success":true}}}}') == (
        b'{"success":{"bob":{"success":true}}}'
    )
    refused = Sender(b'{"data":{"group":{"guid":"g"},"success":{"bob":{"success":false}}}}')
    with pytest.raises(ReplyUnreadableError):
        await Members(refused).change_scope("g", "bob", "admin")


@pytest.mark.parametrize("user", [None, "eve"])
async def test_a_kick_is_acknowledged(user: str | None) -> None:
    sender = Sender(ACK)
    assert await Members(sender).kick("g", "bob", on_behalf_of=user) == Ack(success=True, message="gone")
    assert sent(sender) == ("DELETE", "/groups/g/members/bob", "idempotent", "")
    assert sender.call.acting_user == user


@loop_over(
    "ask",
    [
        lambda members: members.list("..").collect(),
        lambda members: members.list("g", UserQuery()).collect(),
        lambda members: members.add("", NewMembers(admins=["bob"])),
        lambda members: members.add("g", None),
        lambda members: members.add("g", {"admins": ["bob"]}),
        lambda members: members.add("g", NewMembers(admins=["bob"]), on_behalf_of=" eve"),
        lambda members: members.change_scope("g", "bob", "owner"),
        lambda members: members.change_scope("g", "bob", None),
        lambda members: members.change_scope("g", "b\nb", "admin"),
        lambda members: members.change_scope("g", "bob", "admin", on_behalf_of=""),
        lambda members: members.kick("g", "."),
        lambda members: members.kick(None, "bob"),
        lambda members: members.kick("g", "bob", on_behalf_of="e\x00"),
    ],
)
async def test_a_wrong_argument_is_refused_before_anything_is_sent(ask: Any) -> None:
    sender = Sender(ACK)
    with pytest.raises(RequestInvalidError):
        await ask(Members(sender))
    assert sender.calls == []
