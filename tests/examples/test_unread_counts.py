"""The example that counts the unread messages of several apps."""

import json
from pathlib import Path

import pytest

from chatrest.examples.unread_counts import APPS, main


def test_the_users_of_all_apps_are_counted_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    args = ["--users", "10", "--journal", str(tmp_path / "counts.journal")]
    main(args)
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    totals = [line for line in printed.err.splitlines() if line.endswith(", 0 failed")]
    assert [line.partition(":")[0] for line in totals] == [name for name, _ in APPS]
    for line in totals:
        name, _, rest = line.partition(": ")
        unread = sum(row["unread"] for row in rows if row["app"] == name)
        assert rest.endswith(f" users, {unread} unread messages, 0 failed")
        assert unread > 0
    main(args)
    again = capsys.readouterr()
    assert again.out == ""
    assert again.err.count(": 0 users, 0 unread messages, 0 failed") == len(APPS)
