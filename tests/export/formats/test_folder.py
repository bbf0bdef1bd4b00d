"""The folder of messages: names and partitions, and nothing but data files, whatever happens."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from chatrest.core.replies.rows import row_of
from tests.journals import by_hand
from tests.sinks import BOB, DAY, FORMATS, OCTOBER, SEPTEMBER, Export, crashed, files, ids, page, record


@pytest.mark.parametrize(
    ("partition", "folders"),
    [
        ("none", [""]),
        ("source", ["source=user-alice/", "source=user-bob/"]),
        ("month", ["month=2020-09/", "month=2020-10/", "month=undated/"]),
        ("day", ["day=2020-09-13/", "day=2020-09-14/", "day=2020-10-06/", "day=undated/"]),
    ],
)
@pytest.mark.parametrize(
    ("format", "compress", "suffix"),
    [
        ("ndjson", "none", "ndjson"),
        ("ndjson", "gzip", "ndjson.gz"),
        ("ndjson", "zstd", "ndjson.zst"),
        ("parquet", "zstd", "parquet"),
    ],
)
def test_files_have_hive_names(
    format: str, compress: str, suffix: str, partition: str, folders: list[str], tmp_path: Path
) -> None:
    with Export(tmp_path, format=format, compress=compress, partition=partition) as out:
        out.commit([*page(1, 2), *page(3, 2, SEPTEMBER + DAY // 2), *page(5, 1, OCTOBER * 1000)])
        out.commit([row_of(b'{"id":"6"}'), *page(7, 1)], BOB)
        out.done()
        assert out.written() == list(range(1, 8))
    assert files(tmp_path) == sorted(f"messages/{folder}messages.{suffix}" for folder in folders)
    assert ids(tmp_path) == list(range(1, 8))


def test_a_name_is_free_only_if_neither_the_journal_nor_the_disk_has_it(tmp_path: Path) -> None:
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "messages.ndjson").write_bytes(b"somebody's")
    with Export(tmp_path, partition="none", largest=100) as out:
        for first in range(1, 9, 2):
            out.commit(page(first, 2))
        by_journal = [file.name for file in out.journal.files()]
    assert by_journal == [f"messages/messages-{number}.ndjson" for number in (2, 3, 4, 5)]
    assert (tmp_path / "messages" / "messages.ndjson").read_bytes() == b"somebody's"


@FORMATS
def test_a_damaged_file_is_moved_aside_whole(plan: dict[str, Any], tmp_path: Path) -> None:
    with Export(tmp_path, **plan) as out:
        out.commit(page(1, 10))
        out.done()
        [name] = [file.name for file in out.journal.files()]
    path = tmp_path / name
    for count in (1, 2):
        torn = path.read_bytes()[:-5]
        path.write_bytes(torn)
        with Export(tmp_path, **plan) as out:
            assert out.written() == []
            out.commit(page(1, 10))
            out.done()
        assert (tmp_path / "damaged" / f"{name}.damaged-{count}").read_bytes() == torn
        assert ids(tmp_path) == list(range(1, 11))
        assert [file for file in files(tmp_path) if not file.startswith("damaged")] == [name]


@FORMATS
def test_the_older_content_is_moved_aside_where_the_new_one_is_removed(
    plan: dict[str, Any], tmp_path: Path
) -> None:
    """A crash between the commit and the rename, and then somebody removes the spool."""
    begin = tmp_path / "begin"
    with Export(begin, **plan) as out:
        out.commit(page(1, 10))
        out.done()
        out.change(page(3, 5, edited="yes"))
    replacing = 0
    for calls in range(40):
        folder = shutil.copytree(begin, tmp_path / str(calls))
        if crashed(folder, Export.done, calls, **plan):
            break
        shutil.rmtree(folder / "spool", ignore_errors=True)
        with Export(folder, **plan) as out:
            is_replacing = not out.written()
            replacing += is_replacing
            assert out.written() == ([] if is_replacing else list(range(1, 11)))
            assert len(out.scan()) == len(out.written())
        assert (folder / "damaged").exists() == is_replacing
    assert replacing


def test_blocks_that_do_not_add_up_to_the_file_make_it_unknown(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11, 21):
            out.commit(page(first))
    by_hand(tmp_path / "journal.sqlite", "DELETE FROM blocks WHERE start = 0")
    with Export(tmp_path) as out:
        assert out.written() == []
    name = "messages/source=user-alice/messages.ndjson"
    assert files(tmp_path) == [f"damaged/{name}.damaged-1"]
    assert (tmp_path / "damaged" / f"{name}.damaged-1").read_bytes().count(b"\n") == 30


def test_a_shortened_file_keeps_its_whole_blocks_and_their_ids_without_numbers(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11, 21):
            out.commit([*page(first), row_of(b'{"id":"x%d"}' % first)])
        [file] = out.journal.files()
        last = out.journal.blocks(file.number)[-1]
    path = tmp_path / file.name
    torn = path.read_bytes()[: last.start + 7]
    path.write_bytes(torn)
    with Export(tmp_path) as out:
        assert out.written() == list(range(1, 21))
        assert out.journal.other_ids_written(["x1", "x11", "x21"]) == {"x1", "x11"}
        assert len(out.scan()) == 22
    assert path.read_bytes() == torn[: last.start]
    assert (tmp_path / "damaged" / f"{file.name}.damaged-1").read_bytes() == torn


def test_a_torn_end_that_no_commit_knows_is_cut(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        [file] = out.journal.files()
    path = tmp_path / file.name
    whole = path.read_bytes()
    path.write_bytes(whole + record(11)[:20])
    with Export(tmp_path) as out:
        assert out.written() == list(range(1, 11))
    assert path.read_bytes() == whole
    assert files(tmp_path) == [file.name]
