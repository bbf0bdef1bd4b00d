"""`call NAME --each FILE`: an operation for each line, outcomes in the order of the lines, and going on."""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from chatrest import RequestInvalidError
from chatrest._cli.call.arguments import call_of
from chatrest._cli.call.each import input_lines
from chatrest._core.requests.endpoint import Call
from chatrest._resources import OPERATIONS
from tests.cases import loop_over
from tests.commands import MakeProxy, Run, Start

from ..conftest import SECRETS, error_line

UIDS = [f"user-00{number}" for number in range(1, 7)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_text("\n".join(UIDS) + "\n")
    return path


def outcomes(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_an_operation_is_called_for_each_line_in_their_order(command: Run, file: Path) -> None:
    result = command("call", "users.get", "--each", str(file), "--jobs", "4")
    assert result.exit_code == 0, result.stderr
    assert [(row["line"], row["ok"], row["value"]["uid"]) for row in outcomes(result)] == [
        (number, True, uid) for number, uid in enumerate(UIDS, 1)
    ]


def test_a_value_is_the_record_as_it_is_served(command: Run, file: Path) -> None:
    file.write_text(UIDS[0])
    single = command("call", "users.get", f"uid={UIDS[0]}").stdout_bytes
    result = command("call", "users.get", "--each", str(file))
    assert result.stdout_bytes == b'{"line":1,"ok":true,"value":%b}\n' % single.rstrip(b"\n")


def test_lines_are_objects_texts_or_empty(command: Run, file: Path) -> None:
    lines = ['{"uid": "user-002", "limit": 2}', "", '"user-003"', "  user-004  ", '{"uid": "user-005"}']
    file.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    args = ("call", "messages.list_user", "affix=append", "--limit", "3", "--each", str(file))
    rows = outcomes(command(*args))
    assert [row["line"] for row in rows] == [1, 3, 4, 5]
    assert all(len(row["value"]) == 3 for row in rows)
    single = command(*args[:3], "uid=user-004", "--limit", "3")
    assert rows[2]["value"] == [json.loads(line) for line in single.stdout.splitlines()]


def test_a_line_that_fails_is_an_outcome_and_the_others_go_on(command: Run, file: Path) -> None:
    file.write_text('user-001\nnobody\n{"uid": \n{"oops": 1}\nuser-002\n')
    result = command("call", "users.get", "--each", str(file))
    assert error_line(result) == "users.get: 3 of 5 lines failed"
    rows = outcomes(result)
    assert [row["ok"] for row in rows] == [True, False, False, False, True]
    assert [row["code"] for row in rows[1:4]] == ["ERR_UID_NOT_FOUND", *["RequestInvalidError"] * 2]
    assert "the line is not JSON" in rows[2]["error"]
    assert "no parameter 'oops'" in rows[3]["error"]


def test_a_reply_that_reports_a_failure_has_its_value_too(command: Run, file: Path) -> None:
    file.write_text('{"guid": "group-01", "admins": ["nobody"]}')
    result = command("call", "members.add", "--each", str(file))
    assert "1 of 1 lines failed" in error_line(result)
    [row] = outcomes(result)
    assert row["ok"] is False
    assert row["code"] == "ApiError"
    assert row["value"]["nobody"]["success"] is False


def test_input_is_read_as_it_comes_and_an_interrupt_ends_the_command_though_it_has_not_ended(
    process: Start, tmp_path: Path
) -> None:
    journal = str(tmp_path / "journal")
    running = process("call", "users.get", "--each", "-", "--jobs", "1", "--journal", journal)
    assert running.stdin is not None
    assert running.stdout is not None
    for uid in UIDS[:3]:
        running.stdin.write(f"{uid}\n".encode())
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["value"]["uid"] == uid
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    assert running.stderr is not None
    assert running.stderr.read() == b"chatrest: interrupted; run the same command again to go on\n"


async def test_the_last_line_of_a_pipe_needs_no_line_break(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"first\nlast",))
    writer.start()
    assert [line async for line in input_lines(str(pipe))] == [b"first\n", b"last"]
    writer.join()


def test_a_large_file_is_read_as_far_as_it_is_asked_for(file: Path) -> None:
    lines = [b"%d\n" % number for number in range(5_000)]
    file.write_bytes(b"".join(lines))

    async def read() -> list[bytes]:
        return [line async for line in input_lines(str(file))]

    async def read_one() -> bytes:
        return await anext(input_lines(str(file)))

    assert asyncio.run(read()) == lines
    assert asyncio.run(read_one()) == b"0\n"


# ── the journal ──


@pytest.mark.nightly
def test_a_killed_command_goes_on(process: Start, command: Run, file: Path, tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    args = ("call", "users.get", "--each", "-", "--jobs", "1", "--journal", journal)
    running = process(*args)
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"user-001\nuser-002\nuser-003\n")
    running.stdin.flush()
    first = [json.loads(running.stdout.readline()) for _ in range(3)]
    running.kill()
    running.wait()
    assert [row["line"] for row in first] == [1, 2, 3]
    # That of the third line may have been written out without being noted.
    rest = outcomes(command(*args[:3], str(file), *args[4:]))
    assert [row["line"] for row in rest] in ([3, 4, 5, 6], [4, 5, 6])
    again = command(*args[:3], str(file), *args[4:])
    assert (again.exit_code, again.stdout) == (0, "")


def test_lines_that_failed_are_called_again_if_asked_for(
    command: Run, proxy: MakeProxy, file: Path, tmp_path: Path
) -> None:
    args = ("call", "users.get", "--each", str(file), "--journal", str(tmp_path / "journal"))
    failure = b'{"error": {"code": "ERR_PERMISSION_DENIED", "message": "Not now."}}'

    refused: list[str] = []

    def answer(number: int, path: str) -> tuple[int, bytes] | None:
        if not path.endswith(("2", "5")) or len(refused) == 2:
            return None
        refused.append(path)
        return 403, failure

    with proxy(answer) as url:
        first = command(*args, CHATREST_BASE_URL=url)
        assert "2 of 6 lines failed" in error_line(first)
        second = command(*args, CHATREST_BASE_URL=url)
        assert second.stdout == ""
        assert error_line(second) == "users.get: 2 of 6 lines failed (2 of them in earlier runs)"
        third = command(*args, "--retry-failed", CHATREST_BASE_URL=url)
    assert [(row["line"], row["ok"]) for row in outcomes(third)] == [(2, True), (5, True)]
    assert third.exit_code == 0


def test_equal_lines_are_different_ones(command: Run, file: Path, tmp_path: Path) -> None:
    args = ("call", "users.get", "--each", str(file), "--journal", str(tmp_path / "journal"))
    file.write_text("user-001\n")
    assert len(outcomes(command(*args))) == 1
    file.write_text("user-002\nuser-001\nuser-001\n")
    assert [row["line"] for row in outcomes(command(*args))] == [1, 3]


@pytest.mark.parametrize("other", [("users.get",), ("messages.list_user", "affix=append")])
def test_the_journal_of_another_job_is_refused(
    command: Run, file: Path, tmp_path: Path, other: tuple[str, ...]
) -> None:
    each = ("--each", str(file), "--journal", str(tmp_path / "journal"))
    command("call", "messages.list_user", *each)
    line = error_line(command("call", *other, *each), 2)
    assert "belongs to the job 'chatrest call messages.list_user (" in line


# ── wrong use ──


@loop_over(
    ("args", "text"),
    [
        (("--jobs", "3"), "--jobs needs --each FILE"),
        (("--journal", "x"), "--journal needs --each FILE"),
        (("--each", "x", "--retry-failed"), "--retry-failed needs --journal PATH"),
        (("--each", "-", "fields=@-"), "standard input is read for --each - and for @-"),
        (("--each", "x", "--cursor", "y"), "--cursor is of one list"),
    ],
)
def test_wrong_options_are_a_usage_error(command: Run, args: tuple[str, ...], text: str) -> None:
    result = command("call", "messages.list_user", *args)
    assert text in error_line(result, 2)


def test_no_outcome_shows_a_key(command: Run, proxy: MakeProxy, file: Path) -> None:
    body = json.dumps({"error": {"code": "ERR_X", "message": f"apikey {SECRETS[0]}\n is wrong"}}).encode()
    with proxy(lambda *_: (403, body)) as url:
        result = command("call", "users.get", "--each", str(file), CHATREST_BASE_URL=url)
    assert SECRETS[0] not in result.output
    assert {row["code"] for row in outcomes(result)} == {"ERR_X"}


# ── the values of a line ──


def called(operation: str, line: str, *given: str) -> Call[Any]:
    return call_of(OPERATIONS[operation], given, str, line=line)


def test_no_value_of_a_line_reads_a_file() -> None:
    for line in ("@secrets", '{"uid": "@secrets"}', '"@secrets"'):
        assert called("users.get", line).path == "/users/%40secrets"


def test_json_values_are_those_of_the_parameters_and_replace_those_of_all_lines() -> None:
    line = '{"receiver": "bob", "data": {"text": "é @"}, "tags": ["a,b", "c"], "muid": "7"}'
    body = called("messages.send", line, "receiver=ann", "type=text").body
    assert (body.receiver, body.data, body.tags, body.muid) == ("bob", {"text": "é @"}, ("a,b", "c"), "7")
    assert called("messages.get", '{"id": 12}').path == "/messages/12"
    assert (
        called("metrics.get_usage", '{"from_date": "1970-01-02", "to_date": 1900000000000}').query.from_date
        == 86_400_000
    )


def test_a_single_value_is_that_of_the_parameter_that_is_left() -> None:
    assert called("members.kick", "bob", "guid=team").path == "/groups/team/members/bob"
    with pytest.raises(RequestInvalidError, match="here guid, uid"):
        called("members.kick", "bob")
    with pytest.raises(RequestInvalidError, match="here none"):
        called("users.get", "bob", "uid=alice")


def test_a_null_that_is_not_sent_is_refused() -> None:
    with pytest.raises(RequestInvalidError, match="uid = None: leave it out"):
        called("users.get", '{"uid": null}')
