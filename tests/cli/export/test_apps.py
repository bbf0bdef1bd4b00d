"""`export --apps`: its summary, its exit status, and how it continues."""

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Run, Start

from ..conftest import SECRETS, EmulatorThread, Proxy, error_line

pytestmark = pytest.mark.usefixtures("called")


@pytest.fixture(scope="module")
def game() -> Iterator[EmulatorThread]:
    with EmulatorThread(app_id="game", users=3, messages=20) as service:
        yield service


@pytest.fixture
def apps(tmp_path: Path, service: EmulatorThread, game: EmulatorThread) -> Path:
    """A file of two apps; the key of the second one is in the variable GAME_KEY."""
    path = tmp_path / "apps.toml"
    address, other = service.emulator.base_url, game.emulator.base_url
    path.write_text(
        f'[[app]]\nid = "{service.emulator.app.app_id}"\nkey_env = "CHATREST_API_KEY"\n'
        f'base_url = "{address}"\n[[app]]\nid = "game"\nkey_env = "GAME_KEY"\nbase_url = "{other}"\n'
    )
    return path


def test_a_wrong_key_of_one_app_is_status_1_and_the_other_is_complete(
    command: Run, apps: Path, out: Path, service: EmulatorThread
) -> None:
    name = service.emulator.app.app_id
    result = command(
        "export", str(out), "--apps", str(apps), "--everything", "--json",
        GAME_KEY="wr0ng-k3y-0f-th3-g4me",
    )  # fmt: skip
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert [(each["app"], each["complete"], each["status"]) for each in summary["apps"]] == [
        (name, True, 0),
        ("game", False, 1),
    ]
    assert not summary["complete"]
    assert (out / f"app={name}" / "manifest.json").exists()
    lines = result.stderr.splitlines()
    assert summary["messages"] == summary["written"] == summary["apps"][0]["messages"]
    assert lines[-1] == "chatrest: 1 of 2 apps are not complete: game"
    assert any(line.endswith("; set GAME_KEY to a valid key") for line in lines)
    assert "wr0ng" not in result.output
    assert SECRETS[0] not in result.output


def test_all_complete_is_status_0_and_a_folder_of_another_plan_is_status_2(
    command: Run, apps: Path, out: Path, service: EmulatorThread
) -> None:
    name, game = service.emulator.app.app_id, {"GAME_KEY": SECRETS[0]}
    quiet = command("export", str(out), "--apps", str(apps), "--everything", "--quiet", **game)
    assert (quiet.exit_code, quiet.output) == (0, "")
    first = command("export", str(out), "--apps", str(apps), **game)
    assert first.exit_code == 0
    assert f"chatrest: {name}: complete: " in first.stderr
    assert first.stdout.splitlines()[0] == f"export    {out}, 2 of 2 apps complete"
    assert first.stdout.splitlines()[1].startswith(f"{name:<10}complete: ")
    only = command("export", str(out), "--apps", str(apps), "--only", "--since", "2020-09-14", **game)
    assert only.exit_code == 0
    assert only.stdout.splitlines()[0] == f"export    {out}, a part of the plan of 2 apps"
    skipped = "  skipped the other sources of the plan: only everything, since=2020-09-14"
    assert only.stdout.splitlines().count(skipped) == 2
    second = command("export", str(out), "--apps", str(apps), "--format", "parquet", "--quiet", **game)
    assert second.exit_code == 2
    assert "2 of 2 apps are not complete" in second.stderr


def test_a_group_that_no_app_has_is_not_to_be_run_again(command: Run, apps: Path, out: Path) -> None:
    args = ["export", str(out), "--apps", str(apps), "--group", "nowhere", "--quiet"]
    result = command(*args, GAME_KEY=SECRETS[0])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("chatrest: 2 of 2 apps are not complete: ")
    assert "again" not in result.stderr


def test_wrong_usage_is_one_line_and_makes_no_folder(command: Run, apps: Path, out: Path) -> None:
    missing = error_line(command("export", str(out), "--apps", str(apps)), 2)
    assert missing == f"{apps}: the environment lacks GAME_KEY"
    dry = error_line(command("export", str(out), "--apps", str(apps), "--dry-run", GAME_KEY="k3y"), 2)
    assert "--dry-run estimates the export of one app" in dry
    assert not out.exists()


def test_an_interrupted_run_prints_the_command_to_continue(
    process: Start, tmp_path: Path, out: Path, service: EmulatorThread
) -> None:
    path = tmp_path / "apps.toml"
    asked = threading.Event()

    def answer(number: int, _: str) -> tuple[int, bytes] | None:
        asked.set()
        return (500, b"{}") if number > 1 else None

    with Proxy(service.emulator.port, answer) as address:
        path.write_text(f'[[app]]\nid = "game"\nkey_env = "CHATREST_API_KEY"\nbase_url = "{address}"\n')
        started = process("export", str(out), "--apps", str(path))
        assert asked.wait(120)
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=120)
    assert started.returncode == 130
    assert errors.decode().endswith(f"chatrest export {out} --apps {path}\n")
