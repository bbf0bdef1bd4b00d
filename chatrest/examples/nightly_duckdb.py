"""A nightly export as Parquet files, read with DuckDB: new messages are added, then a report is made of all.

    python -m chatrest.examples.nightly_duckdb                  # an emulated app, two nights
    python -m chatrest.examples.nightly_duckdb --out lake       # your app, from CHATREST_…; once each night

Prints a line of JSON for each of the newest days: messages, senders, and the most active sender. Each night
reads what is new since the last one, and the last two days again, for edits and deletions; `runs.jsonl` in
the folder has a line for each. DuckDB reads the folder as it is: `FROM 'lake/messages/**/*.parquet'`.

Needs `pip install 'chatrest-client[export,parquet]' duckdb`.
"""

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from chatrest import App, AsyncSession, ExportIncompleteError
from chatrest.examples.loads import play_nights
from chatrest.export import Plan, Report, export
from chatrest.extras import install_command

PLAN: Final = Plan(all_users=True, format="parquet", partition="month")
RECHECK: Final = 2 * 86_400
"""Seconds before the newest message that are read again each night."""
DAYS: Final = 3
"""Days in the report."""
REPORT: Final = """
WITH daily AS (
    SELECT DATE '1970-01-01' + CAST(epoch_ms(sent_at) // 86400000 AS INTEGER) AS day, sender
    FROM read_parquet(?) WHERE sent_at IS NOT NULL
)
SELECT CAST(day AS VARCHAR), count(*), count(DISTINCT sender), mode(sender)
FROM daily GROUP BY day ORDER BY day DESC LIMIT ?
"""


def duckdb() -> Any:
    """Return the module; without it the program ends, and says in one sentence what to install."""
    try:
        import duckdb as module  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        sys.exit(f"this example reads with DuckDB: {install_command('export', 'parquet')} duckdb")
    return module


async def night(session: AsyncSession, out: Path) -> Report:
    """Export what is new; `ExportIncompleteError` where the export does not hold all of its plan."""
    report = await export(session, out, PLAN, recheck=RECHECK)
    sys.stderr.write(f"{report.written} new messages of {report.messages}, {report.requests} requests\n")
    report.check()
    return report


def report_days(out: Path, days: int = DAYS) -> list[dict[str, object]]:
    """Return messages, senders and the most active sender of the newest days. Reads two columns."""
    with duckdb().connect() as database:
        rows = database.execute(REPORT, [str(out / "messages/**/*.parquet"), days]).fetchall()
    return [dict(zip(("day", "messages", "senders", "most"), row, strict=True)) for row in rows]


async def one_night(out: Path) -> None:
    """Export the app of the environment."""
    async with AsyncSession(App.from_env()) as session:
        await night(session, out)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder that is kept; without it an emulated app")
    args = parser.parse_args(argv)
    duckdb()  # before anything is sent
    with TemporaryDirectory() as folder:
        out = args.out or Path(folder)
        try:
            if args.out is None:
                play_nights(lambda session: night(session, out))
            else:
                asyncio.run(one_night(out))
        except ExportIncompleteError as error:
            sys.exit(f"{error}; the next night goes on")
        for line in report_days(out):
            sys.stdout.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    main()
