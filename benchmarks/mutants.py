"""How many small faults of the code do its tests find? Mutants of the walk, the pace and the decoders.

    python -m benchmarks.mutants                          # 200 mutants of the default files
    python -m benchmarks.mutants chatrest/core/paging/step.py    # of other files
    python -m benchmarks.mutants --only "step.py" --most 20 --save before.txt

A mutant is the package with one change: a comparison that is flipped or shifted, a condition that is negated,
`and` for `or`, a number one larger or smaller, another text, another result, a statement less. The tests of
the families below run against it, those that mirror its file first; a failure, or no end in time, kills it.
The survivors are printed: each is a change that no test sees, or that makes no difference.

A mutant is named by its file, its function and the text of its line, and chosen by a hash of that name: most
of the mutants before a refactoring are also among those after it, and `--save` makes files to compare.

Each worker has a copy of the repository in a temporary folder, and a process that has imported pytest and the
libraries; for each mutant it forks, so that only the package and the tests are imported anew. A mutant costs
some 4 s of a processor if it is killed, and 10 to 20 s if it survives.
"""

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from hashlib import blake2b
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
COPIED: Final = ("chatrest", "tests", "pyproject.toml", "README.md")
FAMILIES: Final = (
    (
        "walk step onward arrange order cursor",
        "step cursor onward arrange order paging walk walk_ends walk_habits walk_hostile follow",
    ),
    ("retry pacer rate_search", "retry pacer pacer_limits rate_search breaker"),
    ("decode envelope", "decode decode_numbers decode_replies envelope parse faults outcomes endpoint"),
)
"""Names of files, and of the tests that run against their mutants; wherever these files are."""
EXAMPLES: Final = 15
"""Examples of a property test: few, as most mutants survive only the first ones."""
LIBRARIES: Final = (
    "aiohttp", "aioresponses", "anyio", "hypothesis.internal.conjecture.engine", "hypothesis.strategies",
    "msgspec", "pdb", "pyroaring", "pytest_aiohttp", "pytest_asyncio", "tenacity", "tornado.ioloop",
)  # fmt: skip
"""Imported once for all mutants."""
LEAST_TIMEOUT: Final = 60.0
_SLOWER: Final = 5
"""A run that takes so many times as long as that of the whole package has no end."""


# ── mutants ──


class Mutant(NamedTuple):
    """One change of a file."""

    path: str
    function: str
    line: int
    before: str
    after: str
    number: int
    """From 1, of those with the same texts."""
    site: int
    """Its number among all changes of the file."""

    @property
    def name(self) -> str:
        """The name that stays where lines move."""
        again = f" (#{self.number})" if self.number > 1 else ""
        return f"{Path(self.path).name} · {self.function} · {self.before}  →  {self.after}{again}"


class _Change(NamedTuple):
    """A change of a syntax tree: a field of a node gets another value."""

    node: ast.AST
    field: str
    value: Any

    def swap(self) -> "_Change":
        """Make the change; return the one that takes it back."""
        old = getattr(self.node, self.field)
        setattr(self.node, self.field, self.value)
        return self._replace(value=old)


_NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_SHIFTED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for index, (function, statement, body, change) in enumerate(_sites(ast.parse(source))):
        before = _text(statement)
        back = change.swap()
        after = "pass" if change.node is body[0] else _text(statement)
        back.swap()
        if after != before:
            texts = (function, before, after)
            seen[texts] += 1
            yield Mutant(path, function, statement.lineno, before, after, seen[texts], index)


def mutated(source: str, index: int) -> str:
    """Return the text of a file with one of its changes."""
    tree = ast.parse(source)
    *_, change = next(islice(_sites(tree), index, None))
    change.swap()
    return ast.unparse(ast.fix_missing_locations(tree))


_Body = tuple[ast.AST, str, int]
"""A statement's place: a node, its list of statements, and an index."""


def _sites(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, _Body, _Change]]:
    """Yield all changes of a file, with the function, the statement and its place."""
    for function, statement, body in _statements(tree, "module"):
        for change in (*_deletions(statement, body), *_changes(statement)):
            yield function, statement, body, change


def _statements(node: ast.AST, function: str) -> Iterator[tuple[str, ast.stmt, _Body]]:
    """Yield the statements below a node that are worth a change, with the function around each."""
    for field in ("body", "orelse", "handlers", "cases", "finalbody"):
        below = getattr(node, field, None)
        for index, child in enumerate(below if isinstance(below, list) else ()):
            if isinstance(child, ast.If) and _text(child) == "if TYPE_CHECKING:":
                continue
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = child.name if function == "module" else f"{function}.{child.name}"
                yield from _statements(child, name)
                continue
            if isinstance(child, ast.stmt):
                yield function, child, (node, field, index)
            yield from _statements(child, function)


def _text(statement: ast.stmt) -> str:
    """Return the first line of a statement, or all of one that is no block."""
    return ast.unparse(statement).partition("\n")[0]


def _deletions(statement: ast.stmt, body: _Body) -> Iterator[_Change]:
    """Yield the removal of a statement without which the code still runs."""
    match statement:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            pass
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            pass
        case _:
            return
    node, field, index = body
    statements = list(getattr(node, field))
    statements[index] = ast.Pass()
    yield _Change(node, field, statements)


def _changes(statement: ast.stmt) -> Iterator[_Change]:
    """Yield the changes of a statement's own expressions."""
    if isinstance(statement, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return  # of a raised error the words
    if isinstance(statement, ast.Return) and statement.value is not None:
        yield _Change(statement, "value", ast.Constant(None))
    for node in _expressions(statement):
        yield from _changes_of(node)


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a statement and the expressions in it; no statements below it, annotations, texts in words."""
    yield node
    skipped = {"annotation", "returns", "body", "orelse", "handlers", "cases", "finalbody"}
    if isinstance(node, ast.expr):
        skipped = {"annotation"}
    for field, value in ast.iter_fields(node):
        if field in skipped or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr | ast.comprehension | ast.keyword | ast.withitem):
                yield from _expressions(child)


def _changes_of(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=[operator]):
            for table in (_NEGATED, _SHIFTED):
                if type(operator) in table:
                    yield _Change(node, "ops", [table[type(operator)]()])
        case ast.BoolOp():
            yield _Change(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield _Change(node, "op", ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
        case ast.Constant(value=bool(value)):
            yield _Change(node, "value", not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (_Change(node, "value", value + step) for step in (1, -1))
        case ast.Constant(value=str(value)) if value and " " not in value:
            yield _Change(node, "value", f"{value}x")
        case ast.If() | ast.While() | ast.IfExp():
            yield from _negations(node, node.test)


def _negations(node: ast.AST, test: ast.expr) -> Iterator[_Change]:
    """Yield the negation of a condition; that of a comparison is among its own changes."""
    match test:
        case ast.Compare(ops=[_]):
            return
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Change(node, "test", operand)
        case _:
            yield _Change(node, "test", ast.UnaryOp(ast.Not(), test))


def chosen(mutants: Iterable[Mutant], most: int, seed: int) -> list[Mutant]:
    """Return `most` of the mutants: from each file as many, as far as it has them, the files in turn."""

    def rank(mutant: Mutant) -> bytes:
        return blake2b(f"{seed} {mutant.name}".encode(), digest_size=8).digest()

    by_file: dict[str, list[Mutant]] = {}
    for mutant in sorted(mutants, key=rank):
        by_file.setdefault(mutant.path, []).append(mutant)
    rounds = enumerate(max(map(len, by_file.values()), default=0) * [None])
    turns = [left[turn] for turn, _ in rounds for left in by_file.values() if turn < len(left)]
    return turns[:most]


# ── runs of the tests ──


class Worker:
    """A copy of the repository, and a process that runs tests there, each run in a fork of its own."""

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self._folder = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
            else:
                shutil.copy2(ROOT / name, folder / name)
        for path in files:  # so that a mutant differs from the whole package by its change alone
            self.write(path, ast.unparse(ast.parse((ROOT / path).read_text(encoding="utf-8"))))
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def write(self, path: str, source: str) -> None:
        """Write a file of the package. Its bytecode goes: of the same second and size it would be taken."""
        file = self._folder / path
        for bytecode in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            bytecode.unlink()
        file.write_text(source, encoding="utf-8")

    def read(self, path: str) -> str:
        """Return a file of the package."""
        return (self._folder / path).read_text(encoding="utf-8")

    def fails(self, tests: Sequence[str], timeout: float) -> bool:
        """Return True if a test fails, or if they have no end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([list(tests), timeout]), file=self._process.stdin, flush=True)
        return bool(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def serve(requests: IO[str], replies: IO[str]) -> None:
    """Run the tests that each line names in a fork of this process; the reply is whether they fail."""
    import hypothesis
    import pytest

    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)
    sys.path[0] = str(Path.cwd())
    hypothesis.settings.register_profile(
        "mutants", max_examples=EXAMPLES, deadline=None, derandomize=True, database=None
    )
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported already
    for line in requests:
        tests, timeout = json.loads(line)
        if (child := os.fork()) == 0:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os._exit(pytest.main([*options, "--hypothesis-profile=mutants", *tests]))
        print(json.dumps(_failed(child, timeout)), file=replies, flush=True)


def _failed(child: int, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status != 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def tests_of(path: str) -> list[str]:
    """Return the tests that run against the mutants of a file, those that mirror it first."""
    stem = Path(path).stem
    names = next((tests.split() for stems, tests in FAMILIES if stem in stems.split()), [stem])
    mirrors_first = sorted(names, key=lambda name: name != stem)
    found = (each for name in mirrors_first for each in sorted((ROOT / "tests").rglob(f"test_{name}.py")))
    return [str(each.relative_to(ROOT)) for each in found]


def fates(mutants: Sequence[Mutant], options: Namespace) -> dict[Mutant, bool]:
    """Return which mutants survive; an interrupt ends it early, with those that are settled."""
    paths = sorted({mutant.path for mutant in mutants})
    tests = {path: options.tests or tests_of(path) for path in paths}
    survived: dict[Mutant, bool] = {}
    free: SimpleQueue[Worker] = SimpleQueue()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for number in range(options.at_once):
            worker = Worker(folder / str(number), paths)
            stack.callback(worker.close)
            free.put(worker)
        timeouts = _timeouts(worker, tests)
        threads = stack.enter_context(ThreadPoolExecutor(options.at_once))

        def settle(mutant: Mutant) -> None:
            worker = free.get()
            whole = worker.read(mutant.path)
            try:
                worker.write(mutant.path, mutated(whole, mutant.site))
                survived[mutant] = not worker.fails(tests[mutant.path], timeouts[mutant.path])
            finally:
                worker.write(mutant.path, whole)
                free.put(worker)
            if survived[mutant]:
                place = f"{mutant.path}:{mutant.line}  {mutant.function}"
                print(f"\n{place}\n    {mutant.before}\n  → {mutant.after}", flush=True)
            else:
                print(".", end="", file=sys.stderr, flush=True)

        try:
            for future in [threads.submit(settle, mutant) for mutant in mutants]:
                future.result()
        except KeyboardInterrupt:
            threads.shutdown(cancel_futures=True)
    return survived


def _timeouts(worker: Worker, tests: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return how long the tests of each file may take; `SystemExit` if they fail without any change."""
    timeouts: dict[frozenset[str], float] = {}
    for names in tests.values():
        begun = time.monotonic()
        if frozenset(names) in timeouts:
            continue
        if worker.fails(names, 3600.0):
            raise SystemExit(f"without any change these tests fail: {', '.join(names)}")
        timeouts[frozenset(names)] = max(LEAST_TIMEOUT, _SLOWER * (time.monotonic() - begun))
    return {path: timeouts[frozenset(names)] for path, names in tests.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make mutants, run the tests against them, and print those that survive."""
    parser = ArgumentParser(
        prog="python -m benchmarks.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("files", nargs="*", help="files below the repository [those of the families]")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument("--most", type=int, default=200, help="mutants [%(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of the choice [%(default)s]")
    parser.add_argument("--tests", nargs="+", help="tests to run [those that mirror the files]")
    parser.add_argument("--at-once", type=int, default=2, help="processes [%(default)s]")
    parser.add_argument("--save", type=Path, help="a file for the names, `killed` or `survived` each")
    parser.add_argument("--serve", action="store_true", help="run tests for another process")
    options = parser.parse_args(arguments)
    if options.serve:
        serve(sys.stdin, sys.stdout)
        return
    files = options.files or _default_files()
    every = [mutant for path in files for mutant in mutants_of(path, (ROOT / path).read_text("utf-8"))]
    mutants = chosen([mutant for mutant in every if options.only in mutant.name], options.most, options.seed)
    survived = fates(mutants, options)
    _report(survived)
    if options.save:
        lines = sorted(
            f"{'survived' if lives else 'killed'}  {each.name}\n" for each, lives in survived.items()
        )
        options.save.write_text("".join(lines), encoding="utf-8")


def _default_files() -> list[str]:
    stems = {stem for names, _ in FAMILIES for stem in names.split()}
    found = sorted((ROOT / "chatrest").rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in found if path.stem in stems]


def _report(survived: Mapping[Mutant, bool]) -> None:
    made = Counter(mutant.path for mutant in survived)
    left = Counter(mutant.path for mutant, lives in survived.items() if lives)
    print()
    for path, count in sorted(made.items()):
        print(f"{count - left[path]:4} of {count:3}  {path}")
    print(f"{made.total() - left.total():4} of {made.total():3}  are killed")


if __name__ == "__main__":
    main()
