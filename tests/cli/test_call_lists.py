"""`call` with the lists of all collections: records are printed as served, whatever tells them apart."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from chatrest.core.replies.decode import Many
from chatrest.resources import OPERATIONS

from .conftest import Proxy, rows

Run = Callable[..., Result]
MakeProxy = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Proxy]

RECORD = b'{"id":"1","uid":"a","guid":"g","role":"r","key":"k","name":"n","novel":1.50}'
LISTS = [name for name, each in OPERATIONS.items() if isinstance(each.reply, Many) and each.method == "GET"]


@pytest.mark.parametrize("name", LISTS)
def test_records_of_every_list_are_printed_as_served(command: Run, proxy: MakeProxy, name: str) -> None:
    endpoint = OPERATIONS[name]
    arguments = [f"{parameter}=x" for parameter in endpoint.parameters]
    arguments += ["on_behalf_of=eve"] if endpoint.acting == "required" else []
    with proxy(lambda *_: (200, b'{"data":[%b],"meta":{}}' % RECORD)) as url:
        result = command("call", name, *arguments, CHATREST_BASE_URL=url, CHATREST_MANAGEMENT_URL=url)
    assert result.stdout_bytes == RECORD + b"\n"


@pytest.mark.parametrize(
    ("name", "key", "records"),
    [
        ("groups.list", "guid", [{"guid": "a"}, {"guid": "b"}, {"guid": "b"}, {"guid": "c"}]),
        ("api_keys.list", "apiKey", [{"apiKey": "a"}, {"apiKey": "b"}, {"apiKey": "b"}, {"apiKey": "c"}]),
        ("users.list", "uid", [{"uid": "a"}, {"uid": "b"}, {"uid": "b"}, {"uid": "c"}]),
    ],
)
def test_a_record_at_the_border_of_two_pages_is_printed_once(
    command: Run, proxy: MakeProxy, name: str, key: str, records: list[dict[str, Any]]
) -> None:
    pages = [records[:2], records[2:], []]

    def answer(number: int, _: str) -> tuple[int, bytes]:
        body = {"data": pages[min(number, 3) - 1], "meta": {}}
        return 200, json.dumps(body).encode()

    with proxy(answer) as url:
        result = command("call", name, CHATREST_BASE_URL=url)
    assert [record[key] for record in rows(result)] == ["a", "b", "c"]


def test_permissions_are_printed_with_the_outcomes(command: Run) -> None:
    result = command("call", "rbac.set_role", "role=default", 'permissions={"a.b": "deny"}')
    [reply] = rows(result)
    assert (reply["a.b"]["success"], reply["permissions"]) == (True, {"a.b": "deny"})
