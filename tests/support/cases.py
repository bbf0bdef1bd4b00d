"""Many cheap cases of one test.

`pytest.mark.parametrize` makes a test of each case. That costs about 3 ms, for setup, teardown, reports, and
the collection in every worker: more than the case itself where it only builds a value. `loop_over` takes the
same two arguments, and runs all cases within one test. `CASE=TEXT pytest …` runs only those with that text.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

import pytest

TOO_DEEP: Final = 12_000
"""Levels of nested JSON that no supported Python reads: 3.11 and 3.12 read 1,000 or so, 3.13 some 10,000."""


def loop_over(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test for each of `cases`, which give values to the arguments with these `names`.

    All have the same fixtures. All run, whichever fails: the error holds that of each case that fails, with a
    note of its values.
    """
    arguments = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    rows = [dict(zip(arguments, case if len(arguments) > 1 else (case,), strict=True)) for case in cases]
    assert rows, f"no cases of {', '.join(arguments)}"
    if text := os.environ.get("CASE"):
        rows = [row for row in rows if text in described(row)] or rows

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(test)
        def run_all(**fixtures: Any) -> None:
            failures = Failures(len(rows))
            for row in rows:
                with failures.collected(row):
                    test(**fixtures, **row)
            failures.check()

        @wraps(test)
        async def run_all_async(**fixtures: Any) -> None:
            failures = Failures(len(rows))
            for row in rows:
                with failures.collected(row):
                    await test(**fixtures, **row)
            failures.check()

        looped = run_all_async if inspect.iscoroutinefunction(test) else run_all
        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in arguments]
        assert len(fixtures) + len(arguments) == len(signature.parameters)
        looped.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return looped

    return decorate


def described(row: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in row.items())


class Failures:
    def __init__(self, cases: int) -> None:
        self._cases = cases
        self._errors: list[BaseException] = []

    @contextmanager
    def collected(self, row: dict[str, Any]) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"the case: {described(row)}")
            self._errors.append(error)

    def check(self) -> None:
        """Raise a single error unchanged, and several as a group."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise BaseExceptionGroup(f"{len(self._errors)} of {self._cases} cases fail", self._errors)
