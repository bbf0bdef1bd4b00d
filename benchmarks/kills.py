"""Let exports die at every single instant, where the test suite takes one of every few.

python -m benchmarks.kills                # all of them: some ten minutes of a processor
python -m benchmarks.kills -k power       # further arguments are those of pytest
"""

import sys

import pytest

TESTS = (
    "tests/export/run/test_run_crash.py",
    "tests/export/dataset/test_dataset_deaths.py",
    "tests/export/run/test_run_recheck.py",
    "tests/export/remote",
)


class EveryInstant:
    """A plugin of pytest; what it needs is imported when pytest has begun, as its plugins are then."""

    def pytest_collection_finish(self) -> None:
        """Let the tests try each instant."""
        from tests.support import simulated_crashes

        simulated_crashes.every = True


def main(arguments: list[str]) -> int:
    """Run the tests of deaths; return the status of pytest."""
    return pytest.main([*TESTS, *arguments], plugins=[EveryInstant()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
