"""The loop over many cases runs each of them, and each failure names its case."""

import pytest

from tests.support.cases import loop_over


async def test_a_case_of_a_coroutine_that_fails_is_named() -> None:
    @loop_over("name", "xy")
    @loop_over("number", [1, 2, 3])
    async def check(name: str, number: int) -> None:
        assert number < 3 or name == "x"

    with pytest.raises(AssertionError) as caught:
        await check()
    assert caught.value.__notes__ == ["the case: number = 3", "the case: name = 'y'"]


def test_every_case_that_fails_is_reported() -> None:
    @loop_over("number", [1, 2, 3, 4])
    def check(number: int) -> None:
        if number == 4:
            pytest.fail("too large")
        assert number % 2

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases fail") as caught:
        check()
    notes = [error.__notes__ for error in caught.value.exceptions]
    assert notes == [["the case: number = 2"], ["the case: number = 4"]]
