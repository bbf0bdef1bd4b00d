"""Lint, types, and the code of the README and the guide, as tests: one `pytest` is the whole gate."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from chatrest import AsyncSession, CursorError, NotFoundError
from chatrest.emulator import Emulator
from tests.support.cases import loop_over
from tests.support.pages import README, ROOT, blocks

PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["packages"]
BLOCKS = blocks("python")


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_the_tree_is_clean(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "ruff", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tree_the_typing_examples_and_the_guides_python_are_typed(tmp_path: Path) -> None:
    """One run of mypy for all: most of its time is for the tree, which the others import.

    The typing examples and the guide check the types that a user sees, so the marker has to be there.
    """
    assert (ROOT / "chatrest" / "py.typed").exists()
    checked = [*PACKAGES, "tests/typing_examples.py"]
    for number, (_, block) in enumerate(BLOCKS):
        file = tmp_path / f"guide_block_{number}.py"
        file.write_text(block, encoding="utf-8")
        checked.append(str(file))
    done = subprocess.run([sys.executable, "-m", "mypy", *checked], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@loop_over("heading", ["Try it", "Test it"])
def test_the_readme_has_one_command_under(heading: str) -> None:
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE)
    [block] = re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert len(block.strip().splitlines()) == 1


FAKE_PYTHON = """#!/bin/sh
case "$1" in
    -c) case "$2" in *"!= '3.12'"*) exit 0;; esac; exit 1;;
esac
mkdir -p "$3/bin"
for name in pip pytest mkdocs; do
    printf '#!/bin/sh\necho "%s $*"\n' "$name" > "$3/bin/$name"
    chmod +x "$3/bin/$name"
done
"""
BROKEN_SHIM = "#!/bin/sh\nexit 127\n"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_the_gate_tests_the_other_claimed_pythons_that_it_finds(tmp_path: Path) -> None:
    """A Python of pyenv is found, a shim without its Python is not one, and what is not there is skipped."""
    checkout, tools, home = (tmp_path / name for name in ("checkout", "tools", "home"))
    program(checkout / ".ci" / "run", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    (checkout / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    command = "sh ../own -m venv .venv && cp ../own .venv/bin/python && echo the suite"
    (checkout / "README.md").write_text(f"## Test it\n\n```sh\n{command}\n```\n")
    program(tmp_path / "own", FAKE_PYTHON.replace("3.12", "3.11"))
    program(home / ".pyenv" / "versions" / "3.12.9" / "bin" / "python", FAKE_PYTHON)
    tools.mkdir()
    for name in ("awk", "bash", "chmod", "cp", "dirname", "mkdir", "rm", "sed", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    program(tools / "python3.13", BROKEN_SHIM)
    done = subprocess.run(
        [str(checkout / ".ci" / "run")], env={"HOME": str(home), "PATH": str(tools)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("+ ")]
    assert lines[:6] == [
        "the suite",
        "pip install --quiet --editable .[docs]",
        "mkdocs build --quiet --strict -f chatrest/guide/mkdocs.yml",
        "pytest -n auto -m nightly",
        "pytest -n auto --hypothesis-profile=nightly tests/core/paging tests/walk",
        "pip install --quiet --editable .[test]",
    ]
    assert lines[6].startswith("pytest -n auto tests/core ")
    assert lines[7:] == ["skipped: this machine has no Python 3.13"]
    quick = lines[6].removeprefix("pytest -n auto ").split()
    assert [path for path in quick if not (ROOT / path).exists()] == []


def test_the_tests_in_the_guide_pass(tmp_path: Path) -> None:
    texts = blocks("py")
    assert texts
    for number, (_, block) in enumerate(texts):
        (tmp_path / f"test_block_{number}.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=strict", "-W", "error"]
    plugins = ("-p", "pytest_asyncio.plugin", "-p", "chatrest.pytest_plugin")  # others take a second to load
    done = subprocess.run(
        [*command, *plugins, "-o", "asyncio_default_fixture_loop_scope=function"],
        cwd=tmp_path, env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def set_variables(monkeypatch: pytest.MonkeyPatch, emulator: Emulator) -> None:
    monkeypatch.setenv("CHATREST_APP_ID", emulator.app.app_id)
    monkeypatch.setenv("CHATREST_API_KEY", emulator.app.api_key)
    monkeypatch.setenv("CHATREST_BASE_URL", emulator.base_url)


async def test_the_readmes_page_for_a_browser_continues_with_its_token() -> None:
    [block] = [block for path, block in BLOCKS if path == "README.md" and "read_page" in block]
    names: dict[str, Any] = {}
    exec(block, names)
    async with Emulator(users=2, messages=100) as emulator, AsyncSession(emulator.app) as session:
        first = await names["read_page"](session, "user-001", "user-002")
        second = await names["read_page"](session, "user-001", "user-002", first["next"])
        assert len(first["messages"]) == 20
        assert int(second["messages"][0]["id"]) < int(first["messages"][-1]["id"])
        with pytest.raises(CursorError):
            await names["read_page"](session, "user-001", "user-002", "x")
        with pytest.raises(NotFoundError):
            await names["read_page"](session, "user-001", "nobody")


async def test_the_guides_paging_endpoint_goes_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "chatrest/guide/backends.md"
    [block] = [block for each, block in BLOCKS if each == path and "first_query" in block]
    names: dict[str, Any] = {"__name__": "backend"}
    exec(block, names)
    async with Emulator(users=2, messages=100) as emulator:
        set_variables(monkeypatch, emulator)
        async with TestClient(TestServer(names["app"]), headers={"X-User": "user-001"}) as client:

            async def ids(**query: str) -> list[int]:
                served = await client.get("/conversations/user-002/messages", params=query)
                assert served.status == 200, await served.text()
                return [int(message["id"]) for message in (await served.json())["messages"]]

            newest = await ids()
            older = await ids(older=str(newest[0]))
            assert len(newest) == len(older) == 20
            assert older + newest == sorted(older + newest)
            assert await ids(newer=str(older[-1])) == newest
            assert await ids(newer=str(newest[-1])) == []
            first = await ids(**{"from": "1971-01-01"})
            assert first == sorted(first)
            assert await ids(older=str(first[0])) == []
            unread = await ids(unread="1")
            assert unread == sorted(unread)
            assert unread[0] > first[0]
            assert (await client.get("/conversations/user-002/messages?from=x")).status == 400
            assert (await client.get("/conversations/nobody/messages")).status == 404


@pytest.mark.usefixtures("fast_ramp")
def test_the_guides_python_runs() -> None:
    assert len(BLOCKS) > 10
    for number, (path, block) in enumerate(BLOCKS):
        exec(compile(block, f"<block {number}, in {path}>", "exec"), {"__name__": "__main__"})


def test_the_readme_is_a_page() -> None:
    assert len(README.splitlines()) <= 190
    assert len(README) <= 9_500
