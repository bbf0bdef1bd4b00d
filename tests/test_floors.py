"""The floors of the house: a file imports from its own floor and those below, and never in a circle."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import chatrest
from chatrest.resources import COLLECTIONS
from tests.cases import loop_over

ROOT: Final = Path(chatrest.__file__).parent
GROUND: Final = ("errors", "secrets", "times", "models", "parameters", "core")
FLOORS: Final = {
    "errors": 0.0, "extras": 0.0, "error_codes": 0.0, "secrets": 0.0, "times": 0.0,
    "storage": 0.1, "models": 0.1, "parameters": 0.2, "core": 0.3,
    "walk": 1.0, "resources": 1.0,
    "network": 2.0, "telemetry": 2.0, "otel": 2.0, "session": 2.0, "management": 2.0,
    "fan_out": 2.0,
    "cloud": 3.0, "emulator": 3.0, "webhooks": 3.0, "export": 3.0, "importing": 3.0, "pytest_plugin": 3.0,
    "distributed": 3.5,
    "cli": 4.0, "examples": 4.0, "__main__": 4.0, "__init__": 4.0,
}  # fmt: skip
"""By a file's first name below the package. The ground has an order of its own: models know neither
parameters nor core, and parameters do not know core."""
NOT_ON_THE_GROUND: Final = {
    "asyncio", "aiohttp", "concurrent", "logging", "multidict", "multiprocessing", "random", "secrets",
    "select", "selectors", "signal", "socket", "ssl", "subprocess", "tenacity", "threading", "time", "uuid",
    "yarl",
}  # fmt: skip
NETWORK: Final = {"aiohttp", "multidict", "yarl"}
LOADED_BY_NAME: Final = {
    "chatrest.resources": "chatrest.resources",
}
"""The files that load the module of a collection by its name, and the package that they load it from.

They count as importing the modules of all collections. The table itself is asked for by its name, and may be
loaded before its collections are: the package is left out of the search for circles.
"""
LOADERS_OF_OTHERS: Final = {"chatrest", "chatrest.models.views"}
"""The files that load other modules by name: the root its public names, and the records the lenient decoder,
which is above them and needed only where one is read.
"""
FILES: Final = sorted(ROOT.rglob("*.py"), key=str)


def module_of(file: Path) -> str:
    """The dotted name of a file; of a package's `__init__.py`, the package's."""
    names = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


MODULES: Final = {module_of(file): file for file in FILES}


def first_name(module: str) -> str:
    """Return the name of a module in `FLOORS`."""
    return module.split(".")[1] if "." in module else "__init__"


# ── imports ──


@cache
def imports(module: str, file: Path) -> frozenset[str]:
    """The modules that a file imports, anywhere in it but under `if TYPE_CHECKING:`."""
    return frozenset(_imports(module, file))


def _imports(module: str, file: Path) -> Iterator[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in executed(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, package)
            for alias in node.names:
                child = f"{origin}.{alias.name}"
                yield child if child in MODULES else origin
    if package_of_collections := LOADED_BY_NAME.get(module):
        yield from (f"{package_of_collections}.{name}" for name in {*COLLECTIONS, *COLLECTIONS.values()})


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes that may run, those of functions included."""
    yield node
    is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    children = node.orelse if isinstance(node, ast.If) and is_for_types else ast.iter_child_nodes(node)
    for child in children:
        yield from executed(child)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that a `from … import` names."""
    if not node.level:
        return node.module or ""
    names = package.split(".")[: 1 - node.level or None]
    return ".".join([*names, *([node.module] if node.module else [])])


def only_re_exports(file: Path) -> bool:
    """True for an `__init__.py` with a docstring, imports and `__all__`, and nothing else.

    True also for the one that loads its modules by name.
    """
    if file.name != "__init__.py":
        return False
    if module_of(file) in LOADED_BY_NAME:
        return True
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return all(
        isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        for node in body
    )


def graph() -> dict[str, list[str]]:
    """The modules of the package that each of them imports."""
    edges: dict[str, list[str]] = {}
    for module, file in MODULES.items():
        targets = {name for name in imports(module, file) if name in MODULES and name != module}
        if only_re_exports(file):
            targets = {name for name in targets if not name.startswith(f"{module}.")}
        edges[module] = sorted(targets)
    return edges


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The shortest circle through each module that is in any, each once."""
    shortest: dict[frozenset[str], list[str]] = {}
    for module in edges:
        if (circle := _shortest(edges, module)) is not None:
            shortest.setdefault(frozenset(circle), circle)
    return list(shortest.values())


def _shortest(edges: Mapping[str, Iterable[str]], start: str) -> list[str] | None:
    paths = [[start]]
    reached = {start}
    for path in paths:  # grows while it is read: breadth first
        for target in edges.get(path[-1], ()):
            if target == start:
                return [*path, start]
            if target not in reached:
                reached.add(target)
                paths.append([*path, target])
    return None


# ── the package ──


@loop_over("module", MODULES)
def test_a_file_imports_from_its_own_floor_and_below(module: str) -> None:
    floor = FLOORS[first_name(module)]
    for name in imports(module, MODULES[module]):
        if name.split(".")[0] != "chatrest" or first_name(module) == "__init__":
            continue
        assert FLOORS[first_name(name)] <= floor, f"{module} imports {name}, which is above it"


@loop_over("module", [module for module in MODULES if first_name(module) in GROUND])
def test_the_ground_floor_imports_no_clock_random_socket_or_loop(module: str) -> None:
    wrong = {name.split(".")[0] for name in imports(module, MODULES[module])} & NOT_ON_THE_GROUND
    assert not wrong, f"{module} imports {', '.join(sorted(wrong))} on the ground floor"


@loop_over("module", [module for module in MODULES if FLOORS[first_name(module)] < 3])
def test_only_the_transport_imports_aiohttp(module: str) -> None:
    wrong = {name.split(".")[0] for name in imports(module, MODULES[module])} & NETWORK
    assert not wrong or module == "chatrest.network.transport", f"{module} imports {', '.join(sorted(wrong))}"


def test_no_modules_import_each_other_in_a_cycle() -> None:
    lines = [" → ".join(circle) for circle in circles(graph())]
    assert not lines, "files import each other in a circle:\n" + "\n".join(lines)


def test_the_table_of_floors_has_every_file() -> None:
    assert {first_name(module) for module in MODULES} <= set(FLOORS)


def test_modules_are_loaded_by_name_where_the_table_of_floors_knows_it() -> None:
    loaders = {
        module
        for module, file in MODULES.items()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
    }
    assert loaders == set(LOADED_BY_NAME) | LOADERS_OF_OTHERS


# ── the search itself ──


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["a"]}, [["a", "b", "a"]]),
        ({"a": ["b", "c"], "b": ["c"], "c": ["a"]}, [["a", "c", "a"], ["b", "c", "a", "b"]]),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, [["b", "c", "b"]]),
    ],
    ids=["none", "two", "two of three", "behind an entrance"],
)
def test_a_cycle_is_shown_by_its_shortest_path(
    edges: Mapping[str, list[str]], expected: list[list[str]]
) -> None:
    assert circles(edges) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from ...errors import ApiError", {"chatrest.errors"}),
        ("from ... import errors", {"chatrest.errors"}),
        ("from . import pacer\nfrom .pacer import x", {"chatrest.core.pace.pacer"}),
        ("def call():\n    from ...walk.walk import Walk", {"chatrest.walk.walk"}),
        ("if TYPE_CHECKING:\n    from ..walk import Walk\nelse:\n    import json", {"json"}),
    ],
)
def test_imports_are_found_wherever_they_stand(text: str, expected: set[str], tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text(text, encoding="utf-8")
    assert set(imports("chatrest.core.pace.made", file)) == expected
