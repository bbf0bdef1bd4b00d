"""The Parquet sink's crashes: at whatever step, none loses a message or doubles one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest.export.formats.parquet_columns import raws_of
from tests.dying import ProcessDeath
from tests.parquets import ALICE, OCTOBER, Export, crashed, files, history, ids, page, table

ENDS = pytest.mark.parametrize(
    ("error", "half"),
    [
        pytest.param(ProcessDeath, False, id="killed"),
        pytest.param(ProcessDeath, True, id="killed-right-after"),
        pytest.param(lambda: OSError(28, "No space left on device"), False, id="disk-full"),
    ],
)


@ENDS
def test_a_crash_at_any_step_of_the_conversion_costs_nothing(tmp_path: Path, error: Any, half: bool) -> None:
    steps, begin = 0, tmp_path / "begin"
    with Export(begin, largest=100) as out:
        for first in range(1, 41, 10):
            out.commit([*page(first, 5), *page(first + 5, 5, OCTOBER)])
    for calls in range(500):
        folder = shutil.copytree(begin, tmp_path / str(calls))
        ended = crashed(folder, Export.done, calls, error, half)
        assert not ended or ids(folder) == [str(number) for number in range(1, 41)]
        with Export(folder, largest=100) as out:
            assert out.lost == []
            assert len(out.scan()) == 40
            out.commit(page(41, 3))
            out.done()
            assert sum(out.sink.counts().values()) == 43
            names = sorted(part.name for part in out.journal.parts())
        assert ids(folder) == [str(number) for number in range(1, 44)], f"after call {calls}"
        assert files(folder) == names
        steps = calls
        if ended:
            break
    assert steps > 20


@ENDS
def test_a_crash_at_any_step_of_a_crashed_conversions_repair_costs_nothing(
    tmp_path: Path, error: Any, half: bool
) -> None:
    begin = tmp_path / "begin"
    with Export(begin) as out:
        out.commit(page(1))
    for calls in range(0, 15, 2):
        for more in range(8):
            folder = shutil.copytree(begin, tmp_path / f"{calls}-{more}")
            crashed(folder, Export.done, calls, ProcessDeath, half)
            crashed(folder, Export.done, more, error, half)
            with Export(folder) as out:
                assert out.lost == []
                out.done()
            assert ids(folder) == [str(number) for number in range(1, 11)], f"after {calls}, {more}"
            assert files(folder) == ["2020-09.parquet"]


@ENDS
def test_a_crash_at_any_step_of_amending_costs_nothing(tmp_path: Path, error: Any, half: bool) -> None:
    begin = tmp_path / "begin"
    with Export(begin) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.done()
        out.commit(page(11, 5))
        out.change(page(3, 5, edited="yes"))
    for calls in range(500):
        folder = shutil.copytree(begin, tmp_path / str(calls))
        ended = crashed(folder, Export.done, calls, error, half)
        with Export(folder) as out:
            assert out.lost == []
            out.done()
            assert out.done() == 0
            assert sum(out.sink.counts().values()) == 15
        assert ids(folder) == [str(number) for number in range(1, 16)], f"after call {calls}"
        found = {json.loads(raw)["id"] for raw in raws_of(table(folder)) if b"edited" in raw}
        assert found == set("34567")
        assert sorted(old["id"] for old in history(folder)) == list("34567")
        assert not list(folder.glob("*.new"))
        if ended:
            return
    pytest.fail("it has never come to its end")


def test_what_was_not_committed_never_happened(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))

        def half() -> None:
            with out.journal.transaction():
                out.sink.add(1, ALICE, page(11))
                out.sink.flush()
                raise ProcessDeath

        with pytest.raises(ProcessDeath):
            half()
        out.sink.rollback()
        out.files.close()
        out.commit(page(21))
        out.done()
    assert ids(tmp_path) == [str(number) for number in (*range(1, 11), *range(21, 31))]
