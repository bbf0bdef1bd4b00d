"""Bounds of an attempt: positive seconds, or None."""

import pytest

from chatrest._core.requests.arguments import Timeouts, check_optional_seconds, check_seconds
from chatrest.errors import RequestInvalidError

BAD = [0, -1, 0.0, float("inf"), float("nan"), "5", True, [5], 1j]


@pytest.mark.parametrize("name", ["connect", "read", "total"])
def test_each_phase_takes_seconds_or_none_and_nothing_else(name: str) -> None:
    for value in (None, 0.001, 5, 10**6):
        assert getattr(Timeouts(**{name: value}), name) == value
    for value in BAD:
        with pytest.raises(RequestInvalidError, match=rf"timeouts\.{name} = .*a billion, or None"):
            Timeouts(**{name: value})  # type: ignore[arg-type]


def test_seconds_become_a_float() -> None:
    assert check_optional_seconds("deadline", None) is None
    assert type(check_seconds("deadline", 5)) is float


def test_a_billion_is_the_most() -> None:
    assert check_seconds("deadline", 10**9) == 10**9
    for value in (10**9 + 1, 1e10, 10**400, 10**5000, -(10**5000), None):
        with pytest.raises(RequestInvalidError, match=r"expected a number above 0, up to a billion$"):
            check_seconds("deadline", value)
