"""Whatever bit of an export is flipped, `verify` finds it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from chatrest.export import verify
from chatrest.export.journal import NAME as JOURNAL
from chatrest.export.manifest import NAME as MANIFEST
from tests.damaging import PLANS, flipped


@pytest.mark.parametrize("name", PLANS)
def test_whatever_bit_is_flipped_it_is_found(
    made: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    out = Path(shutil.copytree(made(name), tmp_path_factory.mktemp("flipped") / name))
    files = sorted(path for path in out.iterdir() if path.name != JOURNAL)

    @settings(max_examples=80, deadline=None)
    @given(st.data())
    def flip(data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(files))
        with flipped(path, data.draw(st.integers(0, 8 * path.stat().st_size - 1))):
            verdict = verify(out)
            assert not verdict.ok
            assert any(problem.where == path.name for problem in verdict.problems)

    flip()
    assert verify(out).ok


@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_bit_of_the_journal_is_no_crash(out: Path, with_manifest: bool) -> None:
    if not with_manifest:
        (out / MANIFEST).unlink()
    path = out / JOURNAL
    dice = random.Random(4)
    size = 8 * path.stat().st_size
    bits = [*range(0, 800, 3), *(dice.randrange(size) for _ in range(400))]
    for bit in bits:
        with flipped(path, bit):
            verdict = verify(out)
            assert verdict.ok == (with_manifest and not verdict.problems)
