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
