"""`session.groups` and `session.members`."""

import json
from typing import Any

import pytest

from chatrest._core.requests.endpoint import Call
from chatrest._models.groups import MemberScope
from chatrest._parameters.groups import GroupQuery
from chatrest._resources.groups import MEMBERS_CHANGE_SCOPE, Groups, Members
from chatrest.errors import CursorError, ReplyUnreadableError
from tests.session_double import Sender

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


# ── members ──


async def test_a_change_of_scope_that_is_only_acknowledged_gives_the_scope_that_was_asked_for() -> None:
    sender = Sender(b'{"data":{"group":{"guid":"g","name":"G"},"success":{"bob":{"success":true}}}}')
    assert await Members(sender).change_scope("g", "bob", "admin") == MemberScope("g", "bob", "admin")
    assert MEMBERS_CHANGE_SCOPE.reply.record_bytes(b'{"data":{"success":{"bob":{"success":true}}}}') == (
        b'{"success":{"bob":{"success":true}}}'
    )
    refused = Sender(b'{"data":{"group":{"guid":"g"},"success":{"bob":{"success":false}}}}')
    with pytest.raises(ReplyUnreadableError):
        await Members(refused).change_scope("g", "bob", "admin")
