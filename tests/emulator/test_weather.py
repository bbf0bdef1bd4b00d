"""The script: which fault strikes which request, without a socket."""

from random import Random
from typing import Any

import pytest

from chatrest.emulator import (
    Chance,
    Every,
    First,
    Latency,
    Reset,
    Status,
    TooManyRequests,
    Weather,
    When,
    storm,
)
from chatrest.emulator.faults import Target
from chatrest.emulator.service.context import ServiceRequest as Request
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over


def get(path: str = "/v3/messages", query: str = "", method: str = "GET", **headers: str) -> Request:
    return Request(method, path, query, headers)


def struck(weather: Weather, count: int, request: Request | None = None) -> list[str | None]:
    return [weather.strike(request or get()).name for _ in range(count)]


@loop_over(
    ("when", "expected"),
    [
        (Every(1), [1, 1, 1, 1, 1, 1]),
        (First(2), [1, 1, 0, 0, 0, 0]),
        (First(2, after=1), [0, 1, 1, 0, 0, 0]),
        (Every(3), [0, 0, 1, 0, 0, 1]),
        (Chance(0.0), [0] * 6),
        (Chance(1.0), [1] * 6),
    ],
)
def test_when(when: When, expected: list[int]) -> None:
    dice = Random(1)
    assert [when.strikes(number, dice) for number in range(1, 7)] == expected


@loop_over(
    ("route", "method", "path", "fits"),
    [
        ("messages.list_user", "GET", "/v3/users/a%2Fb/messages", True),
        ("messages.list_user", "POST", "/v3/users/ann/messages", False),
        ("messages.list_user", "GET", "/v3/users/ann", False),
        ("/users/{uid}/messages", "POST", "/v3/users/ann/messages", True),
        ("/users/ann/messages", "GET", "/v3/users/ann/messages", True),
        ("/users/ann/messages", "GET", "/v3/users/bob/messages", False),
        ("apps.list", "GET", "/management/apps", True),
        ("members.kick", "DELETE", "/v3/groups/g/members/u", True),
        ("members.kick", "PUT", "/v3/groups/g/members/u", False),
        ("users.get", "GET", "/v3/users/ann", True),
        ("/calls/{sessionId}", "GET", "/v3/calls/1", True),
    ],
)
def test_routes(route: str, method: str, path: str, fits: bool) -> None:
    assert Target(route).fits(method, path) is fits


def test_a_list_of_first_is_a_sequence() -> None:
    weather = Weather([Status(503, when=First(2)), Reset(when=First())])
    assert struck(weather, 4) == ["status", "status", "reset", None]
    assert weather.struck == {"status": 2, "reset": 1}
    assert "status 2" in repr(weather)
    assert "reset 1" in repr(weather)


def test_routes_and_methods_are_counted_apart() -> None:
    weather = Weather([Status(when=First(), route="users.list"), Reset(when=First(), method="POST")])
    assert struck(weather, 2) == [None, None]
    assert struck(weather, 2, get("/v3/users")) == ["status", None]
    assert struck(weather, 2, get(method="POST")) == ["reset", None]


def test_accompanying_faults_strike_beside_the_others() -> None:
    weather = Weather([Latency(1.0), Status(), Latency(0.5, when=Every(2)), Reset()])
    first, second = weather.strike(get()), weather.strike(get())
    assert (len(first.beside), len(second.beside)) == (1, 2)
    assert first.name == "latency+status"
    assert isinstance(second.fault, Status)


def test_the_seed_decides_about_chances() -> None:
    def rolled(seed: int, when: Chance) -> list[str | None]:
        return struck(Weather([Reset(when=when)], seed), 64)

    assert rolled(1, Chance(0.5)) == rolled(1, Chance(0.5)) != rolled(2, Chance(0.5))
    assert rolled(1, Chance(0.5, seed=9)) == rolled(2, Chance(0.5, seed=9))
    assert 10 < sum(name is not None for name in rolled(1, Chance(0.5))) < 54


def test_a_streak_has_its_maximum() -> None:
    weather = Weather([Status(max_streak=2), Reset(max_streak=2)])
    assert struck(weather, 6) == ["status", "status", None] * 2
    assert struck(weather, 1, get(query="other")) == ["status"]
    assert struck(weather, 1, get(onbehalfof="ann")) == ["status"]


@loop_over(
    ("kind", "wrong"),
    [
        (Status, {"status": 99}), (Status, {"body_kind": "xml"}), (Status, {"route": "messages.lists"}),
        (Status, {"max_streak": 0}), (TooManyRequests, {"wait": -1}), (TooManyRequests, {"headers": "c"}),
        (TooManyRequests, {"processed": True}), (Latency, {"seconds": -1}),
        (Latency, {"seconds": float("inf")}), (Reset, {"after": -1}),

        (First, {"count": 0}), (First, {"after": -1}),
        (Every, {"step": 0}), (Chance, {"share": 1.1}),
        (storm, {"intensity": 2}),
        (Weather, {"faults": [503]}),
    ],
)  # fmt: skip
def test_wrong_arguments(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match="expected"):
        kind(**wrong)


def test_equal_seeds_give_equal_storms() -> None:
    assert storm(3, 0.4) == storm(3, 0.4) != storm(4, 0.4)
    assert {fault.name for fault in storm(1)} >= {"status", "reset", "cut", "too_many_requests"}


def test_a_storm_strikes_its_share_and_hardly_any_post() -> None:
    weather = Weather(storm(5, 0.3))
    hits = [weather.strike(get(query=f"id={number}")).fault for number in range(1000)]
    assert 200 < sum(fault is not None for fault in hits) < 400
    sent = [weather.strike(get(method="POST", query=str(number))).fault for number in range(1000)]
    assert {fault.name for fault in sent if fault is not None} <= {"too_many_requests"}
