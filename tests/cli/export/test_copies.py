"""The command `load`."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner

from chatrest._cli.export.copies import DELETED
from chatrest._cli.root import root
from chatrest.database import Deleted
from tests.stored_exports import StoredRuns, record


def test_it_says_what_it_has_loaded(tmp_path: Path) -> None:
    runs, database = StoredRuns(tmp_path / "out"), str(tmp_path / "chat.sqlite")
    runs.run([record(1, text="a\0b"), record(2, text="invoice")])
    result = CliRunner().invoke(root, ["load", str(runs.folder), database, "--search"])
    assert (result.exit_code, result.stdout) == (0, "run 1: messages 2 new, 0 changed, 0 deleted\n")
    assert "1 character that no database can hold became U+FFFD" in result.stderr
    runs.run(deleted=[2])
    args = ["load", str(runs.folder), database, "--deleted", "blank", "--json"]
    report = json.loads(CliRunner().invoke(root, args).stdout)
    counts = {"new": 0, "changed": 0, "deleted": 1, "removed": 0, "replaced": 0}
    assert report == {"run": 2, "tables": {}, **counts}
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT text FROM messages WHERE id = '2'").fetchall() == [(None,)]


def test_the_choices_are_those_of_the_function() -> None:
    assert Deleted.__args__ == DELETED
