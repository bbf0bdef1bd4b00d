"""`doctor` and `limits` by their output."""

import json
from typing import Any

from chatrest._cli.doctor_checks import NAMES
from tests.commands import MakeProxy, Run

from .conftest import error_line


def test_a_person_gets_a_line_each(command: Run) -> None:
    lines = command("doctor").stdout.splitlines()
    assert tuple(line.split()[1] for line in lines) == NAMES
    result = command("doctor", CHATREST_API_KEY="wr0ng-k3y")
    [line] = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert line.startswith("FAILED   key         refused: ")
    assert " → copy the REST API key" in line
    assert error_line(result) == "1 of 10 checks failed: key"
    assert "wr0ng" not in result.output


# ── limits ──


def test_limits_that_no_reply_states(command: Run) -> None:
    lines = command("limits", "--requests", "3").stdout.splitlines()
    assert lines[:4] == [
        "app        emulated, region us",
        "requests   3, 0 answered 429",
        "stated     none",
        "standard   no limit known",
    ]
    assert "standard 333.3 a second (20,000 a minute)" in lines[4]


def test_limits_as_json(command: Run) -> None:
    summary: dict[str, Any] = json.loads(command("limits", "--json").stdout)
    [known] = summary["limits"]
    assert (known["rate_class"], known["source"], known["limit"]) == ("standard", "none", None)
    assert (summary["requests"], summary["limited"], summary["stated"]) == (1, 0, None)


def test_the_first_429_is_the_last_request(command: Run, proxy: MakeProxy) -> None:
    def answer(number: int, _: str) -> tuple[int, bytes] | None:
        return None if number < 4 else (429, b'{"error":{"code":"ERR_TOO_MANY_REQUESTS","message":"Slow."}}')

    with proxy(answer) as url:
        lines = command("limits", "--requests", "50", CHATREST_BASE_URL=url).stdout.splitlines()
    assert lines[1] == "requests   4, 1 answered 429"
    assert "the next request may go in " in lines[3]


def test_limits_of_a_wrong_key_are_an_error(command: Run) -> None:
    assert "401" in error_line(command("limits", CHATREST_API_KEY="wr0ng-k3y"))
