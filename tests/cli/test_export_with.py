"""`export --with` and `--attachments`: the data beside the messages."""

import json
from pathlib import Path

import pytest

from chatrest.cli.export import TABLES
from chatrest.cli.export_texts import attachments_line
from chatrest.export import AttachmentCounts
from chatrest.export.dataset.tables import TABLES as OF_THE_PACKAGE
from tests.commands import Run, summary_of

from .conftest import error_line

pytestmark = pytest.mark.usefixtures("called")


def test_the_names_are_those_of_the_package() -> None:
    assert TABLES == OF_THE_PACKAGE


def test_a_name_of_no_table_is_refused(command: Run, out: Path) -> None:
    line = error_line(command("export", str(out), "--with", "groups,user"), 2)
    assert "'user' is not a table: allowed are users, groups" in line
    assert not out.exists()


def test_tables_are_in_the_folder_and_in_the_summary(command: Run, out: Path) -> None:
    first = command("export", str(out), "--user", "user-01", "--with", "users")
    assert first.exit_code == 0
    lines = (out / "users" / "users.ndjson").read_bytes().splitlines()
    assert summary_of(first)["tables"] == f"{len(lines)} users"
    again = command("export", str(out), "--json")
    assert json.loads(again.stdout)["tables"] == {"users": len(lines)}


def test_attachments_are_in_the_summary_and_the_limit_needs_them(command: Run, out: Path) -> None:
    first = command("export", str(out), "--type", "text", "--attachments", "--max-attachment", "5")
    assert first.exit_code == 0
    assert summary_of(first)["attached"] == "0, 0 of them new (0.0 MB)"
    wrong = command("export", str(out), "--max-attachment", "5")
    assert wrong.exit_code == 2
    assert "--max-attachment needs --attachments" in wrong.stderr


def test_the_summary_names_what_is_not_there() -> None:
    counts = AttachmentCounts(stored=1200, fetched=3, bytes=2_500_000, gone=2, failed=1)
    expected = "1,200, 3 of them new (2.5 MB), 2 no longer on their server, 1 failed"
    assert attachments_line(counts) == expected
