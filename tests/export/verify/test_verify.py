"""`verify` has no problem with an undamaged export, and finds content, files and bits that are wrong."""

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatrest.errors import ChatRestError, RequestInvalidError
from chatrest.export import Problem, VerifyResult, export, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.formats.compression import compression
from chatrest.export.verify.result import MOST_PROBLEMS
from tests.damaged_exports import (
    COUNT,
    PLANS,
    contents_of,
    flipped,
    largest_entry,
    only_problem,
    places_of,
    rewrite,
)
from tests.export_runs import manifest_of, raws_of, served


@pytest.mark.parametrize("name", PLANS)
def test_an_undamaged_export_has_no_problems_and_is_not_changed(
    made: Callable[[str], Path], name: str
) -> None:
    out, steps = made(name), list[tuple[int, int]]()
    before = contents_of(out)
    result = verify(str(out), progress=lambda done, total: steps.append((done, total)))
    assert (result.problems, result.notes, result.ok) == ([], [], True)
    manifest = manifest_of(out)
    assert (result.messages, result.until, result.first) == (COUNT, int(manifest.until or 0), 1)
    assert (result.files, result.bytes) == (len(manifest.files), sum(each.bytes for each in manifest.files))
    assert result.hashes == len(manifest.files)
    assert contents_of(out) == before
    assert steps == sorted(steps)
    assert steps[-1] == (result.bytes, result.bytes)


@pytest.mark.parametrize("name", PLANS)
def test_without_its_journal_it_is_only_hashed_and_not_complete(
    copy: Callable[[str], Path], name: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    for remove in ((out / JOURNAL).unlink, lambda: (out / JOURNAL).write_bytes(b"")):
        remove()
        assert places_of(result := verify(out)) == [("incomplete", JOURNAL)]
        assert (result.messages, result.hashes) == (COUNT, len(manifest_of(out).files))
        with flipped(out / entry.name, 4 * entry.bytes):
            assert places_of(result := verify(out)) == [("incomplete", JOURNAL), ("damaged", entry.name)]
        assert result.messages == COUNT - entry.messages


async def test_an_export_of_nothing_is_complete(tmp_path: Path) -> None:
    async with served(0) as service:
        assert (await export(service.session, tmp_path / "out")).complete
    result = verify(tmp_path / "out")
    assert (result.ok, result.messages, result.until, result.first) == (True, 0, None, None)


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            verify(path)


def test_a_result_keeps_a_limited_number_of_problems() -> None:
    result = VerifyResult()
    for _ in range(MOST_PROBLEMS + 5):
        result.add(Problem("damaged", "x", "y"))
    assert (len(result.problems), result.more, result.count) == (MOST_PROBLEMS, 5, MOST_PROBLEMS + 5)
    assert str(result.problems[0]) == "x: y"


# ── content ──


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
    """Content, hashes, manifest and journal are changed to agree; the ids of the file differ."""
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


@pytest.mark.parametrize("name", ["gzip", "zstd", "parquet"])
def test_a_file_that_cannot_be_unpacked(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    rewrite(out, entry.name, b"PAR1 nonsense PAR1")
    assert ("content", entry.name) in places_of(verify(out))


@pytest.mark.parametrize("how", ["swapped", "fewer"])
def test_parquet_files_with_other_rows(copy: Callable[[str], Path], how: str) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = copy("parquet")
    name = next(entry.name for entry in manifest_of(out).files if entry.role == "part")
    table = pq.ParquetFile(out / name).read()
    if how == "swapped":
        rows = table.to_pylist()
        rows[1]["raw"], rows[2]["raw"] = rows[2]["raw"], rows[1]["raw"]
        table = table.from_pylist(rows, schema=table.schema)
    pq.write_table(table if how == "swapped" else table.slice(1), out / name)
    rewrite(out, name, (out / name).read_bytes())
    assert ("content", name) in places_of(verify(out))


# ── damaged files ──


@pytest.mark.parametrize("name", PLANS)
def test_a_file_that_is_damaged_of_another_size_or_lost(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    path, size = out / entry.name, entry.bytes
    data, last = path.read_bytes(), f"ids {entry.first_id} to {entry.last_id}"
    damaged = bytes([*data[: size // 2], data[size // 2] ^ 1, *data[size // 2 + 1 :]])
    for content, kind, words in (
        (damaged, "damaged", "its bytes are not those that were written: "),
        (data[:-10], "size", f"it ends after {size - 10:,} of {size:,} bytes: {entry.messages}"),
        (data + b"torn", "size", f"it has 4 bytes more than the {size:,}"),
        (None, "missing", f"it is not there: {entry.messages} messages"),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        problem = only_problem(out)
        assert (problem.kind, problem.place) == (kind, entry.name)
        assert problem.text.startswith(words)
        assert f": {entry.messages} messages of " in problem.text
        assert problem.text.endswith(f", {last}")
        assert problem.remedy.startswith(f"restore {entry.name} from a backup")


def test_a_folder_in_the_place_of_a_file(out: Path) -> None:
    entry = largest_entry(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert places_of(verify(out)) == [("damaged", entry.name)]


# ── flipped bits ──


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
