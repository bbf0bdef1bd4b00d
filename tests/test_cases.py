"""The loop over many cases runs each of them, and a failure names its case."""

import pytest

from tests.cases import loop_over


async def test_a_case_of_a_coroutine_that_fails_is_named() -> None:
    @loop_over("name", "xy")
    @loop_over("number", [1, 2, 3])
    async def check(name: str, number: int) -> None:
        assert number < 3 or name == "x"

    with pytest.raises(AssertionError) as caught:
        await check()
    assert caught.value.__notes__ == ["the case: number = 3", "the case: name = 'y'"]


def test_the_cases_after_one_that_fails_are_run() -> None:
    calls: list[int] = []

    @loop_over("number", [1, 2, 3])
    def check(number: int) -> None:
        calls.append(number)
        with pytest.raises(ValueError, match="even"):
            raise ValueError("odd" if number == 3 else "even" if number == 2 else "1")

    with pytest.raises(BaseExceptionGroup) as caught:
        check()
    assert calls == [1, 2, 3]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["the case: number = 1"],
        ["the case: number = 3"],
    ]
