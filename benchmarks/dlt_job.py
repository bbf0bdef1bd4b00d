"""An export as people make it today: dlt's `rest_api` source into local files, in a process of its own.

`python -m benchmarks.dlt_job --url … --key … --uid … --out DIR --format jsonl --least` writes a line of JSON
when it is done: its CPU seconds, and the rows that lie in its files. Counted is one run, with all its threads
and child processes; importing dlt, and a run over a single row that makes it import the rest, are not.

It is written as dlt's documentation shows: a cursor paginator, the filesystem destination, and nothing
else that is set. `--least` is what costs dlt least: nested members stay JSON texts and do not become tables
of their own (`max_table_nesting`), and its JSONL files are not compressed.
"""

import gzip
import json
import os
import resource
from argparse import ArgumentParser, Namespace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

TABLE: Final = "messages"
_QUIET: Final = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "CRITICAL",
}
_UNPACKED: Final = {"DATA_WRITER__DISABLE_COMPRESSION": "true"}


def config(asked: Namespace) -> dict[str, Any]:
    """What dlt is to read: one user's messages, oldest first, in pages of a thousand."""
    cursor = {
        "type": "cursor",
        "cursor_path": "meta.cursor.id",
        "cursor_param": "id",
        "stop_after_empty_page": True,
    }
    endpoint = {
        "path": f"users/{asked.uid}/messages",
        "params": {"affix": "append", "perPage": asked.size},
        "data_selector": "data",
        "paginator": cursor,
    }
    client = {"base_url": f"{asked.url}/", "headers": {"apikey": asked.key}}
    return {"client": client, "resources": [{"name": TABLE, "endpoint": endpoint}]}


def run(asked: Namespace) -> tuple[float, int]:
    """CPU seconds from the source's making to files that are in place, and the rows of these."""
    rest_api_source = import_module("dlt.sources.rest_api").rest_api_source
    _load([{"id": "1"}], "warm", asked)  # what it imports on its way is there from now on
    began = _spent()
    source = rest_api_source(config(asked))
    if asked.least:
        source.max_table_nesting = 0
    _load(source, "out", asked)
    return _spent() - began, sum(map(_rows, (Path(asked.out) / "out" / TABLE).iterdir()))


def _load(data: Any, name: str, asked: Namespace) -> None:
    dlt = import_module("dlt")  # by name: it is in no environment but the one that compares
    files = dlt.destinations.filesystem(bucket_url=Path(asked.out).as_uri())
    with TemporaryDirectory() as work:
        pipeline = dlt.pipeline(name, pipelines_dir=work, destination=files, dataset_name=name)
        done = pipeline.run(data, table_name=TABLE, loader_file_format=asked.format)
        done.raise_on_failed_jobs()


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _rows(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(import_module("pyarrow.parquet").read_metadata(path).num_rows)
    data = path.read_bytes()
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).count(b"\n")


def main() -> None:
    """Runs it once."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("url", "key", "uid", "out", "format"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--least", action="store_true")
    asked = parser.parse_args()
    os.environ.update(_QUIET | (_UNPACKED if asked.least else {}))
    cpu, rows = run(asked)
    print(json.dumps({"cpu": cpu, "rows": rows}))


if __name__ == "__main__":
    main()
