"""Crashes of a sink at each call of the disk: nothing is lost, and nothing is there twice."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sinks import (
    OCTOBER,
    Export,
    crashed,
    files,
    history,
    ids,
    page,
    stored,
)

FORMATS = pytest.mark.parametrize(
    "plan",
    [
        {"format": "ndjson"},
        {"format": "ndjson", "compress": "gzip", "partition": "day"},
        {"format": "parquet", "partition": "day"},
    ],
    ids=lambda plan: "-".join(plan.values()),
)
"""Lines that are appended as they are or compressed, and row groups: each in one partition and in many."""
SUFFIXES = {".ndjson", ".gz", ".zst", ".parquet"}


def crashes(
    begin: Path | None, tmp_path: Path, work: Callable[[Export], object], **options: Any
) -> Iterator[Path]:
    """Yield a folder for each call of the disk at which `work` dies in it, and one for its end."""
    for calls in range(500):
        folder = tmp_path / str(calls)
        if begin is not None:
            shutil.copytree(begin, folder)
        ended = crashed(folder, work, calls, **options)
        if (folder / "messages").exists():
            assert {path.suffix for path in (folder / "messages").rglob("*") if path.is_file()} <= SUFFIXES
        yield folder
        shutil.rmtree(folder)
        if ended:
            assert calls > 5
            return
    pytest.fail("it does not end")


def check(folder: Path, out: Export, count: int) -> None:
    """Check that the data files have each id once, and that the folder has no file that the journal lacks."""
    names = sorted(file.name for file in out.journal.files())
    assert {file.state for file in out.journal.files()} <= {"open", "whole"}
    assert len(out.scan()) == len(out.written()) == count
    assert ids(folder) == list(range(1, count + 1)), folder.name
    assert files(folder) == names, folder.name


@FORMATS
def test_while_pages_are_written(plan: dict[str, Any], tmp_path: Path) -> None:
    def work(out: Export) -> None:
        for first in (1, 11, 21):
            if first not in out.written():
                out.commit([*page(first, 5), *page(first + 5, 5, OCTOBER)])
        out.done()

    for folder in crashes(None, tmp_path, work, largest=300, **plan):
        with Export(folder, largest=300, **plan) as out:
            assert len(out.scan()) == len(out.written()) == len(out.written()) // 10 * 10
            work(out)
            check(folder, out, 30)


@FORMATS
def test_while_messages_are_updated(plan: dict[str, Any], tmp_path: Path) -> None:
    begin = tmp_path / "begin"
    with Export(begin, **plan) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.done()
        out.change(page(3, 5, edited="yes"))
    for folder in crashes(begin, tmp_path, Export.done, **plan):
        with Export(folder, **plan) as out:
            out.done()
            check(folder, out, 10)
        edited = [int(record["id"]) for record in map(json.loads, stored(folder)) if "edited" in record]
        assert sorted(edited) == [3, 4, 5, 6, 7]
        assert sorted(int(version["id"]) for version in history(folder)) == [3, 4, 5, 6, 7]
        assert not any("edited" in version for version in history(folder))


@FORMATS
def test_while_small_files_are_merged(plan: dict[str, Any], tmp_path: Path) -> None:
    begin = tmp_path / "begin"
    with Export(begin, largest=1, **plan) as out:
        for first in (1, 6, 11, 16):
            out.commit(page(first, 5))
        out.done()
        assert len(files(begin)) == 4
    for folder in crashes(begin, tmp_path, lambda out: out.compact(2), **plan):
        with Export(folder, **plan) as out:
            assert out.written() == list(range(1, 21))
            out.compact(2)
            check(folder, out, 20)
            assert len(files(folder)) == 1
            out.commit(page(21, 5))
            out.done()
            check(folder, out, 25)


@FORMATS
def test_while_a_crash_is_recovered(plan: dict[str, Any], tmp_path: Path) -> None:
    begin, torn = tmp_path / "begin", tmp_path / "torn"
    with Export(begin, largest=1, **plan) as out:
        for first in (1, 6, 11):
            out.commit(page(first, 5))
        out.done()

    def merge(out: Export) -> None:
        out.compact(2)

    for calls in range(3, 30, 2):
        shutil.copytree(begin, torn)
        if crashed(torn, merge, calls, **plan):
            break
        for more in range(4):
            folder = shutil.copytree(torn, tmp_path / f"{calls}-{more}")
            crashed(folder, merge, more, **plan)
            with Export(folder, **plan) as out:
                merge(out)
                check(folder, out, 15)
            shutil.rmtree(folder)
        shutil.rmtree(torn)
