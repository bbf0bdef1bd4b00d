"""`verify` finds what no hash can: content that is no record, is there twice, or has other ids."""

import json
import re
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
    change_manifest,
    largest_entry,
    only_problem,
    places_of,
    rewrite,
)
from tests.exporting import manifest_of


def test_a_line_that_is_there_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    data = (out / entry.name).read_bytes()
    line = data.splitlines(keepends=True)[3]
    rewrite(out, entry.name, data + line, messages=entry.messages + 1)
    change_manifest(out, messages=COUNT + 1)
    problem = only_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"message {json.loads(line)['id']} is in it more than once"


def test_messages_that_are_in_two_files(out: Path) -> None:
    (out / JOURNAL).unlink()
    first, second, *_ = (entry for entry in manifest_of(out).files if entry.role == "part")
    more = b"".join((out / second.name).read_bytes().splitlines(keepends=True)[:4])
    data = (out / first.name).read_bytes() + more
    rewrite(out, first.name, data, messages=first.messages + 4, first_id=None, last_id=None)
    change_manifest(out, messages=COUNT + 4)
    result = verify(out)
    assert places_of(result) == [("duplicate", second.name)]
    assert f"are in {first.name}, too" in result.problems[0].text
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
        ("plain", b'{"id":"5"}\n', "holds 1 messages, and not 2"),
    ],
)
def test_content_that_is_no_record(
    copy: Callable[[str], Path], name: str, content: bytes, words: str
) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    data = compression({"plain": "none"}.get(name, name)).pack(content)  # type: ignore[arg-type]
    rewrite(out, entry.name, data, messages=2)
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
    assert any(text == f"1 messages that it has shown are not in the export: {number}" for text in texts)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_file_that_cannot_be_decompressed(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest_entry(out)
    rewrite(out, entry.name, b"nonsense")
    assert ("content", entry.name) in places_of(verify(out))


def test_a_version_that_is_not_the_one_that_was_replaced(out: Path) -> None:
    [history] = [entry for entry in manifest_of(out).files if entry.role == "history"]
    data = (out / history.name).read_bytes()
    rewrite(out, history.name, data.replace(b'"category"', b'"kategory"', 1))
    kinds = {(each.kind, each.place) for each in verify(out).problems}
    assert kinds == {("content", history.name)}
