"""Files that are being written: whole writes, few of them open at once, and errors that name their file."""

import errno
import os
from pathlib import Path

import pytest

from chatrest.export.disk import Disk, ErrorPath, OpenFiles


class Slow(Disk):
    """Writes three bytes at a time, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def write(self, file: int, at: int, data: bytes) -> int:
        self.asked.append("write")
        return super().write(file, at, data[:3])

    def sync(self, file: int) -> None:
        self.asked.append("folder" if os.path.isdir(f"/proc/self/fd/{file}") else "sync")  # noqa: PTH112
        super().sync(file)


def test_a_write_that_is_short_goes_on(tmp_path: Path) -> None:
    disk = Slow()
    files = OpenFiles(disk)
    files.write(tmp_path / "a", 0, b"0123456789")
    files.write(tmp_path / "a", 4, b"abcdefgh")
    files.close()
    assert (tmp_path / "a").read_bytes() == b"0123abcdefgh"
    assert disk.asked == ["write"] * 7


def test_a_sync_is_of_what_was_written_and_of_new_names_once(tmp_path: Path) -> None:
    disk = Slow()
    files = OpenFiles(disk)
    for name in ("a", "b"):
        files.write(tmp_path / name, 0, b"1")
    files.sync()
    assert disk.asked == ["write", "write", "sync", "sync", "folder"]
    files.sync()
    assert len(disk.asked) == 5
    files.write(tmp_path / "a", 1, b"2")
    files.sync()
    assert disk.asked[5:] == ["write", "sync"]
    files.close()


def test_a_file_that_makes_room_for_another_is_synced_before_it_is_closed(tmp_path: Path) -> None:
    disk = Slow()
    files = OpenFiles(disk, most=2)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for turn in range(3):
        for name in ("a", "b", "c", "d"):
            files.write(tmp_path / name, turn, b"x")
    assert len(os.listdir("/proc/self/fd")) == before + 2  # noqa: PTH208
    files.sync()
    assert disk.asked.count("sync") == 12
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"xxx"}


def test_what_is_cut_or_cleared_is_written_anew_from_there(tmp_path: Path) -> None:
    files = OpenFiles(Disk())
    files.write(tmp_path / "a", 0, b"committed, and torn")
    files.cut(tmp_path / "a", 9)
    assert (tmp_path / "a").read_bytes() == b"committed"
    files.write(tmp_path / "a", 9, b"!")
    files.cut(tmp_path / "a", 50)
    assert (tmp_path / "a").read_bytes() == b"committed!"
    files.clear(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b""
    files.cut(tmp_path / "a", 0)
    assert not (tmp_path / "a").exists()
    files.cut(tmp_path / "a", 5)
    files.clear(tmp_path / "a")
    files.close()


def test_a_cut_that_fails_is_left_to_the_next_run(tmp_path: Path) -> None:
    class Broken(Disk):
        def truncate(self, path: Path, size: int) -> None:
            raise OSError(errno.EIO, "broken")

    files = OpenFiles(Broken())
    files.write(tmp_path / "a", 0, b"123")
    files.cut(tmp_path / "a", 1)
    assert (tmp_path / "a").read_bytes() == b"123"


@pytest.mark.parametrize("call", ["write", "sync"])
def test_an_error_names_its_file(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    disk = Disk()
    monkeypatch.setattr(disk, call, fails, raising=True)
    files = OpenFiles(disk)
    with pytest.raises(OSError, match="full") as caught:  # noqa: PT012 - whichever of them it is
        files.write(tmp_path / "a", 0, b"1")
        files.sync()
    assert caught.value.filename == str(tmp_path / "a")
    files.close()


def test_a_name_that_is_there_is_not_replaced() -> None:
    with pytest.raises(FileNotFoundError) as caught, ErrorPath(Path("/mine")):
        Path("/no/such").read_bytes()
    assert caught.value.filename == "/no/such"
    with pytest.raises(ValueError, match="other"), ErrorPath(Path("/mine")):
        raise ValueError("other")
