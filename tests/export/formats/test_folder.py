"""The folder of messages: the names of its files, in any partition."""

import re
from pathlib import Path

import pytest

from chatrest._core.replies.rows import row_of
from tests.exported_files import BOB, OCTOBER, SEPTEMBER, Export, files, ids, page


@pytest.mark.parametrize(
    ("format", "compress", "suffix", "partition", "folders"),
    [
        ("ndjson", "none", "ndjson", "none", [""]),
        ("ndjson", "gzip", "ndjson.gz", "source", ["source=user-alice/", "source=user-bob/"]),
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
