"""The results of the benchmarks in their one form, and the texts and the plot that are made of them."""

import getpass
import platform
import re
import subprocess
from argparse import Namespace
from datetime import date
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("httpx")
pytest.importorskip("matplotlib")

from benchmarks import __main__ as command, measure, plot, registry, report
from benchmarks.comparison import Comparison, Goal, cells
from benchmarks.meanings import meaning_of
from benchmarks.report import BEGIN, END, Report
from tests.cases import loop_over

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks"
PAGE = command.PAGE.read_text(encoding="utf-8")

WALK = Comparison(
    case="a walk",
    against="by hand",
    unit="µs",
    ours=1.2,
    other=1.0,
    ratio=1.2,
    goal=Goal(1.1),
    is_headline=True,
)
DECODE = Comparison(case="a page", against="`json`", unit="µs", ours=3.0, other=9.0, ratio=1 / 3)
CALL = Comparison(
    case="a call", against="by hand", unit="µs", ours=90.0, other=70.0, ratio=1.3, difference=20.0,
    goal=Goal(25.0, "difference"),
)  # fmt: skip


def report_of(*comparisons: Comparison) -> Report:
    runs = [registry.BenchmarkRun("walk", 12.0, list(comparisons))]
    return report.create(runs, short=True, today=date(2026, 1, 2))


@pytest.fixture(scope="module")
def stored() -> Report:
    return report.load(command.RESULTS)


# ── goals ──


@loop_over(
    ("comparison", "is_met"),
    [
        (WALK, False),
        (msgspec.structs.replace(WALK, ratio=1.1), True),
        (msgspec.structs.replace(WALK, goal=Goal(1.1, is_least=True)), True),
        (msgspec.structs.replace(WALK, goal=Goal(1.3, is_least=True)), False),
        (msgspec.structs.replace(WALK, goal=Goal(1.2, "ours")), True),
        (CALL, True),
        (msgspec.structs.replace(CALL, difference=25.1), False),
        (msgspec.structs.replace(CALL, difference=None), False),
        (DECODE, None),
    ],
)
def test_a_goal_is_about_one_figure(comparison: Comparison, is_met: bool | None) -> None:
    assert comparison.is_met is is_met
    assert cells(comparison)[-1] == {True: "yes", False: "NO", None: ""}[is_met]


@loop_over(
    ("ratio", "text"),
    [(1.3, "1.30"), (1.304, "1.304"), (1.3004, "1.3004"), (1.296, "1.30"), (1.21, "1.21"), (0.0456, "0.046")],
)
def test_a_ratio_has_enough_digits_to_show_if_its_goal_is_met(ratio: float, text: str) -> None:
    assert cells(msgspec.structs.replace(WALK, ratio=ratio, goal=Goal(1.3)))[5] == text


def test_the_cells_of_a_comparison() -> None:
    assert cells(WALK) == ("a walk", "by hand", "µs", "1.2", "1", "1.20", "≤ 1.1", "NO")
    assert cells(CALL)[3:] == ("90", "70", "1.30 (+20.0)", "difference ≤ 25", "yes")
    assert cells(msgspec.structs.replace(DECODE, ours=123456.7))[3] == "123,457"


# ── a benchmark as a value ──


def test_a_benchmark_measures_in_full_in_short_or_in_given_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    measured: list[tuple[int, int]] = []

    def measure_sizes(sizes: Namespace) -> list[Comparison]:
        measured.append((sizes.rounds, sizes.at_once))
        return [WALK]

    sizes = {"rounds": measure.Size("rounds", 9, 3), "at_once": measure.Size("calls at once", 100, 10)}
    benchmark = measure.Benchmark(
        "Calls, {at_once} at once", "{rounds} rounds", sizes, ["msgspec"], measure_sizes
    )
    assert benchmark.compare(True) == benchmark.compare(False) == [WALK]
    benchmark.main(["--short", "--at-once=7"])
    assert measured == [(3, 10), (9, 100), (3, 7)]
    output = capsys.readouterr().out
    assert output.startswith("Calls, 7 at once\n")
    assert "\n3 rounds\n" in output
    assert tuple(re.split(r" {2,}", output.splitlines()[-1])) == cells(WALK)


# ── the registry ──


@loop_over("name", [name for name in registry.NAMES if find_spec(f"benchmarks.{name}")])
def test_every_benchmark_gives_comparisons_and_is_a_command(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert callable(module.compare)
    assert callable(module.main)


def test_a_benchmark_that_is_missing_is_a_row() -> None:
    run = registry.run("nothing_of_this_name", short=True)
    [row] = run.comparisons
    assert cells(row)[:3] == (
        "benchmarks.nothing_of_this_name", "", "not measured: no module benchmarks.nothing_of_this_name",
    )  # fmt: skip
    assert "no module" in report.results_page(report_of(row))
    assert "no module" in report.guide_block(report_of(row), "benchmarks")


def test_a_benchmark_that_fails_or_hangs_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_JSON", "import sys; sys.exit(3) # {!r} {!r}")
    assert [row.failure for row in registry.run("walk", short=True).comparisons] == ["exit status 3"]
    monkeypatch.setattr(registry, "_JSON", "print([]) # {!r} {!r}")
    assert [row.failure for row in registry.run("walk", short=True).comparisons] == ["it gave no comparison"]

    def hang(*args: object, **options: object) -> None:
        raise subprocess.TimeoutExpired("walk", 300)

    monkeypatch.setattr(registry.subprocess, "run", hang)
    assert [row.failure for row in registry.run("walk", short=True).comparisons] == ["not done after 600 s"]


@loop_over(
    ("errors", "text"),
    [
        ("Traceback …\nFileNotFoundError: [Errno 2] No such file: '/home/me/x'\n", "FileNotFoundError"),
        ("Traceback …\naiohttp.client_exceptions.ClientOSError: [Errno 104] 10.0.0.1\n", "ClientOSError"),
        ("ValueError: a\n\nDuring handling …\nAssertionError\n", "AssertionError"),
        ("ModuleNotFoundError: No module named 'httpx'\n", "no module httpx"),
        ("killed\n", "exit status 9"),
    ],
)
def test_a_reason_names_no_file_and_no_machine(errors: str, text: str) -> None:
    assert registry.reason(errors, 9) == text


def test_figures_are_stored_with_four_digits() -> None:
    assert registry.rounded(DECODE).ratio == 0.3333
    assert registry.rounded(msgspec.structs.replace(DECODE, ours=1234567.0, other=None)).ours == 1235000


def test_only_known_benchmarks_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["walk", "run"])
    assert "'run': allowed is any of decode, walk" in capsys.readouterr().err


def test_a_run_of_all_writes_the_results_and_one_of_a_few_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, *, short: bool) -> registry.BenchmarkRun:
        case = f"{name} in {'short' if short else 'full'}"
        return registry.BenchmarkRun(name, 1.0, [msgspec.structs.replace(WALK, case=case)])

    monkeypatch.setattr(registry, "run", run)
    folder = tmp_path / "measured"
    folder.mkdir()
    results, page = folder / "results.json", tmp_path / "costs.md"
    page.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    command.main(["walk", "--full"], results, page)
    assert "walk in full" in capsys.readouterr().out
    assert not results.exists()
    command.main([], results, page)
    assert [each.name for each in report.load(results).runs] == list(registry.NAMES)
    written = page.read_text(encoding="utf-8")
    assert all(f"| {name} in short |  | by hand |" in written for name in registry.NAMES)
    assert "(measured/RESULTS.md)" in written
    page.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    command.main(["--render"], results, page)
    assert page.read_text(encoding="utf-8") == written
    assert {path.name for path in folder.iterdir()} == {"results.json", "results.svg", "RESULTS.md"}


# ── texts ──


def test_the_guide_shows_headlines_and_failures() -> None:
    missed = msgspec.structs.replace(CALL, difference=26.0, case="a late call", is_headline=True)
    broken = Comparison(case="an export", against="dlt", failure="no module dlt")
    block = report.guide_block(report_of(WALK, DECODE, CALL, missed, broken), "benchmarks")
    rows = [line.split(" | ")[0] for line in block.splitlines() if line.startswith("| ")]
    assert rows == ["| measured", "| ---", "| a walk", "| a late call", "| an export"]
    assert block.count("| no |") == 2
    assert "1 of 3 goals are met" in block
    assert "Measured on 2026-01-02 in the short mode, in 0.2 minutes" in block


def test_the_page_of_results_has_every_row() -> None:
    page = report.results_page(report_of(WALK, DECODE))
    assert "| walk | a walk | by hand | µs | 1.2 | 1 | 1.20 | ≤ 1.1 | **NO** |" in page
    assert "| walk | a page | `json` | µs | 3 | 9 | 0.33 |  |  |" in page


def test_a_block_replaces_the_one_before_and_nothing_else() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert report.with_block(page, "new\n") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="the page lacks one of the comments"):
        report.with_block("no comments", "new")


# ── the stored results ──


def test_the_guide_has_what_is_made_of_the_stored_results(stored: Report) -> None:
    assert report.with_block(PAGE, report.guide_block(stored, "../../benchmarks")) == PAGE


def test_the_page_of_results_is_made_of_the_stored_results(stored: Report) -> None:
    assert (FOLDER / "RESULTS.md").read_text(encoding="utf-8") == report.results_page(stored)


def test_no_benchmark_is_absent_from_the_stored_results(stored: Report) -> None:
    assert [run.name for run in stored.runs] == list(registry.NAMES)
    assert all(run.comparisons for run in stored.runs)


def test_the_results_name_the_processor_and_neither_the_machine_nor_a_path(stored: Report) -> None:
    assert stored.machine.processor
    assert stored.machine.cores >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored.date)
    assert {"CPython", "chatrest-client", "aiohttp", "msgspec"} <= stored.versions.keys()
    files = ("results.json", "RESULTS.md", "results.svg")
    for text in [(FOLDER / name).read_text(encoding="utf-8") for name in files]:
        assert not re.search(r"(?<![\w<])/(?:home|root|tmp|work|usr|opt|Users)/", text)
        assert str(ROOT) not in text


def test_the_machine_has_no_name() -> None:
    machine = msgspec.json.encode(report.this_machine()).decode()
    assert not {platform.node(), getpass.getuser()} & set(re.findall(r"[\w.-]+", machine))


# ── the plot ──


def test_the_same_results_give_the_same_plot_without_a_date() -> None:
    results = report_of(WALK, CALL)
    drawing = plot.draw(results)
    assert drawing == plot.draw(results)
    assert "<dc:date>" not in drawing
    assert all(text in drawing for text in ("a walk / by hand", "a call / by hand", plot.MET, plot.NOT_MET))


def test_the_stored_plot_has_a_bar_for_each_shown_row(stored: Report) -> None:
    drawing = (FOLDER / "results.svg").read_text(encoding="utf-8")
    labels = [plot.label(row) for row in plot.shown_rows(stored)]
    texts = [unescape(text) for text in re.findall(r">([^<\n]+)</text>", drawing)]
    assert len(labels) > 10
    assert all(texts.count(label) >= labels.count(label) for label in labels)


def test_every_headline_means_something_and_every_missed_goal_has_a_reason(stored: Report) -> None:
    headlines = [each for each in stored.comparisons() if each.is_headline]
    assert [each.case for each in headlines if not meaning_of(each).text] == []
    missed = [each for each in headlines if each.is_met is False]
    assert [each.case for each in missed if not meaning_of(each).reason] == []
    page = report.guide_block(stored, "benchmarks")
    assert all(page.count(f": {meaning_of(each).reason}\n") == 1 for each in missed)
