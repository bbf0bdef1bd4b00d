"""`import`: a summary, a line for each refused one, and the same command that continues."""

import json
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chatrest._cli import importing
from chatrest._cli.root import root
from chatrest.emulator import HalfOpen
from chatrest.importing import KINDS
from tests.support.commands import PATIENCE, MakeProxy, Run, Start

from .conftest import EmulatorThread, error_line

GOOD = {"uid": "zoe", "name": "Zoe"}


@pytest.fixture
def command(fresh: EmulatorThread) -> Run:
    def run(*args: object) -> Result:
        return CliRunner().invoke(root, ["import", *map(str, args)], env=fresh.env)

    return run


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.ndjson"
    path.write_text(f'{json.dumps(GOOD)}\n{{"uid": "yan"}}\n{json.dumps(GOOD | {"uid": "xi"})}\n')
    return path


def test_refused_lines_are_listed_and_the_status_is_1(
    command: Run, users: Path, fresh: EmulatorThread
) -> None:
    result = command(users)
    assert result.exit_code == 1
    assert result.stdout == "users.ndjson: 2 users are imported, 1 refused\n"
    assert result.stderr.splitlines() == [
        (
            "chatrest: users.ndjson:2: invalid: user: 'name' is missing: "
            "expected a non-empty text (valid Unicode)"
        ),
        "chatrest: 1 line was refused; 2 records are imported",
    ]
    assert fresh.ask(lambda emulator: sorted(emulator.store.people.uids())) == ["xi", "zoe"]
    assert command(users).stdout == result.stdout
    users.write_text('{"uid": "amy", "name": "Amy"}\n')
    single = command(users, "--journal", users.with_suffix(".journal"))
    assert single.stdout == "users.ndjson: 1 user is imported\n"


def test_the_result_as_json_is_one_object(command: Run, users: Path) -> None:
    result = command(users, "--json")
    members = json.loads(result.stdout)
    assert (members["ok"], members["imported"], members["dry_run"]) == (False, 2, False)
    [refused] = members["refused"]
    assert (refused["file"], refused["line"], refused["code"]) == ("users.ndjson", 2, "invalid")
    assert error_line(result) == "1 line was refused; 2 records are imported"


def test_unknown_members_of_shown_records_are_the_last_lines(command: Run, tmp_path: Path) -> None:
    path = tmp_path / "shown.ndjson"
    path.write_text(
        "".join(f"{json.dumps(GOOD | {'uid': uid, 'status': 'offline', 'jwt': 'j'})}\n" for uid in "ab")
    )
    lost = "the member 'jwt' of users"
    assert command(path).stdout == (f"shown.ndjson: 2 users are imported\nnot carried over:\n  2 {lost}\n")
    assert json.loads(command(path, "--json").stdout)["not_carried"] == [{"description": lost, "count": 2}]


def test_a_dry_run_needs_no_service(users: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(root, ["import", str(users), "--dry-run"])
    assert result.exit_code == 1
    assert result.stdout == "users.ndjson: 2 users can be imported, 1 refused\n"
    assert [path.name for path in tmp_path.iterdir()] == ["users.ndjson"]


@pytest.mark.usefixtures("called")
def test_a_failure_says_how_to_continue(users: Path, tmp_path: Path, fresh: EmulatorThread) -> None:
    arguments = ["import", str(users), "--journal", str(tmp_path / "j 1")]
    result = CliRunner().invoke(root, arguments, env={**fresh.env, "CHATREST_API_KEY": "wrong" * 5})
    line = error_line(result)
    assert line.startswith("data_import.import_users: 401")
    assert line.endswith(f"continue with: /of/a/venv/bin/chatrest import {users} --journal '{tmp_path}/j 1'")


def test_a_service_without_the_route_gets_no_advice_to_continue(
    users: Path, fresh: EmulatorThread, proxy: MakeProxy
) -> None:
    body = b'{"error":{"code":"ERR_ROUTE_NOT_FOUND","message":"No such route."}}'
    with proxy(lambda *_: (404, body)) as url:
        result = CliRunner().invoke(root, ["import", str(users)], env={**fresh.env, "CHATREST_BASE_URL": url})
    assert "404" in error_line(result)
    assert "continue" not in result.stderr


def test_an_interrupted_import_says_how_to_continue_and_does(
    process: Start, users: Path, fresh: EmulatorThread, command: Run
) -> None:
    fresh.ask(lambda emulator: emulator.weather.add(HalfOpen(processed=True)))
    started = process("import", str(users), **fresh.env)
    deadline = time.monotonic() + PATIENCE
    while not fresh.ask(lambda emulator: emulator.weather.struck["half_open"]):
        assert time.monotonic() < deadline
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=PATIENCE)
    assert started.returncode == 130
    assert errors.decode().startswith("chatrest: interrupted; continue with: ")
    fresh.ask(lambda emulator: emulator.weather.clear())
    assert command(users).stdout == "users.ndjson: 2 users are imported, 1 refused\n"


def test_wrong_usage_is_status_2(command: Run, tmp_path: Path) -> None:
    without_credentials = CliRunner().invoke(root, ["import", "nothing"], env={})
    words = "FILE 'nothing': expected a file that exists (see 'chatrest import --help')"
    assert error_line(without_credentials, 2) == words
    assert "is a folder: expected files of lines" in error_line(command(tmp_path), 2)
    assert importing.KINDS == KINDS
