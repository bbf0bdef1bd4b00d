"""Flipped bits: each is found by `verify`, or is harmless: nothing changes by it, now or in the next run."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatrest.errors import ChatRestError
from chatrest.export import verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from tests.damaged_exports import PLANS, contents_of, flipped
from tests.export_runs import raws_of

FLIPS = 20
APP_ID = "emulated"


def bits(path: Path, count: int) -> Iterator[int]:
    """Random bits of a file, half of them in bytes that are not zero: a database has much unused room."""
    dice, data = random.Random(path.name), path.read_bytes()
    used = [place for place, byte in enumerate(data) if byte]
    for _ in range(count // 2):
        yield dice.randrange(8 * len(data))
        yield 8 * dice.choice(used) + dice.randrange(8)


@pytest.mark.parametrize("name", PLANS)
def test_a_flipped_bit_of_a_data_file_is_found(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    others = (JOURNAL, MANIFEST, "runs.jsonl")  # the last is a log, and no part of the export
    files = [path for path in out.rglob("*") if path.is_file() and path.name not in others]
    for path in files:
        for bit in bits(path, max(2, FLIPS // len(PLANS) // len(files))):
            with flipped(path, bit):
                places = {problem.place for problem in verify(out).problems}
            assert path.relative_to(out).as_posix() in places, bit


def test_a_flipped_bit_of_the_manifest_is_found(out: Path) -> None:
    for bit in bits(out / MANIFEST, FLIPS):
        with flipped(out / MANIFEST, bit):
            result = verify(out)
        assert ("manifest", MANIFEST) in [(each.kind, each.place) for each in result.problems], bit


def test_a_flipped_bit_of_the_journal_is_found_or_is_harmless(out: Path) -> None:
    good, records = contents_of(out), sorted(raws_of(out))
    harmless = 0
    for bit in bits(out / JOURNAL, FLIPS):
        with flipped(out / JOURNAL, bit):
            result = verify(out)
            if result.ok:
                harmless += 1
                with ExportFolder(out, app_id=APP_ID) as folder:
                    folder.finish()
            else:
                assert {problem.place for problem in result.problems} == {JOURNAL}, bit
                with pytest.raises((ChatRestError, OSError)):
                    ExportFolder(out, app_id=APP_ID)
        assert sorted(raws_of(out)) == records
        for name in contents_of(out).keys() - good.keys():
            (out / name).unlink()
        assert {**contents_of(out), JOURNAL: b""} == {**good, JOURNAL: b""}, bit
        (out / JOURNAL).write_bytes(good[JOURNAL])
    assert 0 < harmless < FLIPS
