"""The folder of messages as a dataset: pandas, polars, pyarrow and duckdb read it as it is.

They run in a separate process, once for all tests, with their threads and warnings.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatrest._core.replies.rows import row_of
from chatrest.export.plan.ownership import Source
from tests.support.cases import loop_over
from tests.support.exported_files import BOB, OCTOBER, SEPTEMBER, Export, files, ids, page

READER = """
import json, sys, warnings
import duckdb, pandas, polars, pyarrow.dataset
ID = "id"
def tables(folder, format, suffix, key):
    files = f"{folder}/**/*.{suffix}"
    if format == "parquet":
        yield "pandas", pandas.read_parquet(folder).to_dict("records")
        yield "polars", polars.read_parquet(folder).to_dicts()
        yield "polars scan", polars.scan_parquet(files, hive_partitioning=True).collect().to_dicts()
    else:
        yield "polars scan", polars.scan_ndjson(files, infer_schema_length=None).collect().to_dicts()
    if suffix != "ndjson.zst":
        options = {} if format == "parquet" else {"format": "json"}
        dataset = pyarrow.dataset.dataset(folder, partitioning="hive", **options)
        yield "pyarrow", dataset.to_table(columns=[ID, key] if key else [ID]).to_pylist()
    function = "read_parquet" if format == "parquet" else "read_json"
    relation = duckdb.sql(f"FROM {function}('{files}', hive_partitioning=true)")
    yield "duckdb", relation.to_arrow_table().to_pylist()
found = {}
for line in sys.stdin:
    name, *rest, key = json.loads(line)
    for library, rows in tables(*rest, key):
        pairs = [[row[ID], str(row[key]) if key in row else ""] for row in rows]
        found[f"{name} {library}"] = sorted(pairs, key=lambda pair: (len(pair[0]), pair))
print(json.dumps(found))
"""
ODD = Source("user", ("Å b/c=d",))
KINDS = [("ndjson", "none"), ("ndjson", "gzip"), ("ndjson", "zstd"), ("parquet", "zstd"), ("parquet", "none")]
SHELVES = [
    *((*kind, "month") for kind in KINDS),
    *((kind, "none", key) for kind in ("ndjson", "parquet") for key in ("none", "source", "day")),
]
SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst"}
KEYS = {
    "none": dict.fromkeys(map(str, range(1, 9)), ""),
    "source": {str(number): "user-alice" if number < 7 else "user-Å b/c=d" for number in range(1, 9)},
    "month": {str(n): "2020-09" if n < 4 else "2020-10" if n < 6 else "undated" for n in range(1, 9)},
    "day": {str(n): "2020-09-13" if n < 4 else "2020-10-06" if n < 6 else "undated" for n in range(1, 9)},
}
LIBRARIES = {
    "ndjson": {"polars scan", "pyarrow", "duckdb"},
    "parquet": {"pandas", "polars", "polars scan", "pyarrow", "duckdb"},
}


def write(folder: Path, format: str, compress: str, partition: str) -> None:
    """Write messages 1 to 8 of two sources, some of which have no time."""
    media = {"text": "look", "attachments": [{"url": "https://example.com/x", "size": 3}]}
    with Export(folder, format=format, compress=compress, partition=partition) as out:
        with out.journal.transaction():
            out.journal.add_sources([ODD])
        out.add([*page(1, 3, SEPTEMBER, data=media), *page(4, 2, OCTOBER), row_of(b'{"id":"6"}')])
        out.add([row_of(b'{"id":"7"}'), row_of(b'{"id":"8","sender":"bob"}')], ODD)
        out.done()


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    base, lines = tmp_path_factory.mktemp("datasets"), []
    for kind, compress, partition in SHELVES:
        folder = base / f"{kind}-{compress}-{partition}"
        write(folder, kind, compress, partition)
        suffix = "parquet" if kind == "parquet" else f"ndjson{SUFFIXES[compress]}"
        key = "" if partition == "none" else partition
        lines.append(json.dumps([folder.name, str(folder / "messages"), kind, suffix, key]))
    done = subprocess.run(
        [sys.executable, "-c", READER], input="\n".join(lines), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


@loop_over(("format", "compress", "partition"), SHELVES)
def test_libraries_read_the_folder_without_conversion(
    format: str, compress: str, partition: str, read: dict[str, Any]
) -> None:
    name = f"{format}-{compress}-{partition}"
    results = {key.partition(" ")[2]: rows for key, rows in read.items() if key.startswith(f"{name} ")}
    # pyarrow opens JSON files with zstd by no option; pandas, polars and duckdb need none.
    expected = LIBRARIES[format] - ({"pyarrow"} if (format, compress) == ("ndjson", "zstd") else set())
    assert set(results) == expected
    for library, rows in results.items():
        # polars makes no column of the folders' names where it reads lines.
        has_key = not (format == "ndjson" and library == "polars scan")
        keys = {number: key if has_key else "" for number, key in KEYS[partition].items()}
        assert rows == [list(pair) for pair in keys.items()], library


def test_no_partition_has_the_name_of_a_column() -> None:
    from chatrest.export.formats.parquet import SCHEMA
    from chatrest.export.plan.export_plan import PARTITIONS

    assert not set(SCHEMA.names) & set(PARTITIONS)


@pytest.mark.parametrize(
    ("format", "compress", "suffix", "partition", "folders"),
    [
        ("ndjson", "none", "ndjson", "none", [""]),
        ("ndjson", "zstd", "ndjson.zst", "month", ["month=2020-09/", "month=2020-10/", "month=undated/"]),
        ("parquet", "zstd", "parquet", "day",
         ["day=2020-09-13/", "day=2020-09-14/", "day=2020-10-06/", "day=undated/"]),
    ],
)  # fmt: skip
def test_files_have_hive_names(
    format: str, compress: str, suffix: str, partition: str, folders: list[str], tmp_path: Path
) -> None:
    with Export(tmp_path, format=format, compress=compress, partition=partition) as out:
        out.add([*page(1, 2), *page(3, 2, SEPTEMBER + 43_200), *page(5, 1, OCTOBER * 1000)])
        out.add([row_of(b'{"id":"6"}'), *page(7, 1)], BOB)
        out.done()
        assert list(out.export.store.written) == list(range(1, 8))
    names = [re.sub(r"-0000[0-9]-[0-9a-f]{8}\.", ".", name) for name in files(tmp_path)]
    assert sorted(names) == sorted(f"messages/{folder}messages.{suffix}" for folder in folders)
    assert ids(tmp_path) == list(range(1, 8))
