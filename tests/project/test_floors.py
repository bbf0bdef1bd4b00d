"""The floors of the house: files and folders import from their floor and those below, never in a circle.

And its numbers, which only shrink: the sizes of files and bodies, class names that occur twice, and files
that are too small to be one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.support.sources import LOADED_BY_NAME, MODULES, ROOT, all_facts

GROUND: Final = ("errors", "_secrets", "times", "_models", "_parameters", "_core", "app")
FLOORS: Final = {
    "errors": 0.0, "_texts": 0.0, "_struct_help": 0.0, "error_codes": 0.0, "_secrets": 0.0, "times": 0.0,
    "_storage": 0.1, "_threads": 0.1, "_telemetry": 0.1, "_models": 0.1, "_parameters": 0.2, "_core": 0.3,
    "app": 0.4,
    "_walk": 1.0, "_resources": 1.0,
    "_network": 2.0, "otel": 2.0, "_fan_out": 2.1, "session": 2.2,
    "_cloud": 3.0, "emulator": 3.0, "webhooks": 3.0, "export": 3.1, "importing": 3.2, "pytest_plugin": 3.0,
    "testing": 3.0,
    "distributed": 3.5, "database": 3.5, "site": 3.5,
    "_cli": 4.0, "examples": 4.0, "__main__": 4.0, "__init__": 4.0,
}  # fmt: skip
"""By a file's first name below the package. The ground floor is ordered, too: models know neither
parameters nor core, and parameters do not know core."""
ROOMS: Final = {
    "_core": ("requests", "replies", "paging", "pace"),
    "export": ("plan", "formats", "store", "folder", "fetch dataset", "remote", "read", "seal", "run verify"),
}
"""The folders of a package from the lowest one up; those of one text know nothing of each other."""
NOT_ON_THE_GROUND: Final = {
    "asyncio", "aiohttp", "concurrent", "logging", "multidict", "multiprocessing", "random", "secrets",
    "select", "selectors", "signal", "socket", "ssl", "subprocess", "tenacity", "threading", "time", "uuid",
    "yarl",
}  # fmt: skip
NETWORK: Final = {"aiohttp", "multidict", "yarl"}
LOADERS_OF_OTHERS: Final = {"chatrest"}
"""The file that loads other modules by name: the root its public names."""


def first_name(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


MAX_FILE: Final = 600
MAX_BODY: Final = 70
MIN_FILE: Final = 60
"""Lines of a file that one other file imports; a smaller one belongs into its importer."""
REASON: Final = "A file of its own because "
"""A sentence in the header of a small file, with the reason."""
FILE_A_NOUN: Final = ("chatrest._models.", "chatrest._parameters.")
"""Folders with one file per noun of the service, however small."""
KNOWN_SMALL: Final = frozenset[str]()
"""Small files with one importer, still to be merged. This table only shrinks."""


def imported(module: str) -> set[str]:
    """The modules of the package that one of them imports."""
    return (all_facts()[module].imports & MODULES.keys()) - {module}


def graph() -> dict[str, list[str]]:
    """The edges between the modules; those of a package that only re-exports its own ones are left out."""
    edges = {}
    for module, each in all_facts().items():
        is_entrance = each.only_re_exports or module in LOADED_BY_NAME
        own = f"{module}." if is_entrance else "no module"
        edges[module] = sorted(name for name in imported(module) if not name.startswith(own))
    return edges


def room(module: str) -> str:
    """Return the folder of a file; a file beside folders is its own room."""
    folder = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    return module if any(MODULES[module].parent.glob("*/__init__.py")) else folder


def rooms() -> dict[str, list[str]]:
    """The edges between the folders."""
    edges: dict[str, set[str]] = {}
    for module, names in graph().items():
        edges.setdefault(room(module), set()).update(room(name) for name in names)
    return {name: sorted(targets - {name}) for name, targets in edges.items()}


def levels() -> dict[str, tuple[str, int]]:
    """The package and the level of each room in `ROOMS`."""
    return {
        f"chatrest.{package}.{name}": (package, level)
        for package, rows in ROOMS.items()
        for level, row in enumerate(rows)
        for name in row.split()
    }


def public_classes() -> dict[str, list[str]]:
    """The modules that have a public class, by the class's name."""
    places: dict[str, list[str]] = {}
    for module, each in all_facts().items():
        for name in each.classes:
            places.setdefault(name, []).append(module)
    return places


def count_lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def small_files() -> set[str]:
    """The files below the smallest size that one other file imports, and whose header gives no reason."""
    importers = Counter(name for module in MODULES for name in imported(module))
    return {
        module.removeprefix("chatrest.")
        for module, file in MODULES.items()
        if file.name != "__init__.py"
        and not module.startswith(FILE_A_NOUN)
        and importers[module] == 1
        and count_lines(file) < MIN_FILE
        and REASON not in all_facts()[module].header
    }


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


def test_a_file_imports_from_its_own_floor_and_below() -> None:
    wrong = [
        f"{module} imports {name}"
        for module in MODULES
        if first_name(module) != "__init__"
        for name in imported(module)
        if FLOORS[first_name(name)] > FLOORS[first_name(module)]
    ]
    assert not wrong, f"imports from above: {wrong}"


def test_the_ground_floor_imports_no_clock_random_socket_or_loop() -> None:
    wrong = {
        module: names
        for module, each in all_facts().items()
        if first_name(module) in GROUND
        and (names := {name.split(".")[0] for name in each.imports} & NOT_ON_THE_GROUND)
    }
    assert not wrong


def test_only_the_transport_imports_aiohttp() -> None:
    importers = {
        module
        for module, each in all_facts().items()
        if FLOORS[first_name(module)] < 3
        and not NETWORK.isdisjoint(name.split(".")[0] for name in each.imports)
    }
    assert importers == {"chatrest._network.transport"}


def test_no_modules_import_each_other_in_a_cycle() -> None:
    lines = [" → ".join(circle) for circle in circles(graph())]
    assert not lines, "files import each other in a circle:\n" + "\n".join(lines)


def test_no_folders_import_each_other_in_a_cycle() -> None:
    lines = [" → ".join(circle) for circle in circles(rooms())]
    assert not lines, "folders import each other in a circle:\n" + "\n".join(lines)


def test_the_rooms_of_a_package_import_in_one_direction() -> None:
    level = levels()
    wrong = [
        f"{name} imports {target}"
        for name, targets in rooms().items()
        for target in targets
        if name in level
        and target in level
        and level[name][0] == level[target][0]
        and level[name] <= level[target]
    ]
    assert not wrong, f"imports from above: {wrong}"
    folders = {name for name in rooms() if name.rpartition(".")[0] in {f"chatrest.{each}" for each in ROOMS}}
    assert {name for name in folders if (ROOT.parent / name.replace(".", "/")).is_dir()} == level.keys()


def test_the_table_of_floors_has_every_file() -> None:
    assert {first_name(module) for module in MODULES} <= set(FLOORS)


def test_modules_loaded_by_name_are_in_the_table_of_floors() -> None:
    loaders = {module for module, each in all_facts().items() if each.loads_by_name}
    assert loaders == set(LOADED_BY_NAME) | LOADERS_OF_OTHERS


def test_no_two_public_classes_have_one_name() -> None:
    new = {name: modules for name, modules in public_classes().items() if len(modules) > 1}
    assert not new


def test_no_small_file_has_one_importer_without_a_reason() -> None:
    new = small_files() - KNOWN_SMALL
    assert not new, f"merge each into its importer, or say in its header: {REASON!r}"


def test_the_known_exceptions_are_still_there() -> None:
    """Fails where one was mended: take it out of its table."""
    stale = KNOWN_SMALL - small_files()
    assert not stale, f"take out of KNOWN_SMALL: {sorted(stale)}"


def test_files_and_bodies_are_not_too_long() -> None:
    files = [module for module, file in MODULES.items() if count_lines(file) > MAX_FILE]
    bodies = {
        (module, name): length
        for module, each in all_facts().items()
        for name, length in each.bodies.items()
        if length > MAX_BODY
    }
    assert (files, bodies) == ([], {})
