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

from chatrest import AsyncSession
from chatrest._core.replies.decode import EachOutcome, ManyRecords
from chatrest._core.requests.endpoint import Endpoint
from chatrest._resources import OPERATIONS, collection_class
from chatrest.emulator import Emulator
from chatrest.export import Plan, export
from tests.support.sources import ROOT, all_facts

FENCED: Final = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED: Final = re.compile(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", re.MULTILINE)
NEEDS_MORE: Final = ("chatrest._cloud", "chatrest.distributed", "chatrest.examples")
"""Those whose example needs an object store, or a cluster; the programs have tests."""
COMMON: Final = {"query", "cursor", "on_behalf_of", "headers", "x_webhook_version", "chat_api_version"}
"""Optional arguments that mean the same for each operation: the collection explains them."""
NAMED: Final = re.compile(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md))`")
DOTTED: Final = re.compile(r"`(_[a-z_]+(?:\.\w+)+)`")
"""A module or a name of one, as of `_core.replies.decode`."""


def compiled(code: str) -> CodeType | None:
    """Return an example; None for what is not Python, such as a line of a shell."""
    try:
        return compile(code, "example", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return None


def examples() -> Iterator[tuple[str, str, str]]:
    for module, each in all_facts().items():
        for name, text in each.docstrings:
            indented = [textwrap.dedent(code) for code in INDENTED.findall(f"{text}\n")]
            for code in [*FENCED.findall(text), *indented]:
                if not module.startswith(NEEDS_MORE) and "(" in code and compiled(code) is not None:
                    yield module, name, code


async def test_each_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = []
    for number, (module, name, code) in enumerate(examples()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with monkeypatch.context() as patch:
            try:
                await run_example(module, name, code, folder, patch)
            except Exception as error:
                error.add_note(f"the example of {module}.{name}")
                errors.append(error)
    if errors:
        raise ExceptionGroup("examples that fail", errors)


async def run_example(
    module: str, name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run one in a folder.

    One of a module imports all that it uses; one of a function has the names of its module.
    """
    monkeypatch.chdir(folder)
    async with Emulator(users=3, messages=20) as emulator, AsyncSession(emulator.app) as session:
        for uid in ("alice", "bob"):
            emulator.store.add_user(uid)
        emulator.store.add_message("alice", "bob", "hello")
        app = emulator.app
        for variable, value in (("APP_ID", app.app_id), ("API_KEY", app.api_key), ("BASE_URL", app.base_url)):
            monkeypatch.setenv(f"CHATREST_{variable}", value or "")
        text = f'[[app]]\nid = "{app.app_id}"\nkey_env = "CHATREST_API_KEY"\nbase_url = "{app.base_url}"\n'
        (folder / "apps.toml").write_text(text)

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
    for module, each in all_facts().items():
        folder = ROOT.parent.joinpath(*module.split("."))
        places = [ROOT.parent, *folder.parents, folder]
        named = [path for _, text in each.docstrings for path in NAMED.findall(text)]
        gone += [(module, path) for path in named if not any((place / path).is_file() for place in places)]
    assert gone == []


def test_the_modules_that_docstrings_name_are_there() -> None:
    names = {
        (module, name)
        for module, each in all_facts().items()
        for _, text in each.docstrings
        for name in DOTTED.findall(text)
    }
    modules = all_facts().keys()
    gone = [
        each
        for each in names
        if modules.isdisjoint({f"chatrest.{each[1]}", f"chatrest.{each[1]}".rpartition(".")[0]})
    ]
    assert gone == []


def operation_method(name: str) -> Any:
    collection, _, operation = name.partition(".")
    return getattr(collection_class(collection), operation)


def docstring(described: Any) -> str:
    return " ".join(described.__doc__.split())


def words_needed(endpoint: Endpoint[Any], method: Any) -> Iterator[str]:
    """Yield what the docstring of an operation has to say; "(class)" if that of its class may say it."""
    if isinstance(endpoint.reply, ManyRecords) and endpoint.method == "GET":
        yield "One request per page" if endpoint.paging else "One request"
    if endpoint.replay == "never":
        yield from ("Sent once", "`OutcomeUnknownError`")
    if endpoint.acting == "required":
        yield from ("acting user", "(class) `RequestInvalidError`")
    if endpoint.parameters:
        yield "(class) `NotFoundError`"
    if isinstance(endpoint.reply, EachOutcome):
        yield "(class) `outcomes.check()`"
    if endpoint.deprecated:
        yield "Deprecated: use `"
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.default is None and name not in COMMON:
            yield f"`{name}"


def test_an_operation_says_its_cost_its_errors_and_its_optional_arguments() -> None:
    missing = []
    for name, endpoint in OPERATIONS.items():
        method = operation_method(name)
        text = docstring(method)
        with_class = f"{docstring(collection_class(name.partition('.')[0]))} {text}"
        for words in words_needed(endpoint, method):
            if words.removeprefix("(class) ") not in (with_class if words.startswith("(class)") else text):
                missing.append(f"{name}: {words}")
    assert missing == []


def test_only_operations_sent_once_have_that_sentence() -> None:
    sent_once = {name for name, endpoint in OPERATIONS.items() if endpoint.replay == "never"}
    assert {name for name in OPERATIONS if "Sent once" in docstring(operation_method(name))} == sent_once
