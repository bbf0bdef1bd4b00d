"""The pages of the docs site and their order, as hooks of mkdocs; a "Raises" section for the reference.

The site has the README, the guide in the order of its `README.md`, the decisions, and a reference made from
the code: a page per noun with its collection, filters, bodies and records, and a page per public module.
`chatrest/guide/mkdocs.yml` names this file.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
GUIDE: Final = ROOT / "chatrest" / "guide"
_PART: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
_INNER: Final = {"__main__", "app", "error_codes", "errors", "examples", "management", "session", "guide"}
"""Files and folders of the package that are no public module, or whose names the root has."""
_SESSION: Final = {"app", "session", "management", "_network", "_core", "_telemetry"}
_TITLES: Final = {"_walk": "walks", "_fan_out": "many at once", "errors": "errors", "times": "chatrest.times"}


# ── the reference ──


def reference() -> dict[str, list[str]]:
    """Return the pages of the reference, each with the full names of what it describes."""
    pages: dict[str, list[str]] = defaultdict(list)
    package = ROOT / "chatrest"
    homes = dict(_imports(ast.parse((package / "__init__.pyi").read_text(encoding="utf-8")), "chatrest"))
    for name, target in homes.items():
        pages[_page_of(target.split(".")[1:-1])].append(f"chatrest.{name}")
    for name, noun in _collections().items():
        kind = "".join(word.capitalize() for word in name.split("_"))
        pages[noun.replace("_", " ")].insert(0, f"chatrest._resources.{noun}.{kind}")
    for path in sorted(package.iterdir()):
        name = path.stem
        if not name.startswith("_") and name not in _INNER and (path.suffix == ".py" or path.is_dir()):
            known = {each.rpartition(".")[2] for each in pages[f"chatrest.{name}"]}
            names = _public_names(path, f"chatrest.{name}")
            pages[f"chatrest.{name}"] += [each for each in names if each.rpartition(".")[2] not in known]
    order = ["session", "walks", "messages", "users", "groups", "conversations"]
    others = sorted(pages.keys() - set(order), key=lambda name: (name.startswith("chatrest."), name))
    return {name: pages[name] for name in [*order, *others] if pages[name]}


def _page_of(home: list[str]) -> str:
    if home[0] in _TITLES:
        return _TITLES[home[0]]
    if home[0] in _SESSION or home[-1] in ("checked", "files", "outcomes"):
        return "walks" if "paging" in home else "session"
    return home[-1].replace("_", " ")


def _collections() -> dict[str, str]:
    tree = ast.parse((ROOT / "chatrest/_resources/__init__.py").read_text(encoding="utf-8"))
    [table] = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    collections: dict[str, str] = ast.literal_eval(table)
    return collections


def _public_names(path: Path, module: str) -> Iterator[str]:
    """Yield the full names of what a module's `__all__` has, else of all that it makes or exports."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.exists():
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    homes = dict(_imports(tree, module))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    listed = [node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__"]
    names = ast.literal_eval(listed[0]) if listed else [*_exports(tree)]
    yield from (homes.get(name, f"{module}.{name}") for name in names)


def _exports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if not name.startswith("_"):
                    yield name
            case ast.ImportFrom(names=names):
                yield from (alias.name for alias in names if alias.asname == alias.name)
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield name


def _imports(tree: ast.Module, package: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            home = f"{package}.{node.module}" if node.module else package
            yield from ((alias.asname or alias.name, f"{home}.{alias.name}") for alias in node.names)


def _reference_text(title: str, names: list[str]) -> str:
    lines = [f"# {title}", ""]
    if title.startswith("chatrest."):
        lines += [f"::: {title}", "    options: {members: false, show_root_heading: false}", ""]
    return "\n".join([*lines, *(f"::: {name}\n" for name in names)])


# ── the pages ──


def pages() -> dict[str, Path | str]:
    """Return the source of each page of the site by its path there: a file, or its text."""
    guide = {path.relative_to(GUIDE).as_posix(): path for path in sorted(GUIDE.rglob("*.md"))}
    del guide["README.md"]
    pictures = {path.relative_to(GUIDE).as_posix(): path for path in (GUIDE / "pictures").iterdir()}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = readme.replace("(chatrest/guide/README.md)", "(guide.md)").replace("(chatrest/guide/", "(")
    made = {_path(title): _reference_text(title, names) for title, names in reference().items()}
    costs = guide["costs.md"].read_text(encoding="utf-8")
    return {
        **guide,
        **pictures,
        "costs.md": costs.replace("(../../benchmarks/RESULTS.md)", "(benchmarks.md)"),
        "benchmarks.md": ROOT / "benchmarks" / "RESULTS.md",
        "index.md": readme.replace("(CHANGELOG.md)", "(changelog.md)"),
        "guide.md": GUIDE / "README.md",
        "changelog.md": ROOT / "CHANGELOG.md",
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


# ── "Raises", as the house writes it ──

_RAISES: Final = re.compile(r"(?:\A|(?<=[.)`])\s+|(?<=\n))Raises (`(?:[^.]|\.(?!\s|\Z))+\.)")
_CLAUSE: Final = re.compile(
    r"[;.]\s+((?:`\w+Error`(?:,?\s(?:and|or)\s|,\s)?)+\s(?:for|if|where|unless|without|before|after|as)\s[^.;]+)"
)
_KINDS: Final = re.compile(r"`(\w+Error)`(?:,? (?:and|or) |, )?")


def with_raises(text: str) -> str:
    """Return a docstring with a section of the errors of its sentences and clauses that name one first."""
    entries: list[str] = []

    def take(match: re.Match[str]) -> str:
        kinds, rest = [], " ".join(match[1].split()).removesuffix(".")
        while kind := _KINDS.match(rest):
            kinds.append(kind[1])
            rest = rest[kind.end() :]
        entries.extend(f"    {kind}: {rest.strip() or 'see the guide, Errors'}." for kind in kinds)
        return ""

    text = _CLAUSE.sub(take, _RAISES.sub(take, text)).rstrip()
    return "\n".join([text, "", "Raises:", *entries]) if entries else text


try:
    import griffe
except ImportError:  # the tests of this file need no extra
    pass
else:

    class RaisesSections(griffe.Extension):  # type: ignore[misc, unused-ignore]
        """Give each docstring of the reference its section, and fields no label that all of them have."""

        def on_object(self, *, obj: Any, **_: Any) -> None:
            obj.labels -= {"class-attribute", "instance-attribute", "module-attribute"}
            if obj.docstring is not None:
                obj.docstring.value = with_raises(obj.docstring.value)
