"""`export`: its options, its ends, and what it shows on the way; here, and in processes of its own."""

import errno
import io
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from chatrest import MessageQuery, RequestInvalidError
from chatrest.cli import export as command_module, streams
from chatrest.cli.export import FORMATS, NOT_A_FILTER, WORKERS, export
from chatrest.cli.exporting.gauge import Figures, Gauge
from chatrest.cli.exporting.log import EVERY, Log
from chatrest.cli.exporting.terminal import rendered
from chatrest.cli.exporting.words import about, estimated, lasted, moment, roughly, summary
from chatrest.cli.filters import FilterOption
from chatrest.cli.root import root
from chatrest.emulator import Emulator
from chatrest.export import Failure, Plan, Progress, Report, crew, plan as plans
from chatrest.export.disk import Disk
from chatrest.export.journal import Journal
from chatrest.export.progress import Active

from .conftest import SECRETS, Front, Served, complaint

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[bytes]]
Fronted = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Front]

PATIENCE = 20.0


@pytest.fixture(autouse=True)
def called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/of/a/venv/bin/chatrest"])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def ids_of(out: Path) -> list[int]:
    """The ids of all messages below a folder, each as often as it stands there."""
    lines = [line for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


def all_ids(service: Served) -> list[int]:
    """What users' lists hold: not what the app itself has sent to a group."""

    def held(emulator: Emulator) -> set[int]:
        store = emulator.store
        return {each for uid in store.people.uids() for each in store.ids(participant=uid)}

    return sorted(service.ask(held))


def told(result: Result) -> dict[str, str]:
    """The summary: its lines by their first word."""
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())


# ── options ──


def planned(*args: str) -> Plan | None:
    """The plan that some arguments make."""
    given = export.make_context("export", ["out", *args], help_option_names=["-h", "--help"]).params
    own = ("out", "recheck", "workers", "dry_run", "quiet")
    return command_module._plan_of({name: value for name, value in given.items() if name not in own})


def parsed(*args: str) -> dict[str, Any]:
    return export.make_context("export", ["out", *args], help_option_names=["-h", "--help"]).params


def test_the_words_are_those_of_a_plan() -> None:
    options = {param.name: param for param in export.params}
    for name, words in (
        ("format_", plans.FORMATS),
        ("compress", plans.COMPRESS),
        ("partition", plans.PARTITIONS),
    ):
        choice = options[name].type
        assert isinstance(choice, click.Choice)
        assert tuple(choice.choices) == words
    assert set(NOT_A_FILTER) == set(plans._NOT_A_FILTER)
    assert crew.WORKERS == WORKERS


@pytest.mark.parametrize(
    ("args", "plan"),
    [
        ([], None),
        (["--all-users"], Plan(all_users=True)),
        (["--user", "a", "--user", "b"], Plan(users=["a", "b"])),
        (["--pair", "b", "a", "--pair", "c", "d"], Plan(pairs=[("a", "b"), ("c", "d")])),
        (["--group", "g", "--all-users"], Plan(groups=["g"], all_users=True)),
        (["--everything"], Plan(everything=True)),
        (["--since", "1000000"], Plan(since=1_000_000)),
        (["--until", "2026-11-01"], Plan(until=1_793_577_599)),
        (["--format", "parquet"], Plan(format="parquet")),
        (["--format", "sqlite", "--user", "a"], Plan(format="sqlite", users=["a"])),
        (["--compress", "gzip", "--partition", "month"], Plan(compress="gzip", partition="month")),
        (["--types", "text", "--types", "image"], Plan(query=MessageQuery(types=["text", "image"]))),
        (["--no-has-links", "--sender", "a"], Plan(query=MessageQuery(has_links=False, sender="a"))),
    ],
)
def test_options_make_a_plan(args: list[str], plan: Plan | None) -> None:
    assert planned(*args) == plan
    assert plan is None or planned(*args, "--workers", "3", "--recheck", "7d", "--quiet", "--dry-run") == plan


def test_every_filter_that_a_plan_takes_is_an_option() -> None:
    names = {param.name for param in export.params if isinstance(param, FilterOption)}
    fields = set(MessageQuery.__struct_fields__) - set(NOT_A_FILTER)
    assert names == {f"filter_{name}" for name in fields}


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("0", 0, 0),
        ("1793491200123", 1_793_491_200_123, 1_793_491_200_123),
        ("1970-01-02", 86_400, 172_799),
        ("2026-11-01", 1_793_491_200, 1_793_577_599),
        ("9999-12-31", 253_402_214_400, 253_402_300_799),
        ("2026-11-01T12:00", 1_793_534_400, 1_793_534_400),
        ("2026-11-01 12:00:30", 1_793_534_430, 1_793_534_430),
        ("2026-11-01T12:00:00Z", 1_793_534_400, 1_793_534_400),
        ("2026-11-01T12:00:00+02:00", 1_793_527_200, 1_793_527_200),
        ("2026-11-01T12:00:00.5Z", 1_793_534_401, 1_793_534_400),
    ],
)
def test_a_moment_is_a_number_or_a_date(text: str, since: int, until: int) -> None:
    assert parsed("--since", text)["since"] == since
    assert parsed("--until", text)["until"] == until


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)],
)
def test_how_long_ago(text: str, seconds: int) -> None:
    assert parsed("--recheck", text)["recheck"] == seconds


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--since", "tomorrow"], "a whole number of seconds since 1970, a date such as 2026-11-01"),
        (["--since", "1969-12-31"], "'--since'"),
        (["--since", "-1"], "'-1'"),
        (["--until", "2026-02-30"], "'2026-02-30'"),
        (["--until", "2026-11-01T25:00"], "T25:00"),
        (["--until", "9" * 19], "'--until'"),
        (["--until", "2026-W01-1"], "'2026-W01-1'"),
        (["--until", "0001-01-01"], "'--until'"),
        (["--recheck", "7"], "a whole number from 1 with s, m, h, d or w, such as 7d"),
        (["--recheck", "0d"], "'0d'"),
        (["--recheck", "-1d"], "'-1d'"),
        (["--recheck", "1.5h"], "'1.5h'"),
        (["--format", "csv"], "'--format'"),
        (["--compress", "zip"], "'--compress'"),
        (["--partition", "day"], "'--partition'"),
        (["--workers", "0"], "1<=x<=90"),
        (["--pair", "a"], "requires 2 arguments"),
        (["--pair", "a", "a"], "two different uids"),
        (["--user", ""], "users = ''"),
        (["--everything", "--all-users"], "everything"),
        (["--since", "2026-11-02", "--until", "2026-11-01"], "ends before it begins"),
        (["--format", "sqlite", "--compress", "gzip"], "a database is one file"),
        (["--affix", "append"], "--affix"),
        (["--limit", "3"], "--limit"),
        (["--api-key", "x"], "--api-key"),
        ([], "Missing argument 'OUT'"),
    ],
)
def test_wrong_values_are_one_line_and_2_and_nothing_is_made(
    command: Run, out: Path, args: list[str], words: str
) -> None:
    assert words in complaint(command("export", *([str(out)] if args else []), *args), 2)
    assert not out.exists()


def test_help_tells_how_it_goes_on_and_is_fast() -> None:
    code = (
        "import sys; from chatrest.cli.root import root\n"
        "try: root.main(['export', '--help'])\n"
        "except SystemExit: assert not {'aiohttp', 'rich'} & {*sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    words = " ".join(done.stdout.split())
    for each in (
        "Examples:",
        "journal.sqlite",
        "manifest.json",
        "Exit status: 0",
        "END of that day",
        "Filters:",
    ):
        assert each in words


# ── from beginning to end ──


def test_all_users_is_the_default_and_a_second_run_has_nothing_to_do(
    service: Served, command: Run, out: Path
) -> None:
    first = command("export", str(out))
    assert first.exit_code == 0
    assert ids_of(out) == all_ids(service)
    count = len(all_ids(service))
    found = told(first)
    assert found["export"] == f"{out}, ndjson, whole"
    assert found["messages"] == f"{count:,}, of them {count:,} new"
    assert found["sources"] == "6"
    assert found["requests"].endswith(", 0 answered 429")
    assert "messages/s" in found["time"]
    assert "MB" in found["files"]
    assert "\x1b" not in first.output
    again = command("export", str(out))
    assert told(again)["messages"] == f"{count:,}, of them 0 new"
    assert "messages/s" not in told(again)["time"]


def test_what_is_new_comes_with_the_next_run_and_the_plan_need_not_be_said_again(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    with Served(users=3, messages=40) as served:

        def run(*args: str) -> dict[str, str]:
            result = CliRunner().invoke(root, args, env=served.env)
            assert (result.exit_code, result.stderr) == (0, "")
            return told(result) if args[0] == "export" else {}

        assert run("export", out, "--everything", "--quiet")["messages"] == "40, of them 40 new"
        run("send", "user-01", "one more", "--on-behalf-of", "user-02")
        assert run("export", out, "--quiet")["messages"] == "41, of them 1 new"
        assert run("export", out, "--quiet", "--everything")["messages"] == "41, of them 0 new"
    assert ids_of(Path(out)) == list(range(1, 42))


@pytest.mark.parametrize("args", [["--quiet"], []])
def test_progress_elsewhere_is_plain_lines_and_quiet_is_none(
    command: Run, front: Fronted, out: Path, args: list[str]
) -> None:
    def slow(number: int, _: str) -> None:
        time.sleep(0.3 if number == 1 else 0)

    with front(slow) as url:
        result = command("export", str(out), "--user", "user-01", *args, CHATREST_BASE_URL=url)
    lines = result.stderr.splitlines()
    assert result.exit_code == 0
    assert bool(lines) != bool(args)
    assert all(line.startswith("chatrest: ") for line in lines)


def test_filters_and_times_reach_the_service(
    service: Served, command: Run, out: Path, tmp_path: Path
) -> None:
    result = command("export", str(out), "--user", "user-01", "--categories", "call", "--quiet")
    assert result.exit_code == 0
    lines = [json.loads(line) for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    assert {line["category"] for line in lines} == {"call"}
    half = sorted(line["sentAt"] for line in lines)[len(lines) // 2]
    early = tmp_path / "early"
    command(
        "export", str(early), "--user", "user-01", "--categories", "call", "--until", str(half), "--quiet"
    )
    assert 0 < len(ids_of(early)) < len(lines)


def test_another_plan_is_refused_by_name(command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    for more in ([], ["--dry-run"]):
        line = complaint(command("export", str(out), "--user", "user-02", *more), 2)
        assert "users is ('user-01',), and not ('user-02',)" in line
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0


def test_somebody_elses_folder_is_not_touched(command: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    assert "is not touched" in complaint(command("export", str(tmp_path)), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_recheck_tells_what_it_found(service: Served, command: Run, out: Path) -> None:
    assert command("export", str(out), "--user", "user-01", "--quiet").exit_code == 0
    result = command("export", str(out), "--recheck", "520w", "--quiet")
    assert result.exit_code == 0
    assert "changed" not in told(result)
    report = Report(complete=True, changed=3, vanished=1)
    lines = list(summary(report, Progress(), "out", command_module.Files("ndjson", 1, 10**7), 1.0))
    assert any(line.startswith("changed   3;") for line in lines)
    assert any(line.startswith("vanished  1 that") for line in lines)


# ── failures ──


def test_a_source_that_fails_is_a_line_and_the_rest_is_written(
    service: Served, command: Run, out: Path
) -> None:
    result = command("export", str(out), "--group", "nowhere", "--user", "user-01", "--quiet")
    assert result.exit_code == 1
    first, last = result.stderr.splitlines()
    assert first.startswith("chatrest: group nowhere: ")
    assert "404" in first
    assert last == ("chatrest: the export is not whole: 1 of 2 sources failed; run the same command again")
    assert told(result)["export"].endswith("NOT WHOLE")
    assert told(result)["sources"] == "2, 1 of them failed"
    assert ids_of(out) == sorted(service.ask(lambda emulator: emulator.store.ids(participant="user-01")))


def test_many_failures_are_cut_short(command: Run, out: Path) -> None:
    groups = [word for each in range(25) for word in ("--group", f"nowhere-{each}")]
    result = command("export", str(out), *groups, "--quiet")
    lines = result.stderr.splitlines()
    assert result.exit_code == 1
    assert len(lines) == 22
    assert lines[20] == f"chatrest: and 5 more: see {out / 'manifest.json'}"


def test_nobody_reads_the_summary_and_the_status_is_right(process: Start, out: Path) -> None:
    for args, status in ((["--user", "user-01"], 0), (["--group", "nowhere"], 1)):
        started = process("export", str(out / args[1]), *args, "--quiet")
        assert started.stdout is not None
        started.stdout.close()
        assert started.wait(PATIENCE) == status


def test_a_wrong_key_says_how_to_go_on(command: Run, out: Path) -> None:
    line = complaint(command("export", str(out), "--quiet", CHATREST_API_KEY="quite-wrong-key"))
    assert "401" in line
    assert line.endswith(
        f"with a key that is allowed in CHATREST_API_KEY, go on with: /of/a/venv/bin/chatrest export {out}"
    )
    assert command("export", str(out), "--quiet").exit_code == 0


def test_a_full_disk_is_one_line(command: Run, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Disk, "write", write)
        line = complaint(command("export", str(out), "--quiet"))
    assert f"{out}/user-user-0" in line
    assert ".ndjson: No space left on device; make room, and go on with: " in line
    assert command("export", str(out), "--quiet").exit_code == 0


def test_a_folder_in_use_is_one_line(process: Start, out: Path) -> None:
    out.mkdir()
    kept = Journal(out / "journal.sqlite")
    for more in ([], ["--dry-run"]):
        started = process("export", str(out), "--quiet", *more)
        _, line = started.communicate(timeout=PATIENCE)
        assert started.returncode == 2
        assert b"another export is writing here" in line
        assert len(line.splitlines()) == 1
    kept.close()


def test_a_missing_environment_is_named_and_nothing_is_made(command: Run, out: Path) -> None:
    assert "CHATREST_APP_ID" in complaint(command("export", str(out), CHATREST_APP_ID=None), 2)
    assert not out.exists()


def test_a_folder_that_cannot_be_made(command: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is no folder" in complaint(command("export", str(tmp_path / "file")), 2)
    line = complaint(command("export", str(tmp_path / "file" / "deeper"), "--quiet"), 1)
    assert "go on" not in line


# ── interrupted ──


@pytest.fixture
def stuck(front: Fronted, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Event]]:
    """A service whose ninth reply never comes."""
    # It finds nobody there when it is let go, and would complain into whichever test comes next.
    monkeypatch.setattr(socketserver.BaseServer, "handle_error", lambda *_: None)
    release, heard = Event(), Event()

    def answer(number: int, _: str) -> None:
        if number == 9:
            heard.set()
            release.wait()

    with front(answer) as url:
        yield url, heard
        release.set()
        for thread in threading.enumerate():
            if "process_request_thread" in thread.name:
                thread.join(PATIENCE)


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by a signal")],
)
def test_an_interrupted_export_goes_on(
    process: Start,
    service: Served,
    stuck: tuple[str, Event],
    out: Path,
    number: signal.Signals,
    status: int,
    word: str,
) -> None:
    url, heard = stuck
    started = process("export", str(out), "--workers", "1", "--all-users", "--quiet", CHATREST_BASE_URL=url)
    assert heard.wait(PATIENCE)
    started.send_signal(number)
    _, line = started.communicate(timeout=PATIENCE)
    assert started.returncode == status
    assert line.decode() == (f"chatrest: {word}; go on with: {sys.executable} -m chatrest export {out}\n")
    kept = ids_of(out)
    assert 0 < len(kept) < len(all_ids(service))
    rest = process("export", str(out), "--quiet")
    assert rest.communicate(timeout=PATIENCE)[1] == b""
    assert rest.returncode == 0
    assert ids_of(out) == all_ids(service)


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own")
def test_a_terminal_shows_lines_that_are_gone_at_the_end(
    service: Served, stuck: tuple[str, Event], out: Path
) -> None:
    url, heard = stuck
    terminal, end = os.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "chatrest", "export", str(out), "--workers", "1"],
        env={**os.environ, **service.env, "TERM": "xterm", "CHATREST_BASE_URL": url, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=end,
    )
    assert heard.wait(PATIENCE)
    shown = b""
    while b"of 6 sources" not in shown:
        shown += os.read(terminal, 1 << 16)
    started.send_signal(signal.SIGINT)
    written, _ = started.communicate(timeout=PATIENCE)
    shown += os.read(terminal, 1 << 16)
    os.close(end)
    os.close(terminal)
    assert started.returncode == 130
    assert written == b""
    assert b"walking" in shown
    assert b"user user-0" in shown
    assert shown.rstrip().endswith(f"export {out}".encode())
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h") == 1  # the cursor is there again


# ── the dry run ──


def test_a_dry_run_writes_nothing(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not out.exists()
    found = told(result)
    assert found["export"] == f"{out}, ndjson; nothing was written"
    assert found["sources"] == "6"
    assert found["messages"].startswith("about ")
    assert found["requests"].startswith("about ")
    assert "with 32 workers" in found["time"]
    assert found["limit"] == "the service told of none"


def test_a_dry_run_of_an_export_that_is_there(command: Run, out: Path) -> None:
    assert command("export", str(out), "--quiet").exit_code == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    result = command("export", str(out), "--dry-run", "--recheck", "2w")
    assert told(result)["sources"] == "6, of which 6 are up to date"
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert "none to read" in told(command("export", str(out), "--dry-run"))["messages"]


def test_an_estimate_is_honest() -> None:
    known: dict[str, Any] = {
        "plan": Plan(), "sources": 100, "sampled": 20, "whole": 0, "refused": [Failure("user x", "404")],
        "untold": 0, "messages": 123_456, "written": 70_000, "bytes": 10**8, "requests": 345,
        "seconds": 7000.0, "latency": 0.05, "page_latency": 0.3, "asked": 24, "rate": 485.0, "window": 60.0,
    }  # fmt: skip
    lines = dict(line.split(maxsplit=1) for line in estimated(SimpleNamespace(**known), "out", 32))  # type: ignore[arg-type]
    assert lines["refused"] == "user x: 404"
    assert lines["messages"].startswith("about 120,000 to read (100.0 MB), about 70,000 of them new")
    assert lines["time"] == "about 2 h, with 32 workers; a request took 50 ms, a page 300 ms"
    assert lines["limit"] == "about 485 requests in 60 s"
    assert "20 sources speak for all" in lines["asked"]
    some = SimpleNamespace(**known | {"untold": 3})
    lines = dict(line.split(maxsplit=1) for line in estimated(some, "out", 32))  # type: ignore[arg-type]
    assert lines["messages"].startswith("at least about 120,000 to read; of 3 sources")
    assert lines["requests"].startswith("at least about")
    none = SimpleNamespace(**known | {"untold": 100, "messages": 0})
    lines = dict(line.split(maxsplit=1) for line in estimated(none, "out", 32))  # type: ignore[arg-type]
    assert lines["messages"] == "not told by the service"


# ── what is shown ──


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.24, "4.2 s"),
        (59.9, "59.9 s"),
        (60, "1:00"),
        (192, "3:12"),
        (3723, "1:02:03"),
        (180_000, "2 d 02:00:00"),
    ],
)
def test_a_time_that_has_passed(seconds: float, text: str) -> None:
    assert lasted(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (3, "a few seconds"),
        (42, "about 40 s"),
        (89, "about 90 s"),
        (250, "about 4 min"),
        (12_100, "about 3 h 20 min"),
        (7_190, "about 2 h"),
        (90_000, "about 1 d 1 h"),
        (172_800, "about 2 d"),
    ],
)
def test_a_time_that_is_guessed(seconds: float, text: str) -> None:
    assert about(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (7, "7"), (99, "99"), (123, "120"), (253_770, "250,000"), (999, "1,000")]
)
def test_a_number_that_is_guessed(number: int, text: str) -> None:
    assert roughly(number) == text


def figures(**changes: Any) -> Figures:
    known: dict[str, Any] = {
        "phase": "walking", "messages": 1_234_567, "rate": 12_345.6, "received": 345_600_000,
        "requests": 2345, "limited": 3, "sources": 200, "done": 123, "failed": 2,
        "changed": 0, "vanished": 0, "elapsed": 192.0,
        "share": 0.63, "left": 250.0, "waits": "waits for the service's rate limit",
        "active": tuple(Active(f"user user-{each:03}", each / 40, each * 1000) for each in range(32)),
    }  # fmt: skip
    return Figures(**known | changes)


def lines_of(shown: Figures, width: int = 80, out: str = "out") -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(rendered(shown, out))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_lines_fit_into_80_columns() -> None:
    lines = lines_of(figures())
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"{'walking  out':<76}3:12"
    assert lines[1].endswith("63%  about 4 min left")
    assert lines[2] == "1,234,567 messages   12,346/s   345.6 MB   2,345 requests   3 × 429"
    assert lines[3] == "123 of 200 sources   2 failed   waits for the service's rate limit"
    assert lines[4].startswith("  user user-000")
    assert lines[5].split()[2:4] == ["1,000", "messages"]
    assert lines[12:] == ["  … and 24 more", ""]


@pytest.mark.parametrize(
    "changes",
    [
        {"share": None, "left": None, "waits": None, "limited": 0, "sources": 0, "active": ()},
        {"messages": 10**12, "received": 10**15, "requests": 10**9, "limited": 10**8, "rate": 1e6},
        {"waits": "the service does not answer: " + "x" * 200},
        {"active": (Active("user \x1b[31m" + "名" * 100, 1.0, 10**9),)},
        {"left": 1e7, "elapsed": 1e7},
    ],
)
@pytest.mark.parametrize("width", [80, 40])
def test_whatever_comes_no_line_wraps_and_none_jumps(changes: dict[str, Any], width: int) -> None:
    shown = figures(**changes)
    lines = lines_of(shown, width, "a/very/long/path/" * 9)
    assert len(lines) == 5 + min(8, len(shown.active)) + (len(shown.active) > 8)
    assert all(len(line) <= width for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_line_of_the_log() -> None:
    assert moment(figures()) == (
        "walking: 1,234,567 messages at 12,346/s, 345.6 MB, 2,345 requests (3 × 429), 123 of 200 sources, "
        "2 failed, 63%, about 4 min left, 3:12, waits for the service's rate limit"
    )
    assert moment(figures(received=0, waits=None)) == "walking: 3:12"


def test_the_log_has_a_line_a_phase_and_one_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(streams, "complain", lines.append)
    with Log() as log:
        for elapsed, phase in ((0.0, "beginning"), (0.1, "walking"), (5.0, "walking"), (EVERY + 1, "walking"),
                               (EVERY + 2, "finishing"), (2 * EVERY + 1, "finishing")):  # fmt: skip
            log.show(figures(elapsed=elapsed, phase=phase))
    assert [line.partition(":")[0] for line in lines] == ["walking", "walking", "finishing"]


class _Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pool(*, active: int = 0, waiting: int = 0, for_places: int = 0) -> Any:
    return SimpleNamespace(active=active, waiting=waiting, places=SimpleNamespace(waiting=for_places))


def test_rates_and_what_is_left_need_something_to_go_by() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    assert gauge.look().left is None
    progress.phase, progress.ids, progress.received = "walking", 1000, 1
    for second in range(1, 31):
        clock.now += 1
        progress.written, progress.covered = 50 * second, 10 * second
        seen = gauge.look()
        assert (seen.left is None) == (second <= 5)
    assert seen.rate == pytest.approx(50)
    assert seen.share == 0.3
    assert seen.left == pytest.approx(70)
    assert seen.elapsed == 30
    progress.trouble = "ConnectError"  # nobody knows for how long
    assert [gauge.look().left is None for _ in range(2)] == [False, True]
    progress.trouble = None
    for _ in range(20):  # a limit strikes: the last ten seconds count, and not the minute
        clock.now += 1
        seen = gauge.look()
    assert seen.rate == 0
    assert seen.left is None
    progress.phase = "finishing"
    assert gauge.look().left is None


def test_nothing_is_said_of_what_is_left_where_ids_are_not_known() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    progress.received = 1
    for _ in range(100):
        clock.now += 1
        progress.written += 1
        seen = gauge.look()
    assert (seen.share, seen.left) == (None, None)
    assert seen.rate == pytest.approx(1)


@pytest.mark.parametrize(
    ("trouble", "pools", "disk", "text"),
    [
        (None, [], False, None),
        (None, [pool(active=32)], False, None),
        ("NotFoundError", [], False, None),
        ("RateLimitError", [], False, "waits for the service's rate limit"),
        (None, [pool(waiting=30)], False, "waits for the service's rate limit"),
        (None, [pool(active=90, waiting=30, for_places=1)], False, None),
        ("ConnectError", [], False, "the service does not answer: ConnectError"),
        ("RequestTimeoutError", [], True, "the service does not answer: RequestTimeoutError"),
        ("ServerError", [], False, "the service fails: ServerError"),
        (None, [], True, "waits for the disk"),
    ],
)
def test_what_it_waits_for_is_said_once_it_lasts(
    trouble: str | None, pools: list[Any], disk: bool, text: str | None
) -> None:
    progress = Progress()
    gauge = Gauge(progress, _Clock())
    progress.trouble, progress.waits_for_disk = trouble, disk
    assert gauge.look(pools).waits is None
    assert gauge.look(pools).waits == text


def test_a_service_that_says_nothing_is_said_to() -> None:
    clock, progress = _Clock(), Progress()
    gauge = Gauge(progress, clock)
    for _ in range(3):
        clock.now += 9
        seen = gauge.look([pool(active=1)])
    assert seen.waits == "waits for an answer of the service, 27 s by now"
    progress.requests += 1
    assert gauge.look([pool(active=1)]).waits is None


def test_while_it_stops_it_says_so() -> None:
    assert Gauge(Progress()).look(stopping=True).phase.startswith("stopping")


def test_no_output_holds_a_key(command: Run, out: Path) -> None:
    result = command("export", str(out), "--group", "nowhere")
    assert not any(secret in result.output for secret in SECRETS)


def test_a_plan_that_is_refused_says_what_is_allowed() -> None:
    with pytest.raises(RequestInvalidError, match="allowed is it alone"):
        planned("--everything", "--user", "a")
    assert FORMATS[0] == "ndjson"
