"""The floors of the house: a file imports from its own floor and those below, never from above."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import chatrest

ROOT = Path(chatrest.__file__).parent
FLOORS = {
    "errors": 0, "secrets": 0, "queries": 0, "models": 0, "core": 0,
    "walk": 1, "resources": 1,
    "network": 2, "telemetry": 2,
    "session": 2, "management": 2, "otel": 2,
    "emulator": 3, "pytest_plugin": 3, "export": 3,
    "cli": 4, "__main__": 4, "__init__": 4,
}  # fmt: skip
NOT_ON_THE_GROUND = {"asyncio", "aiohttp", "time", "random", "socket", "logging", "tenacity"}
NETWORK = {"aiohttp", "multidict", "yarl"}
FILES = sorted(ROOT.rglob("*.py"), key=str)


def parts(file: Path) -> tuple[str, ...]:
    return file.relative_to(ROOT).with_suffix("").parts


def imports(file: Path) -> Iterator[tuple[str, ...]]:
    """What `file` imports, as absolute dotted names; those of the package begin with `chatrest`."""
    here = ("chatrest", *parts(file))
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: -node.level] if node.level else ()
            module = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(parts(file)))
def test_a_file_imports_from_its_own_floor_and_below(file: Path) -> None:
    own = parts(file)[0]
    for name in imports(file):
        if name[0] == "chatrest" and own != "__init__":
            assert FLOORS[name[1]] <= FLOORS[own], f"imports {'.'.join(name)} from above"
        if FLOORS[own] == 0:
            assert name[0] not in NOT_ON_THE_GROUND, f"imports {name[0]} on the ground floor"
        if FLOORS[own] < 3 and parts(file) != ("network", "transport"):
            assert name[0] not in NETWORK, f"imports {name[0]}: that is transport's alone"


def test_the_map_names_every_file() -> None:
    assert {parts(file)[0] for file in FILES} == set(FLOORS)
