"""`messages --jobs N`: the same lines in the same order, from many positions at once, and how to continue."""

import re
from collections.abc import Callable

import pytest
from click.testing import Result

from .conftest import EmulatorThread, Proxy, error_line

Run = Callable[..., Result]
MakeProxy = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Proxy]

TALK = ("messages", "user-02", "--on-behalf-of", "user-01", "--page-limit", "5")
FAILED = b'{"error": {"code": "ERR_PERMISSION_DENIED", "message": "Not any more."}}'


@pytest.mark.parametrize("affix", ["append", "prepend"])
@pytest.mark.parametrize("limit", [(), ("--limit", "17")])
def test_the_lines_are_the_same(command: Run, affix: str, limit: tuple[str, ...]) -> None:
    plain = command(*TALK, "--affix", affix, *limit)
    assert plain.stdout_bytes
    jobs = command(*TALK, "--affix", affix, *limit, "--jobs", "8")
    assert (jobs.exit_code, jobs.stdout_bytes, jobs.stderr) == (0, plain.stdout_bytes, "")


def test_what_failed_is_gone_on_with(command: Run, proxy: MakeProxy) -> None:
    with proxy(lambda number, _: (403, FAILED) if number > 5 else None) as url:
        first = command(*TALK, "--affix", "append", "--jobs", "8", CHATREST_BASE_URL=url)
    assert first.exit_code != 0
    [token] = re.findall(r"--cursor (\S+)", first.stderr)
    rest = command(*TALK, "--affix", "append", "--jobs", "8", "--cursor", token)
    plain = command(*TALK, "--affix", "append")
    assert first.stdout_bytes + rest.stdout_bytes == plain.stdout_bytes


def test_a_list_that_cannot_be_entered_is_printed_all_the_same(command: Run, service: EmulatorThread) -> None:
    result = command(*TALK, "--count", "--jobs", "8")
    assert result.exit_code == 0
    assert "were read from one position, not 8: the service orders it" in result.stderr


def test_jobs_and_follow_do_not_go_together(command: Run) -> None:
    result = command(*TALK, "--jobs", "8", "--follow")
    assert result.exit_code == 2
    assert "--jobs cannot be used with --follow" in result.stderr


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_jobs_are_a_number_from_1(command: Run, jobs: str) -> None:
    assert "--jobs" in error_line(command(*TALK, "--jobs", jobs), status=2)
