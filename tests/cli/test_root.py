"""The command group: help, exit statuses, one line per failure; completion in shells."""

import asyncio
import re
import subprocess
import sys
from itertools import chain

import click
import pytest
from click.testing import CliRunner

import chatrest
from chatrest._cli.root import command_error, root
from chatrest._resources import OPERATIONS
from tests.support.cases import loop_over
from tests.support.commands import Run

from .conftest import error_line

COMMANDS = [
    "apps", "call", "cat", "changes", "completion", "demo", "doctor", "emulator", "export", "guide",
    "html", "import", "limits", "load", "messages", "seal", "send", "status", "token", "users", "verify",
    "view",
]  # fmt: skip


def test_the_help_has_a_section_for_each_use_with_every_command_once() -> None:
    text = CliRunner().invoke(root, ["--help"]).stdout
    sections = re.findall(
        r"^(?:Try it|Read and write|Export and import|Set up):\n((?:  .+\n)+)", text, re.MULTILINE
    )
    names = [re.findall(r"^  (\w+) ", lines, re.MULTILINE) for lines in sections]
    assert names[0] == ["demo", "emulator", "guide"]
    assert sorted(chain(*names)) == COMMANDS


@loop_over("name", COMMANDS)
def test_the_help_of_a_command_has_examples_and_all_options(name: str) -> None:
    result = CliRunner().invoke(root, [name, "-h"])
    assert result.exit_code == 0, result.output
    assert "Example" in result.stdout
    words = re.sub(r"--\[no-\]([\w-]+)", r"--\1 --no-\1", result.stdout).replace(",", " ").split()
    for param in root.commands[name].params:
        for option in param.opts + param.secondary_opts if isinstance(param, click.Option) else []:
            assert option in words


def test_each_option_of_an_export_is_one_line_in_its_section() -> None:
    text = CliRunner().invoke(root, ["export", "--help"], terminal_width=110).stdout
    titles = re.findall(r"^(\w.*):\n", text, re.MULTILINE)
    assert titles == [
        "Messages to read", "Files", "Later runs", "Large exports", "Many apps, object stores", "Options"
    ]  # fmt: skip
    lines = text.partition(f"{titles[0]}:\n")[2].splitlines()
    assert [line for line in lines if line.startswith("   ")] == []


def test_help_does_not_import_aiohttp_rich_or_obstore() -> None:
    code = (
        "import importlib, pkgutil, sys; from chatrest._cli.root import root\n"
        "for args in ['messages'], ['verify'], ['export'], ['call', 'messages.send'], ['demo']:\n"
        "    try: root.main([*args, '--help'])\n"
        "    except SystemExit: assert not {'aiohttp', 'rich'} & {*sys.modules}, args\n"
        "import chatrest.export, chatrest.importing\n"
        "for module in pkgutil.walk_packages(chatrest._cli.__path__, 'chatrest._cli.'):\n"
        "    importlib.import_module(module.name)\n"
        "assert not {'obstore', 'chatrest._cloud.store'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_version() -> None:
    assert chatrest.__version__ in CliRunner().invoke(root, ["--version"]).stdout


@loop_over(
    ("args", "words"),
    [
        (["nothing-of-the-kind"], "No such command 'nothing-of-the-kind' (see 'chatrest --help')"),
        (["exprt"], "No such command 'exprt' (did you mean 'export'?) (see 'chatrest --help')"),
        (["users.lst"], "No such command 'users.lst'"),
        (["exports"], "'chatrest guide exports' is a page of the guide"),
        (["--nothing"], "--nothing"),
        (["messages"], "Missing argument 'UID' (see 'chatrest messages --help')"),
        (
            ["messages", "bob", "--limit", "3x"],
            "--limit '3x': expected a whole number from 0 on (see",
        ),
        (["limits", "--requests", "0"], "--requests '0': expected a whole number from 1 to 100"),
        (["demo", "--users", "1001"], "--users '1001': expected a whole number from 2 to 1,000"),
        (["emulator", "--port", "x"], "--port 'x': expected a whole number from 0 to 65,535"),
        (["completion", "tcsh"], "SHELL 'tcsh': expected 'bash', 'zsh' or 'fish'"),
        (["export", "out", "--apps", "nofile"], "--apps 'nofile': expected a file that exists"),
        (
            ["html", "out", "s3://x/site"],
            "SITE 's3://x/site': expected a path of this machine",
        ),
        (["seal", "out", ""], "BAG '': expected a path of this machine"),
        (["users", "--role", ""], "--role '': expected a non-empty text"),
        (["guide", "exprts"], "PAGE 'exprts' (did you mean 'exports'?): expected 'backends', "),
        (["users", "--cursor", "abc"], "--cursor 'abc': expected a token of the same list (the cursor"),
        (["messages", "bob", "--api-key", "x"], "--api-key"),
        (["users", "--per-page", "1001"], "from 1 to 1000"),
        (["users", "-v"], "No such option '-v': it is given before the command, as in 'chatrest -v …'"),
        (["call", "users.list", "--app", "x"], "'--app': it is given before the command"),
        (["call", "--format", "csv", "users.list"], "'--format': options of an operation are after its name"),
    ],
)
def test_wrong_usage_is_one_error_line_with_status_2(command: Run, args: list[str], words: str) -> None:
    assert words in error_line(command(*args), 2)


def test_all_missing_variables_are_named_with_status_2(command: Run) -> None:
    empty = dict.fromkeys(("CHATREST_APP_ID", "CHATREST_API_KEY", "CHATREST_BASE_URL"))
    error = error_line(command("messages", "bob", **empty), 2)
    assert "CHATREST_APP_ID, CHATREST_API_KEY, CHATREST_SERVICE_DOMAIN (or CHATREST_BASE_URL)" in error
    result = command("users", CHATREST_APP_ID="")
    hint = "see 'chatrest --help'; 'chatrest emulator' is a service to try"
    assert error_line(result, 2) == f"the environment lacks CHATREST_APP_ID; {hint}"
    assert result.stdout == ""


@loop_over(
    ("error", "text", "status"),
    [
        (KeyboardInterrupt(), "interrupted", 130),
        (asyncio.CancelledError(), "ended by a signal", 143),
        (BrokenPipeError(), "", 0),
        (chatrest.RequestInvalidError("uid = ''"), "uid = ''", 2),
        (chatrest.NotFoundError("no such user"), "no such user", 1),
        (chatrest.RequestTimeoutError("too slow"), "too slow", 1),
        (FileNotFoundError(2, "No such file or directory", "x"), "x: No such file or directory", 1),
        (OSError("no more room"), "no more room", 1),
        (ExceptionGroup("", [ExceptionGroup("", [chatrest.ServerError("down")])]), "down", 1),
    ],
)
def test_each_error_has_its_message_and_status(error: BaseException, text: str, status: int) -> None:
    end = command_error(error)
    assert (end.message, end.exit_code) == (text, status)
    noted = KeyboardInterrupt()
    noted.add_note("continue with --cursor x")
    assert command_error(noted).message == "interrupted; continue with --cursor x"


def test_an_unexpected_exception_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(root.commands, "broken", broken)
    assert isinstance(CliRunner().invoke(root, ["broken"]).exception, ZeroDivisionError)


def offered(*words: str) -> list[str]:
    env = {
        "COMP_WORDS": " ".join(("chatrest", *words)), "COMP_CWORD": str(len(words)),
        "_CHATREST_COMPLETE": "bash_complete",
    }  # fmt: skip
    result = CliRunner().invoke(root, env=env, prog_name="chatrest")
    return [line.removeprefix("plain,") for line in result.stdout.splitlines() if line]


@loop_over("prefix", ["", "groups.", "messages.list_"])
def test_operations_are_completed(prefix: str) -> None:
    assert offered("call", prefix) == [name for name in OPERATIONS if name.startswith(prefix)]


def test_a_command_that_does_not_exist_is_no_error_of_the_completion() -> None:
    assert offered("nothing-of-the-kind", "user") == ["users"]
