"""Import the users of a CSV file, which has the columns uid, name and optionally role.

    python -m chatrest.examples.import_people               # three users, into an emulator
    python -m chatrest.examples.import_people people.csv    # into the app of the environment

The app is that of CHATREST_APP_ID and CHATREST_API_KEY, see `chatrest guide`. The lines are written to
`people.ndjson` beside the CSV file, and imported from there. Interrupted at any instant, the same command
continues; so it does when lines were added to the end of the CSV file.
"""

import asyncio
import csv
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from chatrest import App, AsyncSession
from chatrest.emulator import Emulator
from chatrest.importing import ImportResult, Progress, run

SAMPLE: Final = "uid,name,role\nann,Ann,\nbob,Bob,nobody\ncat,Cat,default\n"
"""A file whose second user has a role that does not exist."""


def write_records(source: Path) -> Path:
    """Write the users as JSON lines, and return the file. The same CSV file always gives the same lines."""
    target = source.with_suffix(".ndjson")
    with source.open(newline="", encoding="utf-8") as rows, target.open("w", encoding="utf-8") as lines:
        for row in csv.DictReader(rows):
            record = {name: row[name] for name in ("uid", "name", "role") if row.get(name)}
            lines.write(f"{json.dumps(record)}\n")
    return target


def show(progress: Progress) -> None:
    """Print how far the import is."""
    sys.stderr.write(f"line {progress.line}: {progress.imported} users, {progress.refused} refused\n")


async def import_people(session: AsyncSession, source: Path) -> ImportResult:
    """Import the users of a CSV file."""
    return await run(session, [write_records(source)], kind="users", progress=show)


async def main(path: str) -> int:
    """Import, print every refused line, and return the exit status."""
    async with AsyncSession(App.from_env()) as session:
        result = await import_people(session, Path(path))
    for note in result.refused:
        sys.stdout.write(f"{note}\n")
    return 0 if result.ok else 1


def try_sample() -> None:
    """Import the sample into an emulator, and print the users that it has then."""
    with TemporaryDirectory() as folder:
        source = Path(folder, "people.csv")
        source.write_text(SAMPLE, encoding="utf-8")
        asyncio.run(import_sample(source))


async def import_sample(source: Path) -> None:
    """Import a CSV file into an emulator without users, and print what came of it."""
    async with Emulator(users=0, messages=0) as emulator, AsyncSession(emulator.app) as session:
        result = await import_people(session, source)
        users = [user.uid async for user in session.users.list()]
    sys.stdout.write(
        f"imported: {', '.join(sorted(users))}\nrefused: {', '.join(map(str, result.refused))}\n"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(asyncio.run(main(sys.argv[1])))
    try_sample()
