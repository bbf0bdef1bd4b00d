"""An export with dlt: its `rest_api` source into local files, in a separate process.

`python -m benchmarks.dlt_job --url … --key … --uid … --out DIR --format jsonl --least` prints a line of JSON
at its end: its CPU seconds, and the number of rows in its files. It measures one run with all threads and
child processes, but not the import of dlt, nor a first run with a single row, which imports the rest.

It follows dlt's documentation: a cursor paginator, the filesystem destination, and no other settings.
`--least` are the cheapest settings: nested members stay JSON texts instead of tables (`max_table_nesting`),
and the JSONL files are not compressed.
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
_UNCOMPRESSED: Final = {"DATA_WRITER__DISABLE_COMPRESSION": "true"}


def config(args: Namespace) -> dict[str, Any]:
    """Return dlt's configuration of the source: one user's messages, oldest first."""
    cursor = {
        "type": "cursor",
        "cursor_path": "meta.cursor.id",
        "cursor_param": "id",
        "stop_after_empty_page": True,
    }
    endpoint = {
        "path": f"users/{args.uid}/messages",
        "params": {"affix": "append", "perPage": args.size},
        "data_selector": "data",
        "paginator": cursor,
    }
    client = {"base_url": f"{args.url}/", "headers": {"apikey": args.key}}
    return {"client": client, "resources": [{"name": TABLE, "endpoint": endpoint}]}


def run(args: Namespace) -> tuple[float, int]:
    """Return the CPU seconds from the creation of the source to the finished files, and their rows."""
    rest_api_source = import_module("dlt.sources.rest_api").rest_api_source
    _load([{"id": "1"}], "warm", args)  # imports all that the measured run needs
    began = _cpu_seconds()
    source = rest_api_source(config(args))
    if args.least:
        source.max_table_nesting = 0
    _load(source, "out", args)
    return _cpu_seconds() - began, sum(map(_rows, (Path(args.out) / "out" / TABLE).iterdir()))


def _load(data: Any, name: str, args: Namespace) -> None:
    dlt = import_module("dlt")  # by name, as only the extra `compare` installs it
    files = dlt.destinations.filesystem(bucket_url=Path(args.out).as_uri())
    with TemporaryDirectory() as work:
        pipeline = dlt.pipeline(name, pipelines_dir=work, destination=files, dataset_name=name)
        load_info = pipeline.run(data, table_name=TABLE, loader_file_format=args.format)
        load_info.raise_on_failed_jobs()


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _rows(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(import_module("pyarrow.parquet").read_metadata(path).num_rows)
    data = path.read_bytes()
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).count(b"\n")


def main() -> None:
    """Run the export once and print its result."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("url", "key", "uid", "out", "format"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--least", action="store_true")
    args = parser.parse_args()
    os.environ.update(_QUIET | (_UNCOMPRESSED if args.least else {}))
    cpu, rows = run(args)
    print(json.dumps({"cpu": cpu, "rows": rows}))


if __name__ == "__main__":
    main()
