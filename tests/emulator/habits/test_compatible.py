"""The emulator with the habits of a compatible server, line by line of what was seen of one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chatrest import AsyncSession, MessageQuery
from chatrest.emulator import Emulator
from chatrest.emulator.habits import CompatibleService
from chatrest.emulator.service.context import Context, PageFormat
from chatrest.emulator.store import Store
from tests.cases import loop_over
from tests.emulator.conftest import KEYS, NOW, Answer, Asker

APP = {"id": "emulated", "name": "Emulated app"}
KEY = {"apikey": KEYS.full_access}


@pytest.fixture
def store() -> Iterator[Store]:
    """Ann, bob and cat; the den of ann and bob; five messages of ann and bob, two of cat and bob."""
    with Store() as store:
        for uid in ("ann", "bob", "cat"):
            store.add_user(uid, createdAt=5)
        store.add_group("den")
        for uid in ("ann", "bob"):
            store.add_member("den", uid)
        for number, at in enumerate((100, 400, 110, 410, 410), start=1):
            store.add_message("ann", "bob", f"text {number}", sentAt=at)
        store.add_message("cat", "bob", "miau", sentAt=105)
        store.add_message("bob", "cat", "wuff", sentAt=106)
        yield store


@pytest.fixture
def server(store: Store) -> CompatibleService:
    return CompatibleService(Context(store, APP, PageFormat("cursor"), PageFormat("next"), lambda: NOW), KEYS)


@pytest.fixture
def ask(server: CompatibleService, store: Store) -> Asker:
    return Asker(server, store)


@pytest.fixture
def ann(store: Store) -> dict[str, str]:
    """The headers of a request with the app's key and ann's login token."""
    return KEY | {"authtoken": store.auth_tokens.issue("ann", NOW)["authToken"]}


def page(ask: Asker, headers: Any, query: str = "", path: str = "/v3/users/bob/messages") -> Answer:
    return ask(path, query, headers=headers)


def test_message_lists_need_a_login_token(ask: Asker) -> None:
    for path in ("/v3/messages", "/v3/users/bob/messages", "/v3/groups/den/messages", "/v3/conversations"):
        answer = ask(path, acting_user="ann")
        assert (answer.status, answer.code) == (401, "ERR_NO_AUTH")
    wrong = ask("/v3/messages", headers=KEY | {"authtoken": "nobody's"})
    assert (wrong.status, wrong.code) == (401, "AUTH_ERR_AUTH_TOKEN_NOT_FOUND")


def test_a_list_is_that_of_the_tokens_user_whoever_acts(ask: Asker, ann: dict[str, str]) -> None:
    assert page(ask, ann | {"onbehalfof": "cat"}).ids == [1, 3, 2, 4, 5]
    assert page(ask, ann, path="/v3/users/ann/messages").ids == []
    conversations = ask("/v3/conversations", headers=ann | {"onbehalfof": "cat"}).json["data"]
    assert [each["conversationId"] for each in conversations] == ["user_ann_bob"]


@loop_over(
    "query, ids",
    [
        ("limit=2", [4, 5]),
        ("affix=append&limit=2", [1, 3]),
        ("affix=append&id=2", [3, 4, 5]),
        ("affix=prepend&id=4", [1, 3, 2]),
        ("affix=append&id=2&sentAt=400", [4, 5]),
        ("affix=append&id=4&sentAt=410", [5]),
        ("affix=prepend&id=4&sentAt=410", [1, 3, 2]),
        ("sentAt=110", [2, 4, 5]),
        ("affix=append&fromTimestamp=110", [2, 4, 5]),
        ("affix=prepend&fromTimestamp=400", [1, 3]),
        ("toTimestamp=100&types=image&hideReplies=true&searchKey=none", [1, 3, 2, 4, 5]),
    ],
)
def test_times_and_ids_are_places(query: str, ids: list[int], ask: Asker, ann: dict[str, str]) -> None:
    assert page(ask, ann, query).ids == ids


def test_pages_are_capped_and_repeat_what_was_asked(store: Store, ask: Asker, ann: dict[str, str]) -> None:
    for _ in range(120):
        store.add_message("ann", "bob", "more", sentAt=500)
    first = page(ask, ann, "limit=1000&perPage=3").json
    assert len(first["data"]) == 100
    numbers = {"total": 1001, "count": 100, "per_page": 1000, "current_page": 1, "total_pages": 1}
    assert first["meta"] == {"pagination": numbers, "cursor": {"id": 28, "sentAt": 500, "affix": "prepend"}}
    assert len(page(ask, ann, "perPage=3&count=true").ids) == 30
    assert len(page(ask, ann, "per_page=3").ids) == 3
    second = page(ask, ann, "limit=50&page=2").json["meta"]["pagination"]
    assert (second["total"], second["current_page"]) == (101, 1)
    assert page(ask, ann, "page=x").json["meta"]["pagination"]["total"] == 31
    assert page(ask, ann, "limit=x").status == 400
    last = page(ask, ann, "limit=100&affix=prepend&id=28&sentAt=500").json
    assert (len(last["data"]), last["meta"]["pagination"]["total"]) == (25, 25)


def test_reactions_are_capped_at_twenty_and_go_on_by_previous(
    store: Store, ask: Asker, ann: dict[str, str]
) -> None:
    for number in range(25):
        store.marks.add("reaction", 1, "ann", 7, f"r{number}")
    first = page(ask, ann, "limit=100", "/v3/messages/1/reactions").json
    assert [each["id"] for each in first["data"]] == list(range(1, 21))
    position = first["meta"]["previous"]
    assert position == {
        "cursorField": "id", "cursorValue": 20, "cursorId": 20, "cursorAffix": "append", "affix": "append",
    }  # fmt: skip
    rest = "&".join(f"{name}={position[name]}" for name in ("cursorField", "cursorValue", "cursorAffix"))
    assert page(ask, ann, rest, "/v3/messages/1/reactions").ids == list(range(21, 26))


def test_lists_of_people_have_no_meta(store: Store, ask: Asker) -> None:
    for number in range(40):
        store.add_user(f"u{number:02}")
    store.members.ban("den", "cat")
    first, second = ask("/v3/users", "perPage=5").json, ask("/v3/users", "page=2").json
    assert (len(first["data"]), len(second["data"])) == (30, 13)
    for path in ("/v3/users", "/v3/groups", "/v3/groups/den/members", "/v3/groups/den/bannedusers"):
        assert set(ask(path).json) == {"data"}


def test_the_apps_list_is_empty_but_for_one_receiver_without_the_newest(
    ask: Asker, ann: dict[str, str]
) -> None:
    assert page(ask, ann, path="/v3/messages").ids == []
    assert page(ask, ann, "receiver=bob", "/v3/messages").ids == [1, 3, 2, 4]
    bob = KEY | {"authtoken": _token(ask, "bob")}
    unread = page(ask, bob, "unread=1&count=1", "/v3/messages").json["data"]
    assert [(each["entityId"], each["count"]) for each in unread] == [("ann", 5), ("cat", 1)]


def test_the_acting_user_of_the_header_is_ignored(ask: Asker, ann: dict[str, str]) -> None:
    body = {"receiver": "bob", "type": "text", "data": {"text": "hi"}}
    for headers in (KEY, ann):
        sent = ask("/v3/messages", method="POST", headers=headers, acting_user="cat", body=body)
        assert (sent.status, sent.json["data"]["sender"]) == (201, "system")
        assert sent.json["data"]["conversationId"] == "user_bob_system"
    edit = ask(
        "/v3/messages/1", method="PUT", headers=ann, acting_user="cat", body={"data": {"text": "changed"}}
    )
    assert edit.json["data"]["data"]["entities"]["by"]["entity"]["uid"] == "system"
    assert ask("/v3/messages/1/reactions/x", method="POST", acting_user="ann").code == "ERR_NO_AUTH"
    ask("/v3/messages/1/reactions/x", method="POST", headers=ann, acting_user="cat")
    [reaction] = ask("/v3/messages/1/reactions").json["data"]
    assert reaction["uid"] == "ann"


def test_a_token_in_the_place_of_the_key_acts_as_its_user(ask: Asker, ann: dict[str, str]) -> None:
    body = {"receiver": "bob", "type": "text", "data": {"text": "hi"}}
    sent = ask("/v3/messages", method="POST", headers={"authtoken": ann["authtoken"]}, body=body)
    assert sent.json["data"]["sender"] == "ann"
    assert ask("/v3/messages", method="POST", headers={}, body=body).code == "AUTH_ERR_EMPTY_APIKEY"


def test_deleted_messages_leave_the_lists_and_stay_readable(ask: Asker, ann: dict[str, str]) -> None:
    answer = ask("/v3/messages/2", method="DELETE", headers=ann)
    assert answer.json["data"]["data"]["action"] == "deleted"
    assert 2 not in page(ask, ann).ids
    assert ask("/v3/messages/2").json["data"]["id"] == 2


def test_a_message_has_members_that_no_document_names(store: Store, ask: Asker) -> None:
    file = {"url": "https://x.example/a.png", "size": 5, "mimeType": "image/png"}
    store.add_message("ann", "bob", type="image", data={"attachments": [file]}, parentId="1")
    record = ask("/v3/messages/8").json["data"]
    assert (record["id"], record["parentId"], record["metadata"]) == (8, "1", {})
    assert set(record["data"]["metadata"]) == {"@injected", "chatMessage"}
    assert (record["data"]["reactions"], record["data"]["caption"]) == ([], "")
    assert record["data"]["attachments"][0]["size"] == "5"


def test_records_of_people_have_other_members(store: Store, ask: Asker, ann: dict[str, str]) -> None:
    user = ask("/v3/users/ann").json["data"]
    assert "createdAt" not in user
    assert user["statusMessage"] == ""
    group = ask("/v3/groups/den").json["data"]
    assert group["hasJoined"] is False
    assert "conversationId" not in group
    [member, _] = ask("/v3/groups/den/members").json["data"]
    assert (member["role"], member["guid"]) == ("participant", "den")
    token = ask("/v3/users/ann/auth_tokens", method="POST", body={})
    assert token.status == 201
    assert {"jwt", "fat", "settings", "wsChannel", "name"} <= set(token.json["data"])
    conversation = ask("/v3/conversations/user_ann_bob", headers=ann).json["data"]
    assert conversation["unreadMessageCount"] == 0
    assert conversation["latestMessageId"] == 5
    assert ask("/v3/users/cat/conversation", headers=ann).json == {"data": {}}
    assert ask("/v3/conversations/user_ann_nobody", headers=ann).json == {"data": {}}


def test_acknowledgements_have_other_shapes(store: Store, ask: Asker, ann: dict[str, str]) -> None:
    added = ask.post("/v3/groups/den/members", {"admins": ["cat", "nobody"]}).json["data"]
    assert (set(added["success"]), set(added["failed"]), added["guid"]) == ({"cat"}, {"nobody"}, "den")
    assert [(each["uid"], each["role"]) for each in added["members"]] == [("cat", "admin")]
    scope = ask("/v3/groups/den/members/cat", method="PUT", body={"scope": "moderator"}).json["data"]
    assert (scope["group"]["guid"], scope["success"]) == ("den", {"cat": {"success": True}})
    ban = ask.post("/v3/groups/den/bannedusers/cat", {}).json["data"]
    assert (ban["guid"], ban["uid"]) == ("den", "cat")
    again = ask("/v3/users", method="PUT", body={"uidsToActivate": ["cat"]}).json["data"]
    assert again == {"success": {"cat": {"success": True}}}
    read = ask("/v3/users/bob/conversation/read", method="POST", headers=ann, body={}).json["data"]
    assert read == {"conversationId": "user_ann_bob", "messageId": 5, "readAt": NOW, "success": True}


def test_errors_have_other_codes_and_another_shape(ask: Asker, ann: dict[str, str]) -> None:
    unknown = ask("/v3/messages/99")
    assert (unknown.status, unknown.code) == (400, "ERR_MESSAGE_NOT_FOUND")
    assert set(unknown.json["error"]) == {"code", "name", "message", "details"}
    for guid in ("none", "den"):
        answer = page(ask, KEY | {"authtoken": _token(ask, "cat")}, path=f"/v3/groups/{guid}/messages")
        assert (answer.status, answer.code) == (400, "ERR_NOT_A_MEMBER")
    for path in ("/v3/roles", "/v3/users/ann/friends", "/v3/calls", "/v3/none", "/management/apps"):
        answer = ask(path)
        assert (answer.status, answer.code) == (404, "ERR_ROUTE_NOT_FOUND")


def _token(ask: Asker, uid: str) -> str:
    return str(ask(f"/v3/users/{uid}/auth_tokens", method="POST", body={}).json["data"]["authToken"])


async def test_a_session_reads_every_message_over_a_socket() -> None:
    async with Emulator(users=4, messages=900, groups=1, habits="compatible") as emulator:
        uid, other = emulator.store.people.uids()[:2]
        async with AsyncSession(emulator.app, headers=emulator.login(uid)) as session:
            assert len(await session.users.list().collect()) == 4
            walk = session.messages.list_user(other, on_behalf_of=uid, query=MessageQuery(affix="append"))
            seen = [int(message.id) for message in await walk.collect()]
        records = [json.loads(emulator.store.message(number) or b"{}") for number in _pair(emulator)]
        assert seen == [int(record["id"]) for record in records if "deletedAt" not in record]


def _pair(emulator: Emulator) -> list[int]:
    """The messages of the two busiest users."""
    return emulator.store.ids(conversation="user-01_user_user-02")
