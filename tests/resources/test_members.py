"""`session.members`, through a double of the session: each operation's method, path, query, body and user."""

from typing import Any

import pytest

from chatrest.core.wire import json_body
from chatrest.errors import ReplyUnreadableError, RequestInvalidError
from chatrest.models.groups import MemberScope
from chatrest.models.outcomes import Ack
from chatrest.parameters.groups import MemberQuery, NewMembers
from chatrest.parameters.users import UserQuery
from chatrest.resources.groups import MEMBERS_CHANGE_SCOPE, Members
from tests.cases import loop_over
from tests.sending import Sender

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
