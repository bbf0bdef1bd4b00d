"""The pages of the docs site and their order, as hooks of mkdocs.

The site has the README, the guide in the order of its `README.md`, the decisions, and a reference made from
the code: a page per noun with its collection, filters, bodies and records, and a page per public module.
`chatrest/guide/mkdocs.yml` names this file.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import chatrest
from chatrest._resources import COLLECTIONS, collection_class

ROOT: Final = Path(__file__).parents[2]
GUIDE: Final = ROOT / "chatrest" / "guide"
_PART: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
_MODULES: Final = (
    "database", "distributed", "emulator", "export", "importing", "otel", "pytest_plugin", "site", "testing",
    "times", "webhooks",
)  # fmt: skip
_NOUNS: Final = ("_models", "_parameters", "_resources")


def reference() -> dict[str, list[str]]:
    """Return the pages of the reference, each with the full names of what it describes."""
    pages: dict[str, list[str]] = defaultdict(list)
    for name in COLLECTIONS:
        kind = collection_class(name)
        pages[kind.__module__.rpartition(".")[2].replace("_", " ")].append(
            f"{kind.__module__}.{kind.__name__}"
        )
    for name, home in chatrest._HOME.items():
        package, _, noun = home.partition(".")
        pages[noun.replace("_", " ") if package in _NOUNS else "session and more"].append(f"chatrest.{name}")
    return {**pages, **{f"chatrest.{name}": [f"chatrest.{name}"] for name in _MODULES}}


def pages() -> dict[str, Path | str]:
    """Return the source of each page of the site by its path there: a file, or its text."""
    guide = {path.relative_to(GUIDE).as_posix(): path for path in sorted(GUIDE.rglob("*.md"))}
    del guide["README.md"]
    pictures = {path.relative_to(GUIDE).as_posix(): path for path in (GUIDE / "pictures").iterdir()}
    readme, changelog = (
        (ROOT / name).read_text(encoding="utf-8").replace("(chatrest/guide/README.md)", "(guide.md)")
        .replace("(chatrest/guide/", "(").replace("(CHANGELOG.md)", "(changelog.md)")
        for name in ("README.md", "CHANGELOG.md")
    )  # fmt: skip
    made = {
        _path(title): "\n\n".join([f"# {title}", *(f"::: {name}" for name in names), ""])
        for title, names in reference().items()
    }
    costs = guide["costs.md"].read_text(encoding="utf-8")
    return {
        **guide,
        **pictures,
        "costs.md": costs.replace("(../../benchmarks/RESULTS.md)", "(benchmarks.md)"),
        "benchmarks.md": ROOT / "benchmarks" / "RESULTS.md",
        "index.md": readme,
        "guide.md": GUIDE / "README.md",
        "changelog.md": changelog.replace("(README.md", "(index.md"),
        **made,
    }


def _path(title: str) -> str:
    return f"reference/{title.replace(' ', '-')}.md"


def navigation() -> list[Any]:
    """Return the order of the pages: that of the guide's own list, then the decisions and the reference."""
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    parts = _PART.split(text)[1:]
    nav: list[Any] = [{"chatrest": "index.md"}, {"The guide": "guide.md"}]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        nav.append({title: [{name: path} for name, path in _ENTRY.findall(body) if "/" not in path]})
    decisions = (GUIDE / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = [{name: f"decisions/{path}"} for name, path in _ENTRY.findall(decisions)]
    nav.append({"Decisions": ["decisions/README.md", *listed]})
    nav.append({"Reference": [{title: _path(title)} for title in reference()]})
    return [*nav, {"Benchmarks": "benchmarks.md"}, {"Changes": "changelog.md"}]


def on_config(config: Any) -> Any:
    config.nav = navigation()
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    for path, source in pages().items():
        content = {"abs_src_path": str(source)} if isinstance(source, Path) else {"content": source}
        files.append(File.generated(config, path, **content))
    return files
