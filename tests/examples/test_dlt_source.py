"""The example that loads an export with dlt, here into DuckDB."""

import json
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from chatrest.export import changes, read_raw, read_table
from tests.stored import StoredRuns, record

dlt = pytest.importorskip("dlt", reason="dlt is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from chatrest.examples import dlt_source  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:dlt")


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")


def asked(path: str, sql: str) -> list[Any]:
    with duckdb.connect(path) as database:
        rows: list[Any] = database.execute(sql.replace("FROM ", "FROM chat_export.")).fetchall()
    return rows


def cut(out: str, *, after: int) -> Any:
    """Give three changes, and fail."""
    news = changes(out, after=after)

    def told() -> Iterator[Any]:
        yield from islice(news, 3)
        raise OSError("the disk has failed")

    return type("Cut", (), {"run": news.run, "__iter__": lambda _: told()})()


@pytest.mark.usefixtures("fast_ramp")
def test_night_after_night_duckdb_holds_what_the_export_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights, other = [], StoredRuns(tmp_path)
    other.run([record(1)])

    def load(out: str, path: str, load: Any = dlt_source.load) -> str:
        if nights:
            monkeypatch.setattr(dlt_source, "changes", cut)
            with pytest.raises(Exception, match="the disk has failed"):
                load(out, path)
            monkeypatch.setattr(dlt_source, "changes", changes)
            assert len(asked(path, "SELECT id FROM messages")) == 402
        load(out, path)
        nights.append(out)
        deleted = {each.id for each in changes(out, after=len(nights) - 1) if each.kind == "deleted"}
        stored = {each["id"]: each for each in map(json.loads, read_raw(out)) if each["id"] not in deleted}
        rows = asked(path, "SELECT id, record, text FROM messages")
        assert len(rows) == len(stored) == [402, 406][len(nights) - 1]
        assert {key: json.loads(kept) for key, kept, _ in rows} == stored
        assert ("good evening" in {text for _, _, text in rows}) == (len(nights) == 2)
        users = sorted(json.loads(each)["uid"] for each in read_table(out, "users"))
        assert [uid for (uid,) in asked(path, "SELECT uid FROM users ORDER BY uid")] == users
        with pytest.raises(Exception, match="is not the export that was loaded last"):
            load(str(other.folder), path)
        shutil.rmtree(f"{path}.dlt")  # the state is in the database, too
        return ""

    monkeypatch.setattr(dlt_source, "load", load)
    dlt_source.main([])
    assert len(nights) == 2
