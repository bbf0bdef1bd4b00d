"""A dlt source of an export: messages merged by their ids, deleted ones deleted, tables replaced.

    python -m chatrest.examples.dlt_source                      # an emulated app, DuckDB, two nights
    python -m chatrest.examples.dlt_source OUT chat.duckdb      # after each run of the export

OUT is a folder, or the address of an object store. In your own pipeline, for any destination of dlt:

    dlt.pipeline("chat", destination="bigquery", dataset_name="chat").run(chat_export("OUT"))

The position is in dlt's state, which is stored with the data: the next load repeats what a failed one has not
stored. The columns are those of the example `warehouse`, `record` is JSON.

Needs `pip install 'chatrest-client[export]' 'dlt[duckdb]'`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from msgspec import json

from chatrest.examples.loads import command, exit_without, newest_mark, run
from chatrest.examples.warehouse import TABLES, Row, row_of
from chatrest.export import Plan, changes, read_table
from chatrest.extras import install_command

try:
    import dlt  # type: ignore[import-not-found,unused-ignore]
except ModuleNotFoundError:
    if __name__ == "__main__":
        exit_without("dlt", f"{install_command('export')} 'dlt[duckdb]'", __doc__)
    raise

BATCH: Final = 1_000
COLUMNS: Final[dict[str, Any]] = {
    table: {
        **{name: {"data_type": "timestamp" if name.endswith("_at") else "text"} for name in names},
        "record": {"data_type": "json"},
    }
    for table, names in TABLES.items()
}
COLUMNS["messages"]["is_deleted"] = {"data_type": "bool", "hard_delete": True}


@dlt.source(max_table_nesting=0)
def chat_export(out: str) -> Iterator[Any]:
    """Return a resource for the messages, and one for each table that an export can have."""
    options: dict[str, Any] = {"write_disposition": "merge", "primary_key": "id"}
    yield dlt.resource(messages, name="messages", columns=COLUMNS["messages"], **options)(out)
    for table in list(TABLES)[1:]:
        resource = dlt.resource(records, name=table, write_disposition="replace", columns=COLUMNS[table])
        yield resource(out, table)


def messages(out: str) -> Iterator[list[dict[str, Any]]]:
    """Yield what is new, changed or deleted since the last load; the state is stored if all was."""
    state = dlt.current.resource_state()
    news = changes(out, after=state.get("run", 0))
    mark = newest_mark(out, state.get("mark"))
    yield from batches(
        {"id": change.id, "is_deleted": True}
        if change.raw_after is None
        else as_item("messages", row_of("messages", change.raw_after, change.id))
        for change in news
    )
    state["run"], state["mark"] = news.run, mark


def records(out: str, table: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table; none where the export was not asked for it."""
    yield from batches(as_item(table, row_of(table, raw)) for raw in read_table(out, table))


def as_item(table: str, row: Row) -> dict[str, Any]:
    """Return the values of a row by the names of their columns."""
    *values, record = row
    return {**dict(zip(TABLES[table], values, strict=True)), "record": json.decode(record or "")}


def batches(items: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the items in lists, which take dlt less time than one at a time."""
    remaining = iter(items)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def load(out: str, database: str) -> str:
    """Load into a DuckDB file, and return what dlt says about it."""
    pipeline = dlt.pipeline(
        "chat_export",
        destination=dlt.destinations.duckdb(database),
        dataset_name="chat_export",
        pipelines_dir=f"{database}.dlt",  # its state: each database has its own
    )
    return str(pipeline.run(chat_export(out)))


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    args = command(__doc__, "a DuckDB file").parse_args(argv)
    run(args, load, "{}/chat.duckdb", Plan(all_users=True))


if __name__ == "__main__":
    main()
