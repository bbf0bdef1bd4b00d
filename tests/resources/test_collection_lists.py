"""From a list endpoint to a walk: whose token it takes, and what it asks for."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from chatrest._core.paging.cursor import Cursor
from chatrest._core.replies.decode import Listing, many
from chatrest._core.requests.dialects import BY_ID, BY_PAGE, BY_UPDATED, Paging
from chatrest._core.requests.endpoint import Acting, Call, Endpoint
from chatrest._models.messages import Message
from chatrest._models.meta import Meta, Pagination, Position
from chatrest._models.users import User
from chatrest._parameters.conversations import ConversationQuery
from chatrest._parameters.messages import MessageQuery
from chatrest._resources.collection import _cached_list_plan, walk
from chatrest._resources.conversations import Conversations
from chatrest._resources.messages import Messages
from chatrest._walk.walk import Walk
from chatrest.errors import ChatRestError, CursorError
from tests.support.cases import loop_over
from tests.support.session_double import Sender


def list_endpoint(name: str, paging: Paging | None = BY_ID, acting: Acting = "optional") -> Endpoint[Any]:
    return Endpoint(
        name, "GET", "/users/{uid}/messages", many(Message),
        query=MessageQuery, paging=paging, acting=acting, comparison="user",
    )  # fmt: skip


LIST = list_endpoint("messages.list_user")
EMPTY: Listing[Any] = Listing([], Meta(), b"{}")


def made(send: Sender, call: Call[Any], cursor: Any = None) -> Walk[Any]:
    return walk(send, call, cursor)


BASE: dict[str, Any] = {
    "uid": "bob",
    "query": MessageQuery(tags=("a", "b"), affix="append"),
    "on_behalf_of": "eve",
}
FOREIGN: dict[str, tuple[Sender, Call[Any]]] = {
    "operation": (Sender(), list_endpoint("messages.list_other")(**BASE)),
    "uid": (Sender(), LIST(**{**BASE, "uid": "bob2"})),
    "acting user": (Sender(), LIST(**{**BASE, "on_behalf_of": "mallory"})),
    "no acting user": (Sender(), LIST(**{**BASE, "on_behalf_of": None})),
    "app": (Sender(app_id="other"), LIST(**BASE)),
    "filter": (Sender(), LIST(**{**BASE, "query": MessageQuery(tags=("a",), affix="append")})),
    "direction": (Sender(), LIST(**{**BASE, "query": MessageQuery(tags=("a", "b"), affix="prepend")})),
    "start": (Sender(), LIST(**{**BASE, "query": MessageQuery(tags=("a", "b"), affix="append", id="5")})),
    "no filter": (Sender(), LIST(**{**BASE, "query": None})),
}


@loop_over("difference", FOREIGN)
@loop_over("as_token", [True, False])
def test_a_cursor_of_another_query_is_refused_before_anything_is_sent(
    difference: str, as_token: bool
) -> None:
    cursor = made(Sender(), LIST(**BASE)).cursor
    send, call = FOREIGN[difference]
    with pytest.raises(CursorError, match="of another query"):
        made(send, call, str(cursor) if as_token else cursor)
    assert send.calls == []


@pytest.mark.parametrize(
    "query",
    [
        MessageQuery(tags=("a", "b"), affix="append", limit=7),
        MessageQuery(tags=("a", "b"), affix="append", per_page=9),
        MessageQuery(tags=("a", "b"), affix="append", limit=1, per_page=2),
    ],
)
def test_a_token_goes_with_another_page_size(query: MessageQuery) -> None:
    cursor = made(Sender(), LIST(**BASE)).cursor
    assert made(Sender(), LIST(**{**BASE, "query": query}), str(cursor)).cursor == cursor


def test_the_views_own_user_and_the_calls_are_one() -> None:
    cursor = made(Sender(), LIST(**BASE)).cursor
    assert made(Sender(acting_user="eve"), LIST(**{**BASE, "on_behalf_of": None}), cursor).cursor == cursor
    assert made(Sender(acting_user="mallory"), LIST(**BASE), cursor).cursor == cursor


def test_an_operation_that_never_acts_as_a_user_is_one_list_for_all_views() -> None:
    endpoint = list_endpoint("users.list", acting="never")
    cursor = made(Sender(acting_user="eve"), endpoint(uid="bob")).cursor
    assert made(Sender(), endpoint(uid="bob"), str(cursor)).cursor == cursor


def test_a_token_holds_neither_the_uid_nor_the_acting_user_nor_a_key() -> None:
    call = LIST(uid="bob-the-uid", on_behalf_of="eve-the-user", query=MessageQuery(search_key="secret"))
    cursor = made(Sender(key=b"k3y" * 9), call).cursor
    for text in ("bob", "eve", "secret", "k3y"):
        assert text not in repr(cursor)


def test_a_filter_that_cannot_be_sent_is_our_error() -> None:
    with pytest.raises(ChatRestError):
        made(Sender(), LIST(uid="bob", query=MessageQuery(search_key="\ud800")))
    with pytest.raises(ChatRestError, match="comma"):  # sent as it is, it would be two tags
        made(Sender(), LIST(uid="bob", query=MessageQuery(tags=("a,b",))))


def users(*uids: str, **meta: Any) -> Listing[User]:
    return Listing([User(uid) for uid in uids], Meta(**meta), b"{}")


@pytest.mark.parametrize("paging", [BY_PAGE, BY_UPDATED])
async def test_records_are_identified_by_their_key_field(paging: Paging) -> None:
    endpoint: Endpoint[Any] = Endpoint("users.list", "GET", "/users", many(User), paging=paging)
    cursor = Position("append", updated_at=9)
    send = Sender(users("a", "b", cursor=cursor), users("b", "c", cursor=cursor))
    uids: list[str] = []
    walking = made(send, endpoint())
    async for user in walking:
        uids.append(user.uid)
        if len(uids) == 3:
            break
    assert uids == ["a", "b", "c"]


async def test_a_short_page_is_measured_by_the_pages_that_the_session_was_served() -> None:
    def answer(call: Call[Any]) -> Listing[User]:
        uids = [f"{call.path}-{number}" for number in range(3 if call.path == "/users/large/x" else 2)]
        uids = uids if "page" not in dict(call.position) else []
        return users(*uids, pagination=Pagination(0, len(uids), 1000, 1, 1))

    endpoint: Endpoint[Any] = Endpoint("x.list", "GET", "/users/{uid}/x", many(User), paging=BY_PAGE)
    other: Endpoint[Any] = Endpoint("y.list", "GET", "/users/{uid}/x", many(User), paging=BY_PAGE)
    send = Sender(answer)
    requests: list[int] = []
    for call in (endpoint(uid="a"), endpoint(uid="large"), endpoint(uid="b"), other(uid="b")):
        before = len(send.calls)
        await made(send, call).collect()
        requests.append(len(send.calls) - before)
    assert requests == [2, 2, 1, 2]


def messages(call: Call[Any]) -> Listing[Any]:
    place = int(dict(call.position).get("id", "0"))
    ids = range(place + 1, min(place + 6, 21))
    body = b'{"data":[' + b",".join(b'{"id":"%d"}' % number for number in ids) + b"]}"
    page: Listing[Any] = call.endpoint.reply(body)
    return Listing(page.items, Meta(cursor=Position("append", ids[-1] if ids else place)), body)


async def test_a_signed_token_is_accepted_only_with_the_same_key() -> None:
    walking = made(Sender(messages, key=b"shared"), LIST(uid="bob"))
    async for message in walking:
        if message.id == "7":
            break
    token = str(walking.cursor)
    rest = await made(Sender(messages, key=b"shared"), LIST(uid="bob"), token).collect()
    assert [message.id for message in rest] == [str(number) for number in range(8, 21)]
    unsigned = made(Sender(messages), LIST(uid="bob"), token).cursor
    for key, cursor in ((b"other", token), (b"shared", str(unsigned))):
        send = Sender(messages, key=key)
        with pytest.raises(CursorError, match="not signed"):
            made(send, LIST(uid="bob"), cursor)
        assert send.calls == []


async def test_every_cursor_of_a_session_with_a_key_is_signed() -> None:
    send = Sender(messages, key=b"shared")
    walking = made(send, LIST(uid="bob"))
    cursors: list[Callable[[], Cursor]] = [
        lambda: walking.cursor,
        lambda: walking.limit(3).cursor,
        lambda: walking.thorough().cursor,
        lambda: walking.at(walking.cursor).cursor,
    ]
    for cursor in cursors:
        made(send, LIST(uid="bob"), str(cursor()))
    async for page in walking.pages():
        made(send, LIST(uid="bob"), str(page.cursor))
    for cursor in cursors:
        made(send, LIST(uid="bob"), str(cursor()))


def listing_of(count: int, meta: str = "{}") -> bytes:
    users = ",".join(f'{{"uid":"u{number}"}}' for number in range(count))
    return f'{{"data":[{users}],"meta":{meta}}}'.encode()


@loop_over(
    ("count", "meta", "is_full"),
    [
        (999, "{}", False),
        (1000, "{}", True),
        (1001, "{}", True),
        (99, '{"current":{"limit":100,"count":99}}', False),
        (100, '{"current":{"limit":100,"count":100}}', True),
        (10, '{"current":{"limit":10,"count":10}}', True),
        (9, '{"current":{"limit":9,"count":9}}', False),
        (60, '{"current":{"limit":5000,"count":60}}', False),
    ],
)
async def test_a_full_reply_of_a_list_without_paging_is_no_silent_end(
    count: int, meta: str, is_full: bool
) -> None:
    endpoint: Endpoint[Any] = Endpoint("users.list_all", "GET", "/users", many(User))
    walk = made(Sender(listing_of(count, meta)), endpoint())
    uids: list[str] = []
    with pytest.raises(CursorError, match=rf"is full \({count} records\)") if is_full else nullcontext():
        async for user in walk:
            uids.append(user.uid)
    assert uids == [f"u{number}" for number in range(count)]
    limited = made(Sender(listing_of(count, meta)), endpoint()).limit(count)
    assert len(await limited.collect()) == count


@loop_over(
    "read",
    [
        lambda send: Messages(send).counts(MessageQuery(unread=True), uid="bob"),
        lambda send: Conversations(send).list(ConversationQuery(use_cursored_index=1)).collect(),
    ],
)
async def test_a_variant_of_a_list_has_its_plan_cached_too(read: Any) -> None:
    send = Sender(b'{"data":[]}')
    await read(send)
    misses = _cached_list_plan.cache_info().misses
    await read(send)
    assert _cached_list_plan.cache_info().misses == misses
