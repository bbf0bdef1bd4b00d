"""Let exports die at every single instant, where the test suite takes one of every few.

python -m benchmarks.kills                # all of them: some ten minutes of a processor
python -m benchmarks.kills -k power       # further arguments are those of pytest
"""

import sys

import pytest

from tests import dying

TESTS = (
    "tests/export/test_crash.py",
    "tests/export/formats/test_sqlite_deaths.py",
    "tests/export/remote",
    "tests/distributed/test_coordinator.py",
)


def main(arguments: list[str]) -> int:
    """Run the tests of deaths; return the status of pytest."""
    dying.every = True
    return pytest.main([*TESTS, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
