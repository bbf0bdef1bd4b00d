"""The example of a nightly export that is read with DuckDB."""

import json
import sys
from pathlib import Path

import pytest

from chatrest.examples.nightly_duckdb import main, report_days
from chatrest.export import Plan, runs
from tests.cli.conftest import EmulatorThread
from tests.stored import DAY, START, StoredExport, record

pytestmark = pytest.mark.usefixtures("fast_ramp")


def test_two_nights_of_an_emulated_app_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    printed = capsys.readouterr()
    days = [json.loads(line) for line in printed.out.splitlines()]
    assert (days[0]["messages"], days[0]["most"]) == (7, "user-01")
    first, second = printed.err.splitlines()
    assert first.startswith("402 new messages of 402, ")
    assert second.startswith("5 new messages of 407, ")


def test_the_report_counts_by_day_and_sender(tmp_path: Path) -> None:
    with StoredExport(tmp_path, Plan(users=["ann"], format="parquet", partition="month")) as export:
        times = {1: START, 2: START + DAY, 3: START + DAY, 4: (START + DAY) * 1000, 5: START + 40 * DAY}
        rows = [record(number, sent_at=time, sender="ann") for number, time in times.items()]
        export.commit(
            {"user ann": [*rows, record(6, sent_at=START + DAY, sender="bob"), record(7, sentAt=None)]}
        )
        export.finish()
    assert report_days(tmp_path) == [
        {"day": "2020-10-23", "messages": 1, "senders": 1, "most": "ann"},
        {"day": "2020-09-14", "messages": 4, "senders": 2, "most": "ann"},
        {"day": "2020-09-13", "messages": 1, "senders": 1, "most": "ann"},
    ]


def test_an_app_of_the_environment_is_exported_into_a_folder_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmulatorThread(users=3, messages=20, seed=1) as service:
        for name, value in service.env.items():
            monkeypatch.setenv(name, value)
        main(["--out", str(tmp_path / "lake")])
    assert "20 new messages of 20, " in capsys.readouterr().err
    assert [run.complete for run in runs(tmp_path / "lake")] == [True]


def test_without_duckdb_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SystemExit, match=r"pip install 'chatrest-client\[export,parquet\]' duckdb$"):
        main([])
