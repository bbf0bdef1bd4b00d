"""Deaths of a process at every 61st call of the disk and of databases, for each format and partition.

After each one nothing is lost, stored twice or set aside, and a further run completes it.
"""

from itertools import count, product
from pathlib import Path

import pytest

from tests.support.scripted_store import die

LAYOUTS = [
    ("plain", "none"), ("plain", "source"), ("plain", "month"), ("gzip", "source"), ("zstd", "none"),
    ("parquet", "none"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "power", "format", "partition"),
    [
        (1 + 5 * number, power, *layout)
        for number, (power, layout) in enumerate(product((False, True), LAYOUTS))
    ],
)
def test_a_death_at_any_call(folder: Path, format: str, partition: str, start: int, power: bool) -> None:
    for at in count(start, 61):
        if not die(folder, format, partition, at, power=power):
            break
    assert at > start, "it did not die"
