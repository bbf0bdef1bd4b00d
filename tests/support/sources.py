"""The contents of the package's files: imports, classes, docstrings and texts. Each file is read once."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import chatrest
from chatrest._resources import COLLECTIONS

ROOT: Final = Path(chatrest.__file__).parent
FILES: Final = sorted(ROOT.rglob("*.py"), key=str)


def module_of(file: Path) -> str:
    """The dotted name of a file; of a package's `__init__.py`, the package's."""
    names = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


MODULES: Final = {module_of(file): file for file in FILES}
LOADED_BY_NAME: Final = {"chatrest._resources": "chatrest._resources"}
"""The files that load the module of a collection by its name, and the package that they load it from.

They count as importing the modules of all collections. The table itself is asked for by its name, and may be
loaded before its collections are: the package is left out of the search for circles.
"""
LOADERS: Final = {"import_module", "__import__"}


class Facts(NamedTuple):
    """The facts of a file that the tests ask for: its tree is read once and dropped."""

    header: str
    imports: frozenset[str]
    """The modules that it imports, anywhere in it; under `if TYPE_CHECKING:`, too."""
    classes: list[str]
    """The public ones."""
    bodies: dict[str, int]
    """The lines of its functions, behind their docstrings."""
    loads_by_name: bool
    only_re_exports: bool
    """True for an `__init__.py` with a docstring, imports and `__all__`, and nothing else."""
    docstrings: list[tuple[str, str]]
    """Those of `docstrings_of`."""
    texts: list[tuple[int, str]]
    """The docstrings and all other texts, each with its line; an f-string is one text."""
    names: list[tuple[int, str, bool]]
    """Those of `given_names`."""


def facts(module: str, file: Path) -> Facts:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Facts(
        " ".join((ast.get_docstring(tree) or "").split()),
        frozenset(_imports(module, file, nodes)),
        [node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"],
        {node.name: _length(node) for node in sorted(functions, key=_length)},
        any(isinstance(node, ast.Call) and _name(node.func) in LOADERS for node in nodes),
        file.name == "__init__.py" and all(map(_is_re_export, tree.body)),
        list(docstrings_of(nodes)),
        list(_texts(nodes)),
        list(given_names(nodes)),
    )


def docstrings_of(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the docstrings, each with the name of its class or function; that of the file has none."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "name", ""), ast.get_docstring(node) or ""


def docstrings_of_variables(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield the texts below constants and attributes, each after an empty name."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef):
            for each, text in pairwise(node.body):
                if isinstance(text, ast.Expr) and isinstance(each, ast.Assign | ast.AnnAssign):
                    yield "", str(getattr(text.value, "value", ""))


def given_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str, bool]]:
    """Yield the name of each variable, parameter, attribute, function and class, with its line.

    The third value is True for a variable or a parameter, and False for the members of a class.
    """
    members = set[ast.AST]()
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            members.update(each.target for each in node.body if isinstance(each, ast.AnnAssign))
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, _name(node), isinstance(node, ast.Name) and node not in members
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg, True
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, False


def _texts(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    parts = set[ast.AST]()  # of f-strings
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            constants = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(map(str, constants))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def _imports(module: str, file: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, package)
            for alias in node.names:
                child = f"{origin}.{alias.name}"
                yield child if child in MODULES else origin
    if package_of_collections := LOADED_BY_NAME.get(module):
        yield from (f"{package_of_collections}.{name}" for name in {*COLLECTIONS, *COLLECTIONS.values()})


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that a `from … import` names."""
    if not node.level:
        return node.module or ""
    names = package.split(".")[: 1 - node.level or None]
    return ".".join([*names, *([node.module] if node.module else [])])


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[1 if ast.get_docstring(node) is not None and len(node.body) > 1 else 0]
    return (node.end_lineno or 0) - first.lineno + 1


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _is_re_export(node: ast.AST) -> bool:
    is_names = isinstance(node, ast.Assign) and _name(node.targets[0]) == "__all__"
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_names or is_text or isinstance(node, ast.Import | ast.ImportFrom)


@cache
def all_facts() -> dict[str, Facts]:
    return {module: facts(module, file) for module, file in MODULES.items()}
