"""`cat` for a person: by sender, conversation, text and time."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from chatrest import AsyncSession
from chatrest._cli.root import root
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, read_raw
from tests.stored_exports import DAY, START, StoredRuns, record


def cat(out: Path, *args: object) -> Result:
    return CliRunner().invoke(root, ["cat", str(out), *map(str, args)])


def ids(result: Result) -> list[str]:
    assert (result.exit_code, result.exception) == (0, None)
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    runs = StoredRuns(tmp_path / "out")
    runs.run([
        record(1, sender="ann", text="Straße", sent_at=START + DAY),
        record(2, sender="bob", text="an invoice"),
        record(3, sender="ann", text="INVOICE 3", conversationId="group_den", sent_at=START),
        record(4, sentAt=None),
    ])  # fmt: skip
    return runs.folder


def test_it_answers_what_a_person_asks(out: Path) -> None:
    assert ids(cat(out, "--sender", "ann")) == ["1", "3", "4"]
    assert ids(cat(out, "--sender", "ann", "--sort", "time")) == ["3", "1", "4"]
    assert ids(cat(out, "--search", "invoice")) == ["2", "3"]
    assert ids(cat(out, "--search", "STRASSE")) == ["1"]
    assert ids(cat(out, "--conversation", "group_den")) == ["3"]
    assert ids(cat(out, "--sender", "ann", "--until", "2020-09-13")) == ["3", "4"]
    assert ids(cat(out, "--sort", "time", "--since", START + 3600)) == ["2", "1", "4"]


def test_of_many_apps_it_answers_for_all(tmp_path: Path) -> None:
    for app in ("one", "two"):
        own = [record(1, text=f"invoice of {app}"), record(2, sender="bob")]
        StoredRuns(tmp_path / "out" / f"app={app}").run(own)
    result = cat(tmp_path / "out", "--sender", "ann", "--search", "INVOICE", "--sort", "time")
    texts = [json.loads(line)["data"]["text"] for line in result.stdout.splitlines()]
    assert texts == ["invoice of one", "invoice of two"]


async def test_names_are_taken_where_they_are_unique(tmp_path: Path) -> None:
    async with Emulator(users=4, messages=60, groups=1, seed=5) as emulator:
        for uid, name in (("user-001", "Fatima Nguyễn"), ("user-002", "Sam"), ("user-003", "Sam")):
            emulator.store.people.update_user({"uid": uid, "name": name})
        async with AsyncSession(emulator.app) as session:
            await export(session, tmp_path / "out", Plan(everything=True), tables=["users", "groups"])
    out = tmp_path / "out"
    own: list[Any] = [each for each in map(json.loads, read_raw(out)) if each["sender"] == "user-001"]
    assert ids(cat(out, "--sender", "fatima nguyễn")) == [each["id"] for each in own]
    assert own
    twice = cat(out, "--sender", "Sam")
    assert "a name of user-002, user-003" in twice.stderr
    near = cat(out, "--sender", "Fatma Nguyen")
    assert "near names: 'Fatima Nguyễn' (user-001)" in near.stderr


def test_csv_for_a_spreadsheet_begins_with_a_byte_order_mark(out: Path) -> None:
    plain, marked = (cat(out, "--format", "csv", *args).stdout_bytes for args in ((), ("--bom",)))
    assert marked == b"\xef\xbb\xbf" + plain
    assert cat(out, "--format", "csv", "--bom", "--sender", "nobody").stdout_bytes.startswith(
        b"\xef\xbb\xbfid"
    )
