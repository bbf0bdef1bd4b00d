"""Register the Parquet files of an export as a Delta table, run after run, without copying them.

    python -m chatrest.examples.delta_table                # an emulated app, two nights
    python -m chatrest.examples.delta_table OUT TABLE      # after each `chatrest export OUT --format parquet`

TABLE is a folder on the file system of OUT. It has `_delta_log` and hard links to the files, which are the
same bytes on the disk. So an older version can be read until VACUUM, and VACUUM cannot touch the export. Each
run is one commit: it adds the files that are new, and removes those that the export has replaced. Nothing
else may write to the table: the next commit would remove it.

The columns are those of the files (`chatrest guide reading`) and that of the partition, such as `month`. What
was deleted in the service stays in the files; `manifest.json` names it under `deleted`. Older versions of
messages, the tables and the attachments are not in the Delta table.

Needs `pip install 'chatrest-client[export,parquet]' deltalake`.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from chatrest.examples.loads import LoadError, command, exit_without, run
from chatrest.export import Plan
from chatrest.extras import install_command

try:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]
    from deltalake import DeltaTable, Schema  # type: ignore[import-not-found,unused-ignore]
except ModuleNotFoundError:
    if __name__ == "__main__":
        exit_without("deltalake", f"{install_command('export', 'parquet')} deltalake", __doc__)
    raise

LOG: Final = "_delta_log"


def register(out: Path, folder: Path) -> str:
    """Bring the Delta table in `folder` to the newest run of the export in `out`; return a line about it."""
    rows = exported_files(out)
    table = open_table(out, folder, min(rows))
    version = table.version() + 1
    registered = set(map(unquote, table.get_add_actions()["path"].to_pylist()))
    added, removed = sorted(rows.keys() - registered), sorted(registered - rows.keys())
    if not added and not removed:
        return f"version {version - 1}: nothing new"
    for name in added:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # of a run that was killed: a name never has other content
            os.link(out / name, folder / name)
    now = int(time.time() * 1000)
    commit(
        folder / LOG / f"{version:020}.json",
        [
            {"commitInfo": {"timestamp": now, "operation": "WRITE", "engineInfo": "chatrest"}},
            *(remove_action(name, now) for name in removed),
            *(add_action(folder, name, rows[name]) for name in added),
        ],
    )
    return f"version {version}: {len(added)} files added, {len(removed)} removed"


def exported_files(out: Path) -> dict[str, int]:
    """Return the files of messages as the last run has left them, with their numbers of rows."""
    try:
        manifest = json.loads((out / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise LoadError(f"folder '{out}' is not an export: it has no manifest.json") from None
    if manifest["finished"] is None:
        raise LoadError(f"{out}: a run is under way, or was killed; run the export to its end")
    rows = {file["name"]: file["messages"] for file in manifest["files"] if file["role"] == "part"}
    if not rows or not all(name.endswith(".parquet") for name in rows):
        raise LoadError(f"{out}: it has no Parquet files: export with --format parquet")
    return rows


def open_table(out: Path, folder: Path, name: str) -> DeltaTable:
    """Return the table, which begins without files, and with the columns of the file of this name."""
    if DeltaTable.is_deltatable(str(folder)):
        return DeltaTable(folder)
    schema = pq.read_schema(out / name).remove_metadata()
    partition = list(partition_of(name))
    for column in partition:
        schema = schema.append(pa.field(column, pa.string()))
    return DeltaTable.create(folder, Schema.from_arrow(schema), partition_by=partition, name="messages")


def partition_of(name: str) -> dict[str, str]:
    """Return the partition that a file's name states, as in `messages/month=2026-11/…`."""
    parts = (part.partition("=") for part in name.split("/")[:-1])
    return {column: unquote(value) for column, separator, value in parts if separator}


# ── the log: https://github.com/delta-io/delta/blob/master/PROTOCOL.md ──


def add_action(folder: Path, name: str, rows: int) -> dict[str, Any]:
    """Return the action that adds a file."""
    state = (folder / name).stat()
    return {
        "add": {
            "path": quote(name, safe="/="),
            "partitionValues": partition_of(name),
            "size": state.st_size,
            "modificationTime": state.st_mtime_ns // 1_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows}),
        }
    }


def remove_action(name: str, now: int) -> dict[str, Any]:
    """Return the action that removes a file from the table; VACUUM deletes it."""
    return {
        "remove": {
            "path": quote(name, safe="/="),
            "partitionValues": partition_of(name),
            "extendedFileMetadata": False,
            "deletionTimestamp": now,
            "dataChange": True,
        }
    }


def commit(path: Path, actions: Sequence[dict[str, Any]]) -> None:
    """Write a version of the log: all of it or, where another program was first, nothing."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise LoadError(f"{path} was written by another program meanwhile; run this again") from None
    finally:
        unfinished.unlink()


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    args = command(__doc__, "the folder of the Delta table").parse_args(argv)
    plan = Plan(all_users=True, format="parquet")
    run(args, lambda out, table: register(Path(out), Path(table)), "{}/table", plan)


if __name__ == "__main__":
    main()
