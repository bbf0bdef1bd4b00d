"""No ramp, pages of 25 messages for those that ask for them, a journal in memory, and the path of one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chatrest.export.folder.journal import NAME, Journal
from tests.support.export_runs import small_pages as small_pages
from tests.support.stored_exports import MEMORY


@pytest.fixture(autouse=True)
def no_waits(fast_ramp: None) -> None:
    """Let no export wait for the slots of a ramp."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


@pytest.fixture
def journal() -> Iterator[Journal]:
    journal = Journal(MEMORY, {})
    yield journal
    journal.close()
