"""Shared parts of the tests of the journal: its sources, a path in memory, and changes of its file."""

import sqlite3
from pathlib import Path
from typing import Any

from chatrest.export.plan.ownership import Source

MEMORY = Path(":memory:")
USERS = [Source("user", (name,)) for name in "abc"]


def by_hand(path: Path, *statements: str) -> list[Any]:
    """Execute SQL statements on the file while no export runs; return the rows of the last one."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return [db.execute(statement).fetchall() for statement in statements][-1]
    finally:
        db.close()
