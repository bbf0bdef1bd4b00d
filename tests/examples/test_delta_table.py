"""The example that registers an export as a Delta table, which deltalake reads back."""

import re
from pathlib import Path

import pytest

from chatrest.export import compact, read_raw
from tests.stored import DAY, START, StoredRuns, record

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")

from chatrest.examples import delta_table  # noqa: E402
from chatrest.examples.delta_table import LoadError, main, register  # noqa: E402


def raws(table: Path, version: int | None = None) -> list[str]:
    columns = deltalake.DeltaTable(table, version=version).to_pyarrow_table(columns=["raw"])
    return sorted(columns["raw"].to_pylist())


def exported(out: Path) -> list[str]:
    return sorted(raw.decode() for raw in read_raw(out))


def files(out: Path) -> set[tuple[Path, int]]:
    return {(path, path.stat().st_size) for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("partition", ["month", "source"])
def test_each_run_is_a_version_with_the_files_of_the_export(partition: str, tmp_path: Path) -> None:
    runs, table = (
        StoredRuns(tmp_path / "out", "ann %é", format="parquet", partition=partition),
        tmp_path / "t",
    )
    runs.run(record(number, sent_at=START + number * 15 * DAY) for number in range(10))
    assert register(runs.folder, table).startswith("version 1: ")
    first = raws(table)
    assert first == exported(runs.folder)
    runs.run([record(100, sent_at=START)], changed=[record(3, sent_at=START + 45 * DAY, text="edited")])
    assert register(runs.folder, table).startswith("version 2: ")
    assert raws(table) == exported(runs.folder) != first
    assert raws(table, 1) == first, "an older version is readable, though the export has deleted its files"
    assert register(runs.folder, table) == "version 2: nothing new"
    for number in range(8):
        runs.run([record(101 + number, sent_at=START)])
    assert compact(runs.folder)
    before = files(runs.folder)
    assert register(runs.folder, table).startswith("version 3: 1 files added, ")
    deltalake.DeltaTable(table).vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert raws(table) == exported(runs.folder)
    assert files(runs.folder) == before, "the export is as it was, after a vacuum of all that it could find"


@pytest.mark.usefixtures("fast_ramp")
def test_two_nights_of_an_emulated_app_are_two_versions(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    first, second = capsys.readouterr().out.splitlines()
    assert first == "version 1: 2 files added, 0 removed"
    assert re.fullmatch(r"version 2: \d files added, [1-9] removed", second)


def test_the_columns_have_the_types_of_the_files_and_the_partition_is_one(tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out", format="parquet", partition="month")
    reactions = {"text": "hi", "reactions": [{"reaction": "👍", "count": 2}]}
    runs.run([record(1, sent_at=START, data=reactions), record(2, sent_at=START + 90 * DAY)])
    register(runs.folder, tmp_path / "t")
    table = deltalake.DeltaTable(tmp_path / "t")
    fields = {each.name: each for each in table.schema().fields}
    assert {name: fields[name].type.type for name in ("id", "number", "sent_at", "raw_bytes", "month")} == {
        "id": "string", "number": "long", "sent_at": "timestamp", "raw_bytes": "binary", "month": "string",
    }  # fmt: skip
    [row] = table.to_pyarrow_table(filters=[("month", "=", "2020-09")]).to_pylist()
    assert (row["id"], row["sent_at"].isoformat(), row["month"]) == (
        "1",
        "2020-09-13T12:26:40+00:00",
        "2020-09",
    )
    assert row["reactions"] == [{"reaction": "👍", "count": 2}]
    assert table.metadata().partition_columns == ["month"]


def test_what_cannot_be_registered_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    lines = StoredRuns(tmp_path / "lines")
    lines.run([record(1)])
    killed = StoredRuns(tmp_path / "killed", format="parquet")
    killed.run([record(1)])
    killed.run([record(2)], is_killed=True)
    for out, said in (
        ("lines", "no Parquet files"),
        ("killed", "run the export to its end"),
        ("none", "not an"),
    ):
        with pytest.raises(SystemExit, match=said):
            main([str(tmp_path / out), str(tmp_path / "t")])
    assert not (tmp_path / "t").exists()


def test_after_a_kill_it_goes_on_and_of_two_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, table = StoredRuns(tmp_path / "out", format="parquet"), tmp_path / "t"
    runs.run([record(1)])
    with monkeypatch.context() as patch:
        patch.delattr(delta_table, "commit")
        with pytest.raises(NameError):
            register(runs.folder, table)
    assert register(runs.folder, table) == "version 1: 1 files added, 0 removed"
    written = table / "_delta_log" / f"{1:020}.json"
    with pytest.raises(LoadError, match="written by another program meanwhile"):
        delta_table.commit(written, [])
    assert raws(table) == exported(runs.folder)
    assert sorted(path.name for path in written.parent.iterdir()) == [f"{each:020}.json" for each in (0, 1)]
