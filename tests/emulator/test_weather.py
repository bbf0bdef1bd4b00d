"""The script: which fault strikes which request, without a socket."""

from random import Random
from typing import Any

import pytest

from chatrest.emulator import Chance, Fault, First, Latency, Reset, Status, TooManyRequests, Weather, storm
from chatrest.emulator.service.handler_input import ServiceRequest
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


def get(path: str = "/v3/messages", query: str = "", method: str = "GET", **headers: str) -> ServiceRequest:
    return ServiceRequest(method, path, query, headers)


def struck(weather: Weather, count: int, request: ServiceRequest | None = None) -> list[str]:
    strikes = [weather.strike(request or get()).all for _ in range(count)]
    return ["+".join(fault.name for fault in faults) for faults in strikes]


@loop_over(
    ("when", "expected"),
    [
        (First(2), [1, 1, 0, 0, 0, 0]),
        (First(2, after=1), [0, 1, 1, 0, 0, 0]),
        (Chance(0.0), [0] * 6),
        (Chance(1.0), [1] * 6),
    ],
)
def test_first_is_a_count_and_chance_is_drawn_from_the_seed(
    when: First | Chance, expected: list[int]
) -> None:
    assert [when.strikes(number, Random(1)) for number in range(1, 7)] == expected


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
    ],
)
def test_a_fault_fits_the_requests_of_its_operation_or_path(
    route: str, method: str, path: str, fits: bool
) -> None:
    assert Fault(route=route).fits(get(path, method=method)) is fits


def test_a_list_of_first_is_a_sequence_of_each_route_and_method() -> None:
    weather = Weather([Status(503, when=First(2)), Reset(when=First())])
    assert struck(weather, 4) == ["status", "status", "reset", ""]
    assert weather.struck == {"status": 2, "reset": 1}
    assert "reset 1, status 2" in repr(weather)
    weather = Weather([Status(when=First(), route="users.list"), Reset(when=First(), method="post")])
    assert struck(weather, 2) == ["", ""]
    assert struck(weather, 2, get("/v3/users")) == ["status", ""]
    assert struck(weather, 2, get(method="POST")) == ["reset", ""]


def test_accompanying_faults_strike_beside_the_others() -> None:
    weather = Weather([Latency(1.0), Status(), Latency(0.5, when=First(after=1)), Reset()])
    assert struck(weather, 2) == ["latency+status", "latency+latency+status"]


def test_the_seed_decides_about_chances() -> None:
    def rolled(seed: int, when: Chance) -> list[str]:
        return struck(Weather([Reset(when=when)], seed), 64)

    assert rolled(1, Chance(0.5)) == rolled(1, Chance(0.5)) != rolled(2, Chance(0.5))
    assert rolled(1, Chance(0.5, seed=9)) == rolled(2, Chance(0.5, seed=9))
    assert 10 < rolled(1, Chance(0.5)).count("reset") < 54


def test_a_streak_has_its_maximum() -> None:
    weather = Weather([Status(max_streak=2), Reset(max_streak=2)])
    assert struck(weather, 6) == ["status", "status", ""] * 2
    assert struck(weather, 1, get(query="other")) == ["status"]
    assert struck(weather, 1, get(onbehalfof="ann")) == ["status"]


@loop_over(
    ("kind", "wrong"),
    [
        (Status, {"status": 99}), (Status, {"route": "messages.lists"}), (Status, {"max_streak": 0}),
        (TooManyRequests, {"wait": -1}), (TooManyRequests, {"headers": "c"}),
        (Latency, {"seconds": -1}),
        (Latency, {"seconds": float("inf")}), (Reset, {"after": -1}),
        (First, {"count": 0}), (Chance, {"share": 1.1}), (storm, {"intensity": 2}),
        (Weather, {"faults": [503]}), (Status, {"when": 3}), (Status, {"method": "GTE"}),
        (Status, {"method": 5}),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_with_what_is_expected(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestInvalidError, match="expected"):
        kind(**wrong)


def test_a_storm_affects_a_share_of_requests_and_hardly_any_post() -> None:
    assert storm(3, 0.4) == storm(3, 0.4) != storm(4, 0.4)
    assert {fault.name for fault in storm(1)} >= {"status", "reset", "cut", "too_many_requests"}
    weather = Weather(storm(5, 0.3))
    hits = [weather.strike(get(query=f"id={number}")).fault for number in range(1000)]
    assert 200 < sum(fault is not None for fault in hits) < 400
    sent = [weather.strike(get(method="POST", query=str(number))).fault for number in range(1000)]
    assert {fault.name for fault in sent if fault is not None} <= {"too_many_requests"}
