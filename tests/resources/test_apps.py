"""Applications: listed on the management interface."""

import pytest

from chatrest.parameters.apps import AppQuery
from chatrest.resources.apps import APPS_LIST, Apps
from tests.sending import Sender


@pytest.mark.parametrize("body", [b'{"data":[{"id":"a","name":"A"}]}', b'{"data":{"id":"a","name":"A"}}'])
async def test_apps_are_listed_also_where_one_is_shown_for_a_list(body: bytes) -> None:
    sender = Sender(body, b'{"data":[]}')
    assert [app.id for app in await Apps(sender).list(AppQuery(search_key="x")).collect()] == ["a"]
    first, second = sender.calls
    assert (first.endpoint, first.path, first.query) == (APPS_LIST, "/apps", {"searchKey": "x"})
    assert dict(first.position) == {"perPage": "1000"}
    assert dict(second.position) == {"page": "2", "perPage": "1000"}
