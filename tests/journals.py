"""What the tests of the journal share: its sources, a place in memory, and a hand that edits its file."""

import sqlite3
from pathlib import Path
from typing import Any

from hypothesis import settings

from chatrest.export.sources import Source

some = settings(max_examples=100, deadline=None, database=None)
MEMORY = Path(":memory:")
USERS = [Source("user", (name,)) for name in "abc"]


def by_hand(path: Path, *statements: str) -> list[Any]:
    """What somebody does to the file while no export runs; what the last statement gives."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return [db.execute(statement).fetchall() for statement in statements][-1]
    finally:
        db.close()
