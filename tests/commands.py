"""What the tests of the command `export` share: its result's types, the ids in a folder, and its summary."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from chatrest.emulator import Emulator
from tests.cli.conftest import Front, Served

Run = Callable[..., Result]
Start = Callable[..., subprocess.Popen[bytes]]
Fronted = Callable[[Callable[[int, str], tuple[int, bytes] | None]], Front]

PATIENCE = 20.0


def ids_of(out: Path) -> list[int]:
    """The ids of all messages below a folder, each as often as it stands there."""
    lines = [line for path in out.glob("*.ndjson") for line in path.read_bytes().splitlines()]
    return sorted(int(json.loads(line)["id"]) for line in lines)


def all_ids(service: Served) -> list[int]:
    """What users' lists hold: not what the app itself has sent to a group."""

    def held(emulator: Emulator) -> set[int]:
        store = emulator.store
        return {each for uid in store.people.uids() for each in store.ids(participant=uid)}

    return sorted(service.ask(held))


def told(result: Result) -> dict[str, str]:
    """The summary: its lines by their first word."""
    return dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
