"""`load`: an export in a database, brought up to date after each run.

A file of its own because each command that stands for a package has one.
"""

import click
from msgspec import structs

from ..._texts import plural
from .. import streams
from ..options import AS_JSON, QUIET, option_table

DELETED = ("keep", "blank")


@click.command(short_help="Load what is new in an export into a database.")
@click.argument("out")
@click.argument("database")
@option_table(
    ("--deleted", DELETED, None, "What becomes of deleted messages.  [default: keep, or as before]"),
    ("--search", bool, None, "Add full-text search (SQLite); it stays."),
    AS_JSON,
    QUIET,
)
def load(out: str, database: str, deleted: str | None, search: bool, as_json: bool, quiet: bool) -> None:
    """Bring DATABASE to the export in OUT as it is now: what is new, changed or deleted since the last load.

    OUT is a folder or the address of an object store: an export, its parts, or many apps. Each row has its
    `app`; what a folder app=NAME had that was removed is removed from the database, too. DATABASE is a file
    of SQLite, sqlite:///FILE, or postgresql://user@host/database, which needs the extra `postgres`;
    PGPASSWORD or ~/.pgpass has its password. The first load makes tables of messages, users and all that the
    export has, and views. A load is one transaction: where it fails or is killed, nothing has changed. It
    needs no credentials.

    A deleted message is one that its sender has deleted, or that a recheck has not found any more. --deleted
    keep keeps its text, with the reason in `deleted_reason`. --deleted blank removes its text and record, its
    older versions and the names of its files, in each load from now on: for who has to erase what is deleted.
    The export itself keeps all of it, and so do records that quote the message.

    \b
    Examples:
      chatrest load backup chat.sqlite --search
      chatrest load s3://bucket/chat postgresql://etl@db/chat
      chatrest load backup chat.sqlite --deleted blank
    """
    from ...database import load as load_export  # imports what a help text does not need

    with streams.status_line("loading the export"):
        report = load_export(out, database, deleted=deleted, search=search or None)  # type: ignore[arg-type]
    if as_json:
        streams.write_json(structs.asdict(report))
    elif not quiet:
        counts = [f"{getattr(report, kind):,} {kind}" for kind in ("new", "changed", "deleted")]
        if report.removed:
            counts.append(f"{report.removed:,} of removed apps")
        rows = [f"{plural(rows, 'row')} of {table}" for table, rows in report.tables.items()]
        streams.write_lines([f"run {report.run}: messages {', '.join(counts)}", *rows])
    if report.replaced and not quiet:
        streams.warn(
            f"{plural(report.replaced, 'character')} that no database can hold became U+FFFD: zero bytes and "
            "what is not Unicode"
        )
