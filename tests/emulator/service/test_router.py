"""The lookup of operations by method and path, on tables of its own and on the emulator's."""

import itertools

import pytest

from chatrest.core.replies.decode import read_json
from chatrest.core.requests.endpoint import Endpoint, Interface, Method
from chatrest.emulator.service.dispatch import HANDLERS
from chatrest.emulator.service.router import Router, rate_class
from chatrest.resources import OPERATIONS
from tests.cases import loop_over


def endpoint(method: Method, path: str, interface: Interface = "chat") -> Endpoint[object]:
    replay = "safe" if method == "GET" else "never"
    return Endpoint(f"{method} {path}", method, path, read_json, replay, interface=interface)  # type: ignore[arg-type]


TEMPLATES = (
    "/groups/{guid}/members/{uid}", "/messages/{id}/reactions/{reaction}",
    "/users/{uid}/auth_tokens/{authToken}",
    "/groups/{guid}/bannedusers/{uid}", "/{a}/{b}/{c}/{d}/{e}", "/conversations/{conversationId}",
    "/conversations/pinned", "/users", "/ai-agents/agents/{uid}/tools/{slug}/authenticate",
)  # fmt: skip
ROUTER = Router(endpoint("GET", template) for template in TEMPLATES)


@loop_over(
    "path", ["/v3/users/", "/v3", "/", "/v3/groups//members/u", "/v3/groups/g/members", "/management/users",
             "/users", "/v3/users/ann", "/v3/1/2/3/4/5/6"],
)  # fmt: skip
def test_paths_of_no_operation(path: str) -> None:
    assert ROUTER.route("GET", path) is None
    assert ROUTER.route("PUT", path) is None


def test_a_literal_that_leads_nowhere_gives_way_to_the_parameter() -> None:
    templates: tuple[tuple[Method, str], ...] = (
        ("GET", "/a/pinned/x"),
        ("GET", "/a/{b}/y"),
        ("PUT", "/a/{b}/x"),
    )
    router = Router(endpoint(*template) for template in templates)
    requests = itertools.product(("GET", "PUT"), ("/v3/a/pinned/x", "/v3/a/pinned/y", "/v3/a/c/x"))
    routes = [router.route(*request) for request in requests]
    assert [route and route.endpoint.name for route in routes] == [
        "GET /a/pinned/x",
        "GET /a/{b}/y",
        None,
        "PUT /a/{b}/x",
        None,
        "PUT /a/{b}/x",
    ]


def test_two_operations_of_one_path_are_refused() -> None:
    with pytest.raises(ValueError, match="same path"):
        Router([endpoint("GET", "/a/{b}"), endpoint("GET", "/a/{c}", "calls")])
    Router([endpoint("GET", "/a/{b}"), endpoint("GET", "/a/{c}", "management"), endpoint("PUT", "/a/{b}")])


def test_every_operation_has_a_handler_and_every_handler_an_operation() -> None:
    assert set(HANDLERS) == set(OPERATIONS)


@loop_over("name", sorted(OPERATIONS))
def test_every_operation_is_reached_by_its_own_path(name: str) -> None:
    served = OPERATIONS[name]
    base = "management" if served.interface == "management" else "v3"
    path = f"/{base}{served(**dict.fromkeys(served.parameters, 'x y')).path}"
    route = Router(OPERATIONS.values()).route(served.method, path)
    assert route is not None
    assert route.endpoint is served
    assert dict(route.parameters) == dict.fromkeys(served.parameters, "x y")


@loop_over(
    ("method", "path", "expected"),
    [
        ("POST", "/v3/users", "core"), ("GET", "/v3/users", "standard"), ("POST", "/v3/messages", "standard"),
        ("POST", "/v3/users/ann/auth_tokens", "standard"), ("POST", "/v3/data_import/users", "import"),
        ("GET", "/v3/", "standard"), ("GET", "/", "standard"), ("PUT", "/v3/nothing", "standard"),
    ],
)  # fmt: skip
def test_rate_classes(method: str, path: str, expected: str) -> None:
    assert rate_class(method, path) == expected
