"""`call`: what it prints, how it continues, and how it fails; the lists of all collections, and `--list`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatrest._cli.call.operation_arguments import Parameters
from chatrest._cli.root import root
from chatrest._core.replies.decode import ACK, JSON, bare, each
from chatrest._core.requests.endpoint import Endpoint
from chatrest._models.messages import AddedMember
from chatrest._models.outcomes import Outcomes
from chatrest._models.users import User
from chatrest._resources import OPERATIONS
from tests.support.cases import loop_over
from tests.support.commands import MakeProxy, Run

from ..conftest import EmulatorThread, error_line, rows

HELLO = ("call", "messages.send", "receiver=user-002", "type=text", 'data={"text": "hé ☃"}')
FAILURE = b'{"error": {"code": "ERR_PERMISSION_DENIED", "message": "Not any more."}}'


def test_a_continued_list_has_the_remaining_items_and_csv_no_second_header(
    command: Run, proxy: MakeProxy
) -> None:
    args = ("messages", "user-001", "--page-limit", "10", "--format", "csv", "--limit", "25")
    with proxy(lambda number, _: (403, FAILURE) if number == 3 else None) as url:
        first = command(*args, CHATREST_BASE_URL=url)
    [limit, token] = re.findall(r"and --limit (\d+) --cursor (\S+)$", error_line(first))[0]
    assert limit == "5"
    rest = command(*args, "--limit", limit, "--cursor", token)
    assert first.stdout_bytes + rest.stdout_bytes == command(*args).stdout_bytes


def test_outcomes_are_printed_and_one_that_failed_is_a_failure(command: Run) -> None:
    [removal] = rows(command("call", "members.kick", "guid=group-01", "uid=user-005"))
    assert removal["success"] is True
    [outcomes] = rows(command("call", "members.add", "guid=group-01", "participants=user-005"))
    assert outcomes["user-005"]["success"] is True
    result = command("call", "members.add", "guid=group-01", "admins=user-005", 'moderators=["nobody"]')
    assert "2 of 2 items failed" in error_line(result)
    assert {key: outcome["error"]["code"] for key, outcome in json.loads(result.stdout).items()} == {
        "user-005": "ERR_ALREADY_JOINED",
        "nobody": "ERR_UID_NOT_FOUND",
    }


def test_an_acknowledgement_without_success_is_printed_and_is_a_failure(
    command: Run, proxy: MakeProxy
) -> None:
    with proxy(lambda *_: (200, b'{"data": {"success": false, "message": "Not today."}}')) as url:
        result = command("call", "members.kick", "guid=group-01", "uid=user-005", CHATREST_BASE_URL=url)
    assert json.loads(result.stdout) == {"success": False, "message": "Not today."}
    assert "members.kick: the service says that it did not succeed" in error_line(result)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Endpoint[Any]]:
    endpoints = dict(OPERATIONS)
    monkeypatch.setattr("chatrest._resources.OPERATIONS", endpoints)
    return endpoints


@pytest.mark.parametrize(
    ("envelope", "body", "output"),
    [
        (JSON, b'{"data": [1, {"a": null}]}', '{"data":[1,{"a":null}]}\n'),
        (JSON, b"", "null\n"),
        (bare(User), b'{"uid": "a",\n "novel": 1.50}', '{"uid": "a",  "novel": 1.50}\n'),
        (
            each(AddedMember),
            b'{"data": {"a": {"success": true, "novel": 1}}}',
            '{"a":{"success":true,"novel":1}}\n',
        ),
        (ACK, b'{"success": true, "message": "ok"}', '{"success":true,"message":"ok"}\n'),
        (lambda body: Outcomes({"a": AddedMember(True)}, body), b"{}", '{"a":{"success":true}}\n'),
    ],
    ids=["JSON", "nothing", "bare", "each", "acknowledgement", "outcomes of another form"],
)
def test_any_operation_of_the_table_can_be_called(
    table: dict[str, Endpoint[Any]], command: Run, proxy: MakeProxy, envelope: Any, body: bytes, output: str
) -> None:
    table["things.make"] = Endpoint("things.make", "POST", "/things/{thingId}", envelope, "never")
    paths: list[str] = []

    def answer(_: int, path: str) -> tuple[int, bytes]:
        paths.append(path)
        return 200, body

    with proxy(answer) as url:
        result = command("call", "things.make", "thing_id=a b", "body=[1]", CHATREST_BASE_URL=url)
    assert (result.exit_code, result.stdout) == (0, output)
    assert paths == ["/v3/things/a%20b"]


def test_values_from_files_and_from_standard_input(service: EmulatorThread, tmp_path: Path) -> None:
    file = tmp_path / "receiver"
    file.write_bytes(b"\xef\xbb\xbfuser-002\r\n")
    args = ["call", "messages.send", f"receiver=@{file}", "type=text", "data=@-"]
    result = CliRunner().invoke(root, args, input='{"text": "from a pipe"}', env=service.env)
    [record] = rows(result)
    assert (record["receiver"], record["data"]["text"]) == ("user-002", "from a pipe")


def test_a_file_that_cannot_be_read(command: Run, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff")
    missing = command("call", "messages.send", f"body=@{tmp_path / 'none'}")
    assert error_line(missing, 2) == f"{tmp_path / 'none'}: there is no such file or folder"
    assert "expected a file in UTF-8" in error_line(
        command("call", "messages.send", f"body=@{tmp_path / 'binary'}"), 2
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["users.lst"], "No such operation 'users.lst' (did you mean 'users.list'?); 'chatrest call --list'"),
        (
            ["members.add", "gid=a"],
            "members.add: no parameter 'gid' (did you mean 'guid'?); missing guid; see ",
        ),
        (
            ["users.list", "on_behalf_of=a"],
            "users.list: no parameter 'on_behalf_of'; expected 'per_page', ",
        ),
        (["messages.list", "from_timestamp=2026-13-01"], "from_timestamp = '2026-13-01': expected a"),
        (["messages.send", "body=[1]"], "body = [1]: expected a JSON object"),
        (["messages.send", 'body={"typ": 1}'], "no member 'typ' in the body (did you mean 'type'?)"),
        (["messages.send", 'body={"type": "text"}'], "messages.send: missing data"),
        (["messages.send", "receiver=b", "type=text", "data={x"], "data = '{x': it is not JSON"),
        (["users.list", "search_key=\udcff"], "search_key = '\\udcff'"),
        (["members.kick", "--limit", "1"], "No such option '--limit'"),
    ],
)
def test_a_wrong_command_prints_one_line_and_sends_nothing(
    command: Run, proxy: MakeProxy, args: list[str], words: str
) -> None:
    paths: list[str] = []
    with proxy(lambda _, path: paths.append(path)) as url:
        result = command("call", *args, CHATREST_BASE_URL=url)
    assert words in error_line(result, 2)
    assert (result.stdout, paths) == ("", [])


@loop_over("name", list(OPERATIONS)[::8])
def test_the_help_of_an_operation_names_its_parameters(name: str) -> None:
    result = CliRunner().invoke(root, ["call", name, "--help"])
    assert result.exit_code == 0
    assert f"{OPERATIONS[name].method} {OPERATIONS[name].path}" in result.stdout
    for parameter in Parameters(OPERATIONS[name]).all:
        _, _, words = result.stdout.partition(f"\n  {parameter.name}=")
        assert ("[required]" in words.partition("=")[0]) is parameter.is_required


@loop_over(
    ("name", "words"),
    [
        ("messages.send", "It is sent once"),
        ("messages.send", "Send message as the acting user, and return it as the service stored it. POST"),
        ("groups.delete", "Delete a group. DELETE /groups/{guid}"),
        ("users.list", "one JSON line per record"),
        ("users.list", "records of a page; a whole number from 1 to 1000 (--limit is the number of all"),
        ("members.list", "status=available|offline"),
        ("members.add", "the outcome of each item"),
        ("members.kick", "the acknowledgement"),
        ("members.change_scope", "scope=admin|moderator|participant [required]"),
        ("apps.list", "CHATREST_MANAGEMENT_SECRET"),
        ("moderation.create_keyword_list", "file=@FILE @ and the path of a file"),
    ],
)
def test_the_help_describes_the_operation(name: str, words: str) -> None:
    text = CliRunner().invoke(root, ["call", name, "-h"]).stdout
    assert words in " ".join(text.split())


def test_the_list_has_every_operation_with_its_help(command: Run) -> None:
    lines = command("call", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(OPERATIONS)
    [line] = [line for line in lines if line.startswith("banned_users.unban ")]
    assert line.endswith("  End the ban of a user.  DELETE /groups/{guid}/bannedusers/{uid}")
