"""Compressed members: each by itself, and one after the other a file that any tool reads."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from chatrest.errors import ChatRestError, RequestInvalidError
from chatrest.export.formats.stored_records import compression, line_batches
from chatrest.export.plan.export_plan import COMPRESS

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
blocks = st.lists(st.binary(max_size=200) | st.binary(max_size=9).map(lambda part: part * 999), min_size=1)


@given(blocks)
def test_files_of_several_compressed_members_are_read_by_others(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    with gzip.open(io.BytesIO(b"".join(map(compression("gzip").pack, parts)))) as file:
        assert file.read() == whole
    with zstd.open(io.BytesIO(b"".join(map(compression("zstd").pack, parts)))) as file:
        assert file.read() == whole
    assert b"".join(map(compression("none").pack, parts)) == whole


def test_the_same_rows_are_the_same_bytes_whenever_they_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'{"id":"7"}\n' * 99
    once = [compression(way).pack(data) for way in COMPRESS]
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert [compression(way).pack(data) for way in COMPRESS] == once


def test_the_error_of_a_missing_compression_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("compression.zstd", "compression", "backports.zstd", "backports"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RequestInvalidError, match=r"compress = 'zstd' needs the extra 'zstd'"):
        compression("zstd")
    assert compression("gzip").suffix == ".gz"


@pytest.mark.parametrize(("compress", "suffix"), [("gzip", ".gz"), ("zstd", ".zst")])
def test_a_truncated_last_member_is_damage(compress: str, suffix: str, tmp_path: Path) -> None:
    packed = compression(compress).pack(b"{}\n" * 9)  # type: ignore[arg-type]
    path = tmp_path / f"lines.ndjson{suffix}"
    path.write_bytes(packed + packed[:-4])
    with pytest.raises(ChatRestError, match="its last part has no end"):
        list(line_batches(path, path.name, path.stat().st_size))
