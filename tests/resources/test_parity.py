"""All operations against the checked-in table of the service's operations, `tests/operations.json`.

The table was not made from this code, and has an operation per line: its method, path and header, its query
parameters and the members of its body, with nested ones where they are documented.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

import msgspec
import pytest

from chatrest._core.requests.encode import query_pairs
from chatrest._core.requests.endpoint import Call
from chatrest._core.requests.wire import json_body
from chatrest._resources import OPERATIONS
from chatrest._walk.walk import Walk
from chatrest.errors import RequestInvalidError
from tests.resources.operation_table import TABLE, arguments_of, camel, method_of, names, structs_in
from tests.support.cases import loop_over
from tests.support.session_double import Sender

SHARED: Final = {
    "calls.list", "messages.list", "messages.list_user", "messages.list_group", "messages.list_thread",
    "messages.list_threads_user", "messages.list_threads_group",
}  # fmt: skip
"""Lists that have a filter in common: it has more than one of them documents."""
LEFT_TO_THE_SERVICE: Final = {
    "agents.create_external": {"integrationType"}, "agents.create_api_tool": {"enableBasicAuth"},
    "agents.create_external: integrationMeta": {"baseUrl"},
    "data_import.import_members: members": {"memberId"},
}  # fmt: skip
"""Members that the table requires without a default, and the type of the field does not: other rules may."""


def test_the_operations_are_those_of_the_table() -> None:
    only_in_code = sorted(set(OPERATIONS) - set(TABLE))
    assert not only_in_code, f"add to tests/operations.json: {only_in_code}"
    only_in_table = sorted(set(TABLE) - set(OPERATIONS))
    assert not only_in_table, f"add to a file of chatrest/_resources/: {only_in_table}"


@loop_over("name", TABLE)
def test_an_endpoint_matches_the_table(name: str) -> None:
    endpoint, row = OPERATIONS[name], TABLE[name]
    assert (endpoint.method, endpoint.path, endpoint.interface) == (
        row["method"], row["path"], row["interface"],
    )  # fmt: skip
    assert endpoint.acting == {"none": "never"}.get(row["on_behalf_of"], row["on_behalf_of"])
    assert (endpoint.replay, endpoint.rate_class) == (row["replay"], row["rate_class"])
    assert endpoint.media == row.get("media", "application/json").partition("/")[0].replace(
        "application", "json"
    )
    assert bool(endpoint.deprecated) == row.get("deprecated", False)


@loop_over("name", TABLE)
def test_queries_headers_and_bodies_have_the_names_of_the_table(name: str) -> None:
    endpoint, row = OPERATIONS[name], TABLE[name]
    query = set(names(endpoint.query))
    assert query == set(row.get("query", ())) or (name in SHARED and query > set(row["query"]))
    assert set(names(endpoint.headers)) == set(row.get("headers", ()))
    check_members(name, endpoint.body, row.get("body", {}))


def check_members(where: str, kind: type[msgspec.Struct] | None, rows: Mapping[str, Any]) -> None:
    """The members of a body, and of the checked structs in it, are those that are documented."""
    members = names(kind)
    assert set(members) == set(rows), where
    required = {name for name, row in rows.items() if row.get("required") and "default" not in row}
    optional = {name for name in required if not members[name].required}
    assert optional == LEFT_TO_THE_SERVICE.get(where, set()), where
    for name, row in rows.items():
        for inner in structs_in(members[name].type) if "fields" in row else ():
            check_members(f"{where}: {name}", inner, row["fields"])


@loop_over("name", OPERATIONS)
def test_a_method_has_the_arguments_of_its_operation(name: str) -> None:
    """First the path's parameters in their order; every filter and member of a body can be given."""
    endpoint, arguments = OPERATIONS[name], dict(inspect.signature(method_of(name, Sender())).parameters)
    assert ("cursor" in arguments) is (endpoint.paging is not None)
    assert ("on_behalf_of" in arguments) is (endpoint.acting != "never")
    for struct in filter(None, (endpoint.query, endpoint.body)):
        is_taken = any(struct in (each.annotation, *get_args(each.annotation)) for each in arguments.values())
        assert is_taken or set(struct.__struct_fields__) <= arguments.keys()
    first = list(arguments.values())[: len(endpoint.parameters)]
    for argument, parameter in zip(first, endpoint.parameters, strict=True):
        assert camel(argument.name) == parameter or argument.name.endswith(f"_{parameter}")
        assert (argument.kind, argument.default) == (argument.POSITIONAL_OR_KEYWORD, argument.empty)


@loop_over("name", OPERATIONS)
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
async def test_a_method_sends_each_argument_of_the_operation(name: str) -> None:
    endpoint, sender = OPERATIONS[name], Sender(refuse)
    arguments = arguments_of(name)
    result = method_of(name, sender)(**arguments)
    with pytest.raises(NoAnswerError):
        await (result.collect() if isinstance(result, Walk) else result)
    call = sender.call
    assert call.endpoint is endpoint
    assert call.acting_user == arguments.get("on_behalf_of")
    sent = {camel(argument): given for argument, given in arguments.items()}
    sent["id"] = sent.get("id", sent.get("messageId"))
    assert call.path == re.sub(r"\{(\w+)\}", lambda match: str(sent[match[1]]), endpoint.path)
    wire = [call.path, str(call.acting_user), str(list(query_pairs(call.query))), str(call.headers)]
    wire += [] if call.body is None else [bytes(json_body(call.body)).decode()]
    for given in arguments.values():
        for text in texts(given):
            assert text in "\n".join(wire), f"{text} is not sent"
    for argument, given in arguments.items():
        if isinstance(given, bool | int) and argument != "x_webhook_version":
            assert camel(argument) in "\n".join(wire), f"{argument} is not sent"
    assert isinstance(call.headers, endpoint.headers or type(None))


@loop_over("name", [name for name, row in TABLE.items() if row["on_behalf_of"] == "required"])
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
async def test_an_acting_user_that_is_needed_and_missing_is_refused(name: str) -> None:
    sender = Sender(refuse)
    arguments = arguments_of(name) | {"on_behalf_of": None}
    with pytest.raises(RequestInvalidError, match="acts as a user: give on_behalf_of"):
        await method_of(name, sender)(**arguments)
    assert sender.calls == []


class NoAnswerError(Exception):
    """The request was recorded, and that is all."""


def refuse(call: Call[Any]) -> None:
    raise NoAnswerError


def texts(given: Any) -> Iterator[str]:
    """Yield the texts that only this argument has."""
    if isinstance(given, str) and given.endswith("-1"):
        yield given
    elif isinstance(given, list | dict):
        for each in given:
            yield from texts(each)
