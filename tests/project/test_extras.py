"""The sentence about a missing extra: it names this distribution, not the other one of the index."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from chatrest import _texts
from chatrest._texts import DISTRIBUTION, missing_extra
from tests.support.cases import loop_over

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
TEXTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "pyproject.toml")),
    *(path for suffix in ("py", "md") for path in (ROOT / "chatrest").rglob(f"*.{suffix}")),
    *(ROOT / "benchmarks").rglob("*.py"),
]
REQUIREMENT = re.compile(r"\b(chatrest(?:[-_.]\w+)*)\[([a-z, ]+)\]")
INSTALLED = re.compile(r"pip install\s+(?:-\S+\s+)*['\"]?(chatrest[-\w]*)")


def calls_of(name: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield the constant texts among the arguments of each call of a function, and the file."""
    for path in (ROOT / "chatrest").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if name in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").lstrip("_") == name:
                yield path, [each.value for each in node.args if isinstance(each, ast.Constant)]


def outcome(program: str) -> str:
    """Return what a new interpreter prints in its last line, on either stream."""
    command = [sys.executable, "-c", f"import sys; {program}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return (done.stdout + done.stderr).splitlines()[-1]


COMMAND: Final = "from chatrest._cli import main; main()"


@loop_over(
    ("missing", "program", "subject", "extra"),
    [
        ("click", COMMAND, "the command", "cli"),
        ("rich", COMMAND, "the command", "cli"),
        ("opentelemetry", "import chatrest.otel", "chatrest.otel", "otel"),
        ("distributed", "import chatrest.distributed", "chatrest.distributed", "dask"),
        ("obstore", "from chatrest.export import read; next(read('s3://b'))", "an object store", "cloud"),
    ],
)
def test_a_missing_package_is_named_at_first_use(
    missing: str, program: str, subject: str, extra: str
) -> None:
    line = outcome(f"sys.modules[{missing!r}] = None; {program}")
    assert line.endswith(f": {missing_extra(subject, extra)}")


@loop_over(("missing", "module"), [("opentelemetry", "otel"), ("distributed", "distributed")])
def test_a_package_without_its_extra_is_an_import_error_and_a_wrong_request(
    missing: str, module: str
) -> None:
    program = (
        f"sys.modules[{missing!r}] = None\ntry:\n import chatrest.{module}\nexcept ImportError as error:"
    )
    assert (
        outcome(f"{program}\n from chatrest import errors as e; print(isinstance(error, e.ChatRestError))")
        == "True"
    )


def test_the_modules_of_stores_do_not_import_the_client_of_stores() -> None:
    modules = "chatrest._cloud.store, chatrest._cloud.lease, chatrest._cloud.publication"
    assert outcome(f"import {modules}; print('obstore' in sys.modules)") == "False"


def test_the_sentence_names_the_extra_and_what_works_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "an export needs the extra 'export': "
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert missing_extra("an export", "export") == f"{sentence}pip install '{ROOT}[export]'"
    monkeypatch.setattr(_texts, "_SOURCE", tmp_path)  # not editable: the files are elsewhere
    for note, source in (
        (f'{{"url": "{ROOT.as_uri()}", "dir_info": {{}}}}', ROOT),  # pip was given the checkout
        ('{"url": "https://example.com/chatrest.zip", "archive_info": {}}', "chatrest-client"),
        (None, "chatrest-client"),
    ):
        metadata = SimpleNamespace(read_text=lambda _, note=note: note)
        monkeypatch.setattr("importlib.metadata.distribution", lambda _, metadata=metadata: metadata)
        assert missing_extra("an export", "export") == f"{sentence}pip install '{source}[export]'"
    for base, executable, pip in (
        (tmp_path, sys.executable, "pip"),  # no virtual environment
        ("/usr", tmp_path / ".venv/bin/python", ".venv/bin/python -m pip"),
        ("/usr", "/a b/bin/python", "'/a b/bin/python' -m pip"),
    ):
        monkeypatch.setattr(sys, "prefix", str(tmp_path))
        monkeypatch.setattr(sys, "base_prefix", str(base))
        monkeypatch.setattr(sys, "executable", str(executable))
        monkeypatch.setenv("VIRTUAL_ENV", "/another")
        monkeypatch.chdir(tmp_path)
        assert missing_extra("an export", "export") == f"{sentence}{pip} install 'chatrest-client[export]'"
    assert PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"] == {"chatrest": "chatrest._cli:main"}


@loop_over("path", TEXTS)
def test_no_text_installs_another_distribution(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    requirements = REQUIREMENT.findall(text)
    assert {name for name, _ in requirements} | set(INSTALLED.findall(text)) <= {DISTRIBUTION}
    assert {extra.strip() for _, extras in requirements for extra in extras.split(",")} <= EXTRAS
    assert "needs the extra: " not in text
    assert not re.search(r"[Ii]nstall chatrest\b(?!-)", text)


def test_every_extra_in_a_sentence_is_one_of_the_distribution() -> None:
    sentences = list(calls_of("missing_extra"))
    assert len(sentences) >= 10
    assert [(path, texts) for path, texts in sentences if texts[-1] not in EXTRAS] == []
