"""The examples in docstrings run as those of the guide do, and the files that docstrings name are there."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest
from aiohttp import web

import chatrest
from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import Plan, export
from tests.pages import ROOT

HOME: Final = Path(chatrest.__file__).parent
FILES: Final = sorted(HOME.rglob("*.py"))
FENCED: Final = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED: Final = re.compile(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", re.MULTILINE)
NEEDS_MORE: Final = ("chatrest._cloud", "chatrest.distributed", "chatrest.examples")
"""Those whose example needs an object store, or a cluster; the programs have tests."""
NAMED: Final = re.compile(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md))`")


def docstrings() -> Iterator[tuple[str, str, str]]:
    """Yield all docstrings, each with its module and the name of its class or function."""
    for path in FILES:
        names = path.relative_to(HOME.parent).with_suffix("").parts
        module = ".".join(names[:-1] if names[-1] == "__init__" else names)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, getattr(node, "name", ""), ast.get_docstring(node) or ""


def compiled(code: str) -> CodeType | None:
    """Return an example; None for what is not Python, such as a line of a shell."""
    try:
        return compile(code, "example", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return None


def examples() -> Iterator[tuple[str, str, str]]:
    for module, name, text in docstrings():
        indented = [textwrap.dedent(code) for code in INDENTED.findall(f"{text}\n")]
        for code in [*FENCED.findall(text), *indented]:
            if not module.startswith(NEEDS_MORE) and "(" in code and compiled(code) is not None:
                yield module, name, code


@pytest.mark.parametrize(("module", "name", "code"), list(examples()))
async def test_an_example_runs(
    module: str, name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a module imports all that it uses; one of a function has the names of its module."""
    monkeypatch.chdir(tmp_path)
    async with Emulator(users=3, messages=20) as emulator, AsyncSession(emulator.app) as session:
        for uid in ("alice", "bob"):
            emulator.store.add_user(uid)
        emulator.store.add_message("alice", "bob", "hello")
        app = emulator.app
        for variable, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.base_url)):
            monkeypatch.setenv(f"CHATREST_{variable}", value or "")
        text = f'[[app]]\nid = "{app.app_id}"\nkey_env = "CHATREST_API_KEY"\nbase_url = "{app.base_url}"\n'
        (tmp_path / "apps.toml").write_text(text)

        async def count_unread(uid: str) -> int:
            return len(await session.messages.list_user(uid).limit(1).collect())

        await export(session, "backup", Plan(everything=True))
        given = {"session": session, "app": web.Application(), "uids": ["bob"], "count_unread": count_unread}
        names: dict[str, Any] = (vars(importlib.import_module(module)) if name else {}) | given
        example = compiled(code)
        assert example is not None
        result = eval(example, names)
        if inspect.iscoroutine(result):
            await result


def test_the_files_that_docstrings_name_are_there() -> None:
    gone = []
    for module, _, text in docstrings():
        folder = HOME.parent.joinpath(*module.split("."))
        places = [ROOT, *folder.parents, folder]
        named = NAMED.findall(text)
        gone += [(module, path) for path in named if not any((place / path).is_file() for place in places)]
    assert gone == []
