"""The moves of the store: what is committed is safe, sealed once, and read by any program."""

from hashlib import sha256
from pathlib import Path

import pytest

from chatrest._core.replies.rows import UNKNOWN, row_of
from chatrest.export.store import NewRows
from chatrest.export.store.disk import Disk, error_path
from chatrest.export.store.formats import NewFile
from tests.support.scripted_store import (
    FORMATS,
    PARTITIONS,
    changes,
    differences,
    opened,
    page,
    repaired,
    row,
    stem_of,
    texts_of,
    texts_on_disk,
)

SHELVES = [*((each, "none") for each in FORMATS), *(("plain", each) for each in PARTITIONS)]


def test_a_new_file_has_all_that_was_written_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.export.store.formats._PIECE", 4)
    with NewFile(Disk(), tmp_path / "new") as file:
        for data in (b"abc", b"defgh", b"i"):
            file.write(data)
    assert (tmp_path / "new").read_bytes() == b"abcdefghi"
    assert file.sha256 == sha256(b"abcdefghi").digest()


@pytest.mark.parametrize(("format", "partition"), dict.fromkeys([*SHELVES, ("parquet", "month")]))
def test_committed_rows_are_sealed_and_stored_once(folder: Path, format: str, partition: str) -> None:
    with opened(folder, format) as store:
        for source, first in ((1, 1), (2, 60), (1, 101), (2, 150)):
            store.commit(page(format, partition, source, list(range(first, first + 70))))
        assert store.commit(page(format, partition, 3, [5, 400, 500])) == 2
        assert len(texts_of(store)) == 221
        store.seal_all()
        assert not differences(store)
        assert len(texts_of(store)) == len(texts_on_disk(folder)) == 221
        store.update(changes({5: "x", 400: "y", 9999: "z"}))
        assert not differences(store)
        on_disk = dict(texts_on_disk(folder))
        assert (on_disk["5"], on_disk["400"], len(on_disk)) == ("x", "y", 221)
        store.seal_all()
        assert texts_of(store, "history") == {"5": "hello", "400": "hello"}
        store.commit(page(format, partition, 1, [600, 601]))
        store.seal_all()
        store.compact(2)
        assert not differences(store)
        assert list((folder / "spool").iterdir()) == []
    assert repaired(folder, format) == []
    assert len(texts_on_disk(folder)) == 223


@pytest.mark.parametrize("format", list(FORMATS))
def test_full_segments_are_sealed_and_small_files_become_one(
    folder: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(folder, format) as store:
        monkeypatch.setattr(type(store.files.kind("messages").format), "full", 200)
        for first in range(1, 200, 50):
            store.commit(page(format, "none", 1, list(range(first, first + 50))))
            store.seal_full()
        assert not store.journal.files("open")
        assert store.compact(2) == 3
        assert len(store.journal.files()) == 1
        assert not differences(store)
    assert len(texts_on_disk(folder)) == 200


def test_rows_keep_their_sources_and_times_in_blocks_and_in_columns(folder: Path) -> None:
    with opened(folder, "parquet") as store:
        store.files._labels = {1: "user ann", 2: "group g"}.get
        stem = stem_of("none", 1, 1)
        store.commit([NewRows(stem, 1, [row(1), row(2)]), NewRows(stem, 2, [row(3)])])
        store.commit([NewRows(stem, 1, [row(4)]), NewRows(stem, 2, [row_of(b'{"id":"5"}')])])
        store.seal_all()
        [file] = store.journal.files()
        blocks = store.journal.blocks(file.number)
        ids = [(block.source, block.rows, list(block.ids)) for block in blocks]
        assert ids == [(1, 3, [1, 2, 4]), (2, 2, [3, 5])]
        assert (blocks[0].since, blocks[0].until) == (1_700_000_001, 1_700_000_004)
        assert (blocks[1].since, blocks[1].until) == (UNKNOWN, 1_700_000_003)
        labels = [(piece.label, piece.rows) for piece in store.files.records(file)]
        assert labels == [("user ann", 2), ("group g", 1), ("user ann", 1), ("group g", 1)]


def test_a_name_that_is_there_is_not_replaced() -> None:
    with pytest.raises(FileNotFoundError) as caught, error_path(Path("/mine")):
        Path("/no/such").read_bytes()
    assert caught.value.filename == "/no/such"
    with pytest.raises(ValueError, match="other"), error_path(Path("/mine")):
        raise ValueError("other")
