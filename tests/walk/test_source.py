"""One page of a list: what a service replied is never the caller's fault."""

import json
from typing import Any

import pytest

from chatrest import CursorError, MessageQuery, RequestInvalidError
from tests.support.scripted_server import FaultyServer, reply
from tests.support.small_service import talk

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.mark.parametrize("number", ["", "\ud800", "0", " ", "/", "x" * 5000, None, 10**30])
async def test_ids_that_are_no_positions(number: Any) -> None:
    [record] = talk(1)
    for cursor in (
        {},
        {"cursor": {"id": number, "affix": "append"}},
        {"next": {"id": number, "sentAt": number}},
    ):
        body = json.dumps({"data": [record | {"id": number}], "meta": cursor})
        async with (
            FaultyServer(reply(body), reply(body), reply('{"data":[]}')) as server,
            server.session() as session,
        ):
            walk = session.messages.list_user("bob", MessageQuery(affix="append"))
            ids = []
            try:
                ids = [message.id for message in await walk.collect()]
            except CursorError:
                continue
            assert ids in ([str(number)], [""])


async def test_a_closed_session_stays_the_callers_fault() -> None:
    async with FaultyServer(
        reply({"data": talk(1), "meta": {"cursor": {"id": 1, "affix": "append"}}})
    ) as server:
        async with server.session() as session:
            walk = session.messages.list_user("bob", MessageQuery(affix="append"))
            await walk.limit(1).collect()
        with pytest.raises(RequestInvalidError, match="not open"):
            await walk.collect()
