"""Each benchmark runs in its smallest size and prints its table; no time is asserted."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip("pydantic")
pytest.importorskip("distributed")
pytest.importorskip("jinja2")

from benchmarks import (
    __main__ as command,
    ahead,
    database,
    decode,
    export,
    fan_out,
    import_time,
    instructions,
    memory_uses,
    pace,
    pictures,
    registry,
    report,
    scale,
    site,
    waits,
)
from benchmarks.fixed_server import run_server
from benchmarks.server import ServerProcess
from chatrest import App
from tests.support.pages import README

pytestmark = pytest.mark.nightly

MESSAGES = 250


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with ServerProcess(MESSAGES) as running:
        yield running


@pytest.fixture(scope="module")
def replies() -> Iterator[App]:
    """The app of a server with fixed replies."""
    with run_server() as app:
        yield app


@pytest.fixture(autouse=True)
def prepared(server: ServerProcess, replies: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the benchmarks the two servers, and the counts that other programs would take long for."""
    monkeypatch.setattr(pace, "ROWS", pace.ROWS[:1])
    for module in (decode, fan_out):
        monkeypatch.setattr(module, "run_server", lambda: nullcontext(replies), raising=False)
    for each in (ahead, instructions):
        monkeypatch.setattr(each, "ServerProcess", lambda _: nullcontext(server))
    counts = {"ours": 20_000, "hand": 10_000}
    uses = instructions.USES
    monkeypatch.setattr(instructions, "_count", lambda client, *_: dict.fromkeys(uses, counts[client]))
    monkeypatch.setattr(instructions.shutil, "which", str)
    monkeypatch.setattr(import_time, "import_seconds", lambda statement: len(statement) / 1000)
    monkeypatch.setattr(export, "has_dlt", lambda: False)


@pytest.mark.parametrize(
    ("benchmark", "arguments", "rows"),
    [
        (decode.main, "--rounds=1 --messages=20", 16),
        (ahead.main, f"--rounds=1 --pages=3 --latency=1 --messages={MESSAGES}", 6),
        (fan_out.main, "--rounds=1 --users=20 --at-once=5", 3),
        (pace.main, "--settle=1 --seconds=1", 11),
        (site.main, "--messages=200 --users=3", 3),
        (database.main, "--messages=200 --users=3", 3),
        (export.main, "--rounds=1 --dlt-rounds=1 --messages=3000 --users=3", 12),  # at least two pages
        (import_time.main, "--rounds=1", len(import_time.STATEMENTS) - 1),
        (instructions.main, "--calls=10", len(instructions.USES)),
        (waits.main, "--rounds=1 --waiting=10 --hanging=110 --seconds=1 --calls=2", 5),
        (scale.main, "--limits=40 --windows=bucket --workers=1 --seconds=1 --latency=1", 1),
    ],
)
def test_a_benchmark_prints_its_table(
    benchmark: Callable[[list[str]], None], arguments: str, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark(arguments.split())
    assert len(capsys.readouterr().out.partition("\n---")[2].splitlines()[1:]) >= rows


@pytest.mark.parametrize("name", memory_uses.USES)
async def test_a_use_is_measured(name: str, replies: App, server: ServerProcess) -> None:
    url, count = (server.app.chat_url, MESSAGES) if "walk" in name else (replies.chat_url, 3)
    assert await memory_uses.USES[name](url, count) is None


@pytest.mark.parametrize("client", ["ours", "hand"])
@pytest.mark.parametrize("use", instructions.USES.values(), ids=instructions.USES)
async def test_a_use_is_counted(
    use: instructions.Use, client: str, replies: App, server: ServerProcess
) -> None:
    await instructions.repeat(use, client, server.app if use.messages else replies, 2)


def test_the_pictures_of_the_readme_are_drawn(tmp_path: Path, fast_ramp: None) -> None:
    pictures.draw(tmp_path, users=3, messages=200, delay=0.0)
    names = {path.name for path in tmp_path.iterdir()}
    assert names
    assert {name for name in names if f"chatrest/guide/pictures/{name}" in README} == names
    stored = (pictures.FOLDER / "completion.svg").read_text(encoding="utf-8")
    assert stored == pictures.svg(pictures.completion(), "a typed walk")


def test_the_results_page_is_made_of_stored_results_of_every_benchmark() -> None:
    stored = report.load(command.RESULTS)
    page = (command.FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert page == report.results_page(stored)
    assert [each.name for each in stored.runs] == list(registry.NAMES)
