"""`verify` finds what no hash can: content that is no record, is there twice, or has other ids."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from chatrest.export import Plan, verify
from chatrest.export.formats.compression import compression
from chatrest.export.journal import NAME as JOURNAL
from tests.damaging import (
    COUNT,
    PLANS,
    blocks_of,
    change_entry,
    change_journal,
    change_manifest,
    largest_entry,
    only_problem,
    places_of,
    vouch_for_journal,
    write_blocks,
)
from tests.exporting import manifest_of


def test_a_line_that_is_there_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    blocks, counts = blocks_of(out, entry), [count for _, count, _ in entry.blocks]
    line = blocks[1].splitlines(keepends=True)[0]
    blocks[3], counts[3] = blocks[3] + line, counts[3] + 1
    change_entry(out, entry.name, **write_blocks(out / entry.name, blocks, counts))
    change_manifest(out, messages=COUNT + 1)
    problem = only_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"message {json.loads(line)['id']} is in it more than once"


def test_messages_that_are_in_two_files(out: Path) -> None:
    (out / JOURNAL).unlink()
    first, second, *_ = (entry for entry in manifest_of(out).files if entry.role == "part")
    blocks, counts = blocks_of(out, first), [count for _, count, _ in first.blocks]
    data = blocks_of(out, second)[0]
    count = len(data.splitlines())
    changes = write_blocks(out / first.name, [*blocks, data], [*counts, count])
    change_entry(out, first.name, **changes, first_id="1", last_id=str(COUNT))
    change_manifest(out, messages=COUNT + count)
    result = verify(out)
    assert places_of(result) == [("duplicate", second.name)]
    assert f"are in {first.name}, too" in result.problems[0].text
    assert result.messages == COUNT


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("plain", b'{"id":"5"}\nno JSON\n', "line 2 is no JSON record: b'no JSON'"),
        ("gzip", b'{"id":"5"}\n{"id":"6"}', "the last line has no end"),
        ("plain", b'{"id":"5"}\n{"id":"6"}', "the last line has no end"),
        ("plain", b'{"id":"5"}{"id":"6"}\n', "line 1 is no JSON record"),
        ("zstd", b'{"id":"5"},{"id":"6"}\n', "line 1 is no JSON record"),
        ("plain", b'{"id":"5"}\n\n', "line 2 is no JSON record"),
        ("plain", b'{"id":"5"}\n', "holds 1 messages, and not 2"),
        ("gzip", b'{"id":"5"}\n{"id":"999999"}\n', "holds the ids 5 to 999999, and not"),
    ],
)
def test_content_that_is_no_record(
    copy: Callable[[str], Path], name: str, content: bytes, words: str
) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    block = compression({"plain": "none"}.get(name, name)).pack(content)  # type: ignore[arg-type]
    change_entry(out, entry.name, **write_blocks(out / entry.name, [block], [2]))
    plan = Plan(**PLANS[name])
    change_manifest(
        out,
        messages=COUNT - entry.messages + 2,
        sources=[],
        plan=msgspec.Raw(plan.encoded()),
        fingerprint=plan.fingerprint,
    )
    texts = [problem.text for problem in verify(out).problems if problem.kind == "content"]
    assert any(words in text for text in texts), texts


def test_other_ids_than_those_that_were_written(out: Path) -> None:
    """Content, hashes, manifest and journal are changed to agree; the ids of the block tell."""
    entry = largest_entry(out)
    blocks, counts = blocks_of(out, entry), [count for _, count, _ in entry.blocks]
    lines = blocks[1].splitlines(keepends=True)
    number = next(str(record["id"]) for record in map(json.loads, lines) if str(record["id"]).isdecimal())
    other = str(5 * int(entry.last_id or 0))[: len(number)]
    blocks[1] = b"".join(line.replace(number.encode(), other.encode()) for line in lines)
    changes = write_blocks(out / entry.name, blocks, counts)
    change_entry(out, entry.name, **changes)
    sql = "UPDATE blocks SET digest = ? WHERE start = ? AND file = (SELECT number FROM files WHERE name = ?)"
    digest = bytes.fromhex(changes["blocks"][1][2])
    assert change_journal(out, sql, digest, len(blocks[0]), entry.name) == 1
    vouch_for_journal(out)
    texts = [problem.text for problem in verify(out).problems]
    words = f"the ids of journal and file differ: {number} only in the journal"
    assert any(text.startswith(words) for text in texts), texts


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_block_that_cannot_be_decompressed(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    change_entry(out, entry.name, **write_blocks(out / entry.name, [b"nonsense"], [entry.messages]))
    assert ("content", entry.name) in places_of(verify(out))
