"""Shared parts of tests of the command: types, the end of a process, ids in a folder, the parsed summary."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from chatrest.emulator import Emulator
from tests.cli.conftest import EmulatorThread, MakeProxy

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[bytes]]

__all__ = ["PATIENCE", "MakeProxy", "Run", "Start", "all_ids", "finish", "ids_of", "summary_of"]

PATIENCE = 120.0
"""Seconds: a process of a busy machine may take many to begin and to end."""


def ids_of(out: Path) -> list[int]:
    """Return the sorted ids of all messages in a folder, with duplicates; segments included."""
    paths = [*out.glob("messages/**/*.ndjson"), *out.glob("spool/messages*.segment")]
    return sorted(int(json.loads(line)["id"]) for path in paths for line in path.read_bytes().splitlines())


def all_ids(service: EmulatorThread) -> list[int]:
    """Return the sorted ids of all messages in users' lists, without those of the app to a group."""

    def user_message_ids(emulator: Emulator) -> set[int]:
        store = emulator.store
        return {each for uid in store.people.uids() for each in store.ids(participant=uid)}

    return sorted(service.ask(user_message_ids))


def summary_of(result: Result) -> dict[str, str]:
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())


def finish(started: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    out, error = started.communicate(timeout=PATIENCE)
    return started.returncode, out, error.decode()
