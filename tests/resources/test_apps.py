"""Applications: listed on the management interface."""

from typing import Any

import pytest

from chatrest.core.endpoint import Call
from chatrest.queries.apps import AppQuery
from chatrest.resources.apps import LIST, Apps


class Session:
    app_id = "management"
    acting_user = None

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.calls: list[Call[Any]] = []

    async def __call__(self, call: Call[Any], /) -> Any:
        self.calls.append(call)
        return call.endpoint.reply(self.body)


@pytest.mark.parametrize("body", [b'{"data":[{"id":"a","name":"A"}]}', b'{"data":{"id":"a","name":"A"}}'])
async def test_apps_are_listed_also_where_one_is_shown_for_a_list(body: bytes) -> None:
    session = Session(body)
    query = AppQuery(search_key="x")
    assert [app.id for app in await Apps(session).list(query).collect()] == ["a"]
    [call] = session.calls
    assert (call.endpoint, call.path, call.query) == (LIST, "/apps", {"searchKey": "x"})
    assert dict(call.place) == {"perPage": "1000"}
