"""Deaths of a process at calls of the disk and of databases. `python -m tests.sealing` has every call.

After each one nothing is lost, nothing stands twice, nothing is set aside, and a further run ends it all.
"""

from itertools import count
from pathlib import Path

import pytest

from tests.sealing import die

SHELVES = [
    ("plain", "none"), ("plain", "source"), ("plain", "month"), ("gzip", "source"), ("zstd", "none"),
    ("parquet", "none"), ("sqlite", "none"),
]  # fmt: skip


@pytest.mark.parametrize("power", [False, True], ids=["kill", "power"])
@pytest.mark.parametrize(("format", "partition"), SHELVES)
def test_a_death_at_any_call(folder: Path, format: str, partition: str, power: bool) -> None:
    start = 1 + SHELVES.index((format, partition))
    for at in count(start, 37):
        if not die(folder, format, partition, at, power=power):
            break
    assert at > start, "it did not die"
