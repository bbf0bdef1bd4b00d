"""`verify` finds what no hash can: content that is no record, is there twice, or has other ids."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.export import verify
from chatrest.export.formats.compression import compression
from tests.damaged_exports import COUNT, largest_entry, only_problem, places_of, rewrite
from tests.export_runs import manifest_of


def test_a_line_that_is_there_twice(out: Path) -> None:
    entry = largest_entry(out)
    data = (out / entry.name).read_bytes()
    line = data.splitlines(keepends=True)[3]
    rewrite(out, entry.name, data + line)
    problem = only_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"messages that are stored twice: {json.loads(line)['id']}"


def test_messages_that_are_in_two_files(out: Path) -> None:
    first, second, *_ = (entry for entry in manifest_of(out).files if entry.role == "part")
    more = b"".join((out / second.name).read_bytes().splitlines(keepends=True)[:4])
    rewrite(out, first.name, (out / first.name).read_bytes() + more)
    result = verify(out)
    assert places_of(result) == [("content", first.name), ("duplicate", second.name)]
    assert result.problems[1].text.endswith(" and 1 more")
    assert result.messages == COUNT


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("plain", b'{"id":"5"}\nno JSON\n', "line 2 is no JSON record: b'no JSON'"),
        ("gzip", b'{"id":"5"}\n{"id":"6"}', "its last line has no end"),
        ("plain", b'{"id":"5"}\n{"id":"6"}', "its last line has no end"),
        ("plain", b'{"id":"5"}{"id":"6"}\n', "line 1 is no JSON record"),
        ("plain", b'{"id":"5"}{"id":"6"}\n\n', "line 1 is no JSON record"),
        ("plain", b'{"id":"5"}{"id":"6"}\n \n', "line 1 is no JSON record"),
        ("zstd", b'{"id":"5"},{"id":"6"}\n', "line 1 is no JSON record"),
        ("plain", b'{"id":"5"}\n\n', "line 2 is no JSON record"),
    ],
)
def test_content_that_is_no_record(
    copy: Callable[[str], Path], name: str, content: bytes, words: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    rewrite(out, entry.name, compression({"plain": "none"}.get(name, name)).pack(content))  # type: ignore[arg-type]
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("content", entry.name)
    assert words in problem.text


def test_other_ids_than_those_that_were_written(out: Path) -> None:
    """Content, hashes, manifest and journal are changed to agree; the ids of the file tell."""
    entry = largest_entry(out)
    lines = (out / entry.name).read_bytes().splitlines(keepends=True)
    ids = [match[1].decode() for line in lines if (match := re.search(rb'"id": ?"(\d{3})"', line))]
    number = ids[0]
    data = b"".join(line.replace(number.encode(), b"999") for line in lines)
    rewrite(out, entry.name, data, first_id=entry.first_id, last_id="999")
    texts = [problem.text for problem in verify(out).problems]
    words = f"the ids of journal and file differ: {number} only in the journal"
    assert any(text.startswith(words) for text in texts), texts
    assert any(text == f"1 message of its list not in the export: {number}" for text in texts)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_file_that_cannot_be_decompressed(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    rewrite(out, entry.name, b"nonsense")
    assert ("content", entry.name) in places_of(verify(out))


@pytest.mark.parametrize("how", ["swapped", "fewer", "none"])
def test_parquet_files_with_other_rows(copy: Callable[[str], Path], how: str) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = copy("parquet")
    name = next(entry.name for entry in manifest_of(out).files if entry.role == "part")
    table = pq.ParquetFile(out / name).read()
    match how:
        case "swapped":
            rows = table.to_pylist()
            rows[1]["raw"], rows[2]["raw"] = rows[2]["raw"], rows[1]["raw"]
            pq.write_table(table.from_pylist(rows, schema=table.schema), out / name)
        case "fewer":
            pq.write_table(table.slice(1), out / name)
        case "none":
            (out / name).write_bytes(b"PAR1 no file PAR1")
    rewrite(out, name, (out / name).read_bytes())
    assert ("content", name) in places_of(verify(out))
