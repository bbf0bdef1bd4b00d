"""Texts that say what to install name this distribution: `chatrest` on the index is another project."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from chatrest._extras import DISTRIBUTION, missing_extra
from tests.cases import loop_over

ROOT = Path(__file__).parent.parent
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


def test_the_sentence_names_the_extra_and_what_works_on_this_machine(tmp_path: Path) -> None:
    sentence = "an export needs the extra 'export': "
    assert missing_extra("an export", "export") == f"{sentence}pip install '{ROOT}[export]'"
    installed = missing_extra("an export", "export", source=tmp_path)
    assert installed == f"{sentence}install chatrest again with its extra 'export'"
    assert PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"] == {"chatrest": "chatrest._cli:main"}


@loop_over("path", TEXTS)
def test_no_text_installs_another_distribution(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    requirements = REQUIREMENT.findall(text)
    assert {name for name, _ in requirements} | set(INSTALLED.findall(text)) <= {DISTRIBUTION}
    assert {extra.strip() for _, extras in requirements for extra in extras.split(",")} <= EXTRAS
    assert "needs the extra: " not in text


def test_every_extra_in_a_sentence_is_one_of_the_distribution() -> None:
    sentences = list(calls_of("missing_extra"))
    assert len(sentences) >= 10
    assert [(path, texts) for path, texts in sentences if texts[-1] not in EXTRAS] == []
