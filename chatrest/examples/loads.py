"""What the examples that load an export have in common: a command, an emulated app, and the mark of a run."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from chatrest import AsyncSession, ChatRestError, MessageChanges, NewMessage
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, runs


class LoadError(Exception):
    """The export or its destination is not as expected; the text says what to do."""


def newest_mark(out: str, last: str | None) -> str:
    """Return what tells the newest run of an export from those of others.

    Raises `LoadError` where the run of the `last` mark is not of this export.
    """
    try:
        marks = [f"run {each.run} of {each.started} to {each.finished}" for each in runs(out)]
    except FileNotFoundError:
        raise LoadError(f"{out}: no run of this export has ended yet") from None
    if last is not None and last not in marks:
        raise LoadError(
            f"{out} is not the export that was loaded last, or was made again: it has no {last}. "
            "Load it into an empty database"
        )
    return marks[-1]


def command(doc: str | None, target: str) -> ArgumentParser:
    """Return the parser of `OUT TARGET`; `target` is the help of the second argument."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("out", nargs="?", help="an export's folder or address; without it an emulated app")
    parser.add_argument("target", nargs="?", help=target)
    return parser


def exit_without(package: str, install: str, doc: str | None) -> NoReturn:
    """End a program whose package is not installed; its `--help` works all the same."""
    text = f"This example needs {package}: {install}"
    if {"-h", "--help"} & set(sys.argv[1:]):
        sys.stdout.write(f"{doc}\n{text}\n")
        sys.exit(0)
    sys.exit(text)


def run(args: Namespace, load: Callable[[str, str], str], sample: str, plan: Plan) -> None:
    """Load the export of the arguments, or twice that of an emulated app into the `sample` of a folder."""
    if args.out and not args.target:
        sys.stderr.write("the second argument is missing: see --help\n")
        sys.exit(2)

    async def night(session: AsyncSession) -> None:
        await export(session, out, plan, tables=("users", "groups"), recheck=86_400)
        sys.stdout.write(f"{load(str(out), sample.format(folder))}\n")

    try:
        if args.out:
            sys.stdout.write(f"{load(args.out, args.target)}\n")
            return
        with TemporaryDirectory() as folder:
            out = Path(folder, "out")
            play_nights(night)
    except (LoadError, ChatRestError, OSError) as error:
        sys.exit(str(error))


def play_nights(night: Callable[[AsyncSession], Awaitable[object]]) -> None:
    """Run a night in an emulated app; send three messages, edit one, delete one; and run a night again."""
    asyncio.run(_play(night))


async def _play(night: Callable[[AsyncSession], Awaitable[object]]) -> None:
    async with Emulator(users=12, messages=400, seed=1) as emulator, AsyncSession(emulator.app) as session:
        sender = session.as_user("user-01")
        sent = [await sender.messages.send(NewMessage.text("user-02", f"evening {each}")) for each in (1, 2)]
        await night(session)
        for number in range(3):
            await sender.messages.send(NewMessage.text("user-02", f"good night {number}"))
        await sender.messages.update(sent[0].id, MessageChanges(data={"text": "good evening"}))
        await sender.messages.delete(sent[1].id, permanent=True)
        await night(session)
