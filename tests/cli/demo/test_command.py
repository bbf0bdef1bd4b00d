"""`chatrest demo`, from the emulator's start to the last line."""

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import chatrest
from chatrest.cli.demo import command, service
from chatrest.cli.root import root

SMALL = ("demo", "--users", "5", "--messages", "300")


@pytest.fixture(autouse=True)
def called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/of/a/venv/bin/chatrest"])


def demo(out: Path, *args: str) -> Result:
    result = CliRunner().invoke(root, [*SMALL, "--out", str(out), *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def ids(out: Path) -> list[int]:
    lines = [line for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


def test_it_tells_what_it_did_and_running_it_again_replaces_it(tmp_path: Path) -> None:
    out = tmp_path / "chat-export"
    first = demo(out)
    assert (first.exit_code, first.stderr) == (0, "")
    for words in ("300 messages among 5 users", "a conversation", "MB", "requests in", "messages/s"):
        assert words in first.stdout
    assert "300 messages, as many as the service holds" in first.stdout
    commands = re.findall(r"^  .*/bin/chatrest (\S+)", first.stdout, re.MULTILINE)
    assert commands == ["verify", "emulator", "export", "messages"]
    assert "\x1b" not in first.stdout
    assert ids(out) == list(range(1, 301))
    assert (out / "user-user-04.ndjson").exists()
    again = demo(out, "--seed", "1", "--users", "3")
    assert again.exit_code == 0
    assert ids(out) == list(range(1, 301))
    assert not (out / "user-user-04.ndjson").exists()


def test_somebody_elses_directory_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "emulated", None)
    (tmp_path / "mine.txt").write_text("")
    result = demo(tmp_path)
    assert result.exit_code == 2
    assert "is not touched" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_emulator_that_does_not_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    result = demo(tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr == "chatrest: the emulator did not start: it said nothing\n"


async def test_the_emulator_is_gone_afterwards() -> None:
    async with (
        service.emulated(users=2, messages=3, seed=0) as app,
        chatrest.AsyncSession(app) as session,
    ):
        assert len(await session.messages.list().collect()) == 3
    async with chatrest.AsyncSession(app, retry=chatrest.RetryPolicy(attempts=1)) as session:
        with pytest.raises(chatrest.ConnectError):
            await session.users.list().collect()


def test_an_export_that_is_not_whole_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatrest.cli.demo import stages

    whole = stages.everything

    async def leaky(session: object, folder: Path, *args: object) -> object:
        found = await whole(session, folder, *args)
        (folder / "user-user-01.ndjson").unlink()
        return found

    monkeypatch.setattr(stages, "everything", leaky)
    result = demo(tmp_path / "out")
    assert result.exit_code == 1
    assert "the export is not whole: " in result.stderr
    assert len(result.stderr.splitlines()) == 1
