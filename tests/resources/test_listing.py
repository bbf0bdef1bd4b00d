"""From a list endpoint to a walk: whose token it takes, and what it asks for."""

from typing import Any

import pytest

from chatrest.core.cursor import Cursor
from chatrest.core.decode import MESSAGE, Listing, Many
from chatrest.core.encode import query_pairs
from chatrest.core.endpoint import Call, Endpoint
from chatrest.errors import ChatRestError, CursorError, RequestInvalidError
from chatrest.models.meta import Meta
from chatrest.queries.messages import MessageQuery
from chatrest.queries.users import UserQuery
from chatrest.resources.listing import LARGEST_PAGE, check_query, walk
from chatrest.walk import Walk

LIST: Endpoint[Any] = Endpoint(
    name="messages.list_user", method="GET", path="/users/{uid}/messages", reply=Many(MESSAGE)
)
OTHER: Endpoint[Any] = Endpoint(
    name="messages.list_other", method="GET", path="/users/{uid}/messages", reply=Many(MESSAGE)
)


class Sent:
    """A session that keeps what was sent."""

    def __init__(self, app_id: str = "app", acting_user: str | None = None) -> None:
        self.app_id, self.acting_user = app_id, acting_user
        self.calls: list[Call[Any]] = []

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        return Listing([], Meta(), b"{}")


def made(send: Sent, call: Call[Any], cursor: Any = None, **more: Any) -> Walk[Any]:
    return walk(send, call, key="id", size_name="limit", cursor=cursor, **more)


def asked(send: Sent, arrays: Any = "comma") -> dict[str, str]:
    call = send.calls[-1]
    return {**dict(query_pairs(call.query, arrays)), **dict(call.place)}


BASE: dict[str, Any] = {
    "uid": "bob",
    "query": MessageQuery(tags=("a", "b"), affix="append"),
    "on_behalf_of": "eve",
}
FOREIGN: dict[str, tuple[Sent, Call[Any]]] = {
    "operation": (Sent(), OTHER(**BASE)),
    "uid": (Sent(), LIST(**{**BASE, "uid": "bob2"})),
    "acting user": (Sent(), LIST(**{**BASE, "on_behalf_of": "mallory"})),
    "no acting user": (Sent(), LIST(**{**BASE, "on_behalf_of": None})),
    "app": (Sent("other"), LIST(**BASE)),
    "filter": (Sent(), LIST(**{**BASE, "query": MessageQuery(tags=("a",), affix="append")})),
    "way": (Sent(), LIST(**{**BASE, "query": MessageQuery(tags=("a", "b"), affix="prepend")})),
    "start": (Sent(), LIST(**{**BASE, "query": MessageQuery(tags=("a", "b"), affix="append", id="5")})),
    "no filter": (Sent(), LIST(**{**BASE, "query": None})),
}


@pytest.mark.parametrize("what", FOREIGN)
@pytest.mark.parametrize("as_token", [True, False])
def test_a_cursor_of_another_query_is_refused_before_anything_is_sent(what: str, as_token: bool) -> None:
    cursor = made(Sent(), LIST(**BASE)).cursor
    send, call = FOREIGN[what]
    with pytest.raises(CursorError, match="of another query"):
        made(send, call, str(cursor) if as_token else cursor)
    assert send.calls == []


@pytest.mark.parametrize("token", ["", "x", "é", 5, b"abc"])
def test_a_damaged_token_is_refused_before_anything_is_sent(token: Any) -> None:
    send = Sent()
    with pytest.raises(CursorError):
        made(send, LIST(uid="bob"), token)
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
    cursor = made(Sent(), LIST(**BASE)).cursor
    assert made(Sent(), LIST(**{**BASE, "query": query}), str(cursor)).cursor == cursor


def test_the_views_own_user_and_the_calls_are_one() -> None:
    cursor = made(Sent(), LIST(**BASE)).cursor
    assert made(Sent(acting_user="eve"), LIST(**{**BASE, "on_behalf_of": None}), cursor).cursor == cursor
    assert made(Sent(acting_user="mallory"), LIST(**BASE), cursor).cursor == cursor


def test_a_token_holds_neither_the_uid_nor_the_acting_user() -> None:
    cursor = made(Sent(), LIST(uid="bob-the-uid", on_behalf_of="eve-the-acting_user")).cursor
    assert "bob" not in repr(cursor)
    assert "eve" not in repr(cursor)


async def test_a_walk_asks_for_the_largest_page_where_nobody_says_less() -> None:
    send = Sent()
    await made(send, LIST(uid="bob")).collect()
    assert asked(send) == {"limit": str(LARGEST_PAGE)}


@pytest.mark.parametrize("name", ["limit", "per_page"])
async def test_a_page_size_of_the_callers_is_kept(name: str) -> None:
    send = Sent()
    await made(send, LIST(uid="bob", query=MessageQuery(**{name: 7}))).limit(3).collect()
    assert asked(send) == {"limit" if name == "limit" else "perPage": "7"}


async def test_a_walk_begins_where_its_query_says() -> None:
    send = Sent()
    query = MessageQuery(id="5", affix="prepend", search_key="x")
    found = made(send, LIST(uid="bob", query=query))
    assert (found.cursor.at, found.cursor.way) == ((("affix", "prepend"), ("id", "5")), "prepend")
    await found.collect()
    assert asked(send) == {"searchKey": "x", "affix": "prepend", "id": "5", "limit": "1000"}


async def test_a_comma_in_a_filter_is_no_error_of_the_walk() -> None:
    """Where the deployment reads repeated keys, it is sent as such; the session's own encoding judges."""
    send = Sent()
    await made(send, LIST(uid="bob", query=MessageQuery(tags=("a,b",)))).collect()
    assert asked(send, "repeat")["tags"] == "a,b"


def test_one_tag_with_a_comma_and_two_tags_are_two_queries() -> None:
    cursor = made(Sent(), LIST(uid="bob", query=MessageQuery(tags=("a,b",)))).cursor
    with pytest.raises(CursorError):
        made(Sent(), LIST(uid="bob", query=MessageQuery(tags=("a", "b"))), cursor)


def test_a_filter_that_cannot_be_sent_is_an_error_of_ours() -> None:
    with pytest.raises(ChatRestError):
        made(Sent(), LIST(uid="bob", query=MessageQuery(search_key="\ud800")))


def test_a_filter_of_another_list_is_refused() -> None:
    check_query(None, MessageQuery)
    check_query(MessageQuery(), MessageQuery)
    for query in (UserQuery(), {"limit": 5}, "x", Cursor("q")):
        with pytest.raises(RequestInvalidError, match="allowed is a MessageQuery, or None"):
            check_query(query, MessageQuery)
