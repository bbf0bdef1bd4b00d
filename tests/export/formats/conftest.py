"""A folder for an export, and a database sink that is open over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import Export


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def opened(out: Path) -> Iterator[Export]:
    with Export(out) as opened:
        yield opened
