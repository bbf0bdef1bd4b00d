"""`verify` finds what no hash can: content that is none, or stands there twice."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from chatrest.export import Plan, verify
from chatrest.export.journal import NAME as JOURNAL
from tests.damaging import (
    COUNT,
    GROWN,
    PLANS,
    claim,
    claim_part,
    frames_of,
    largest,
    rehashed,
    the_problem,
    told,
)
from tests.exporting import manifest_of


def test_a_line_that_is_there_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    entry = largest(out)
    blocks, rows = frames_of(out, entry), [rows for _, rows, _ in entry.blocks]
    line = blocks[1].splitlines(keepends=True)[0]
    number = str(json.loads(line)["id"])
    blocks[3], rows[3] = blocks[3] + line, rows[3] + 1
    claim_part(out, entry.name, **rehashed(out / entry.name, blocks, rows))
    claim(out, messages=COUNT + 1)
    problem = the_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"message {number} stands in it more than once"


def test_a_message_that_is_in_two_parts(out: Path) -> None:
    (out / JOURNAL).unlink()
    one, other, *_ = (entry for entry in manifest_of(out).parts if entry.role == "part")
    blocks, rows = frames_of(out, one), [rows for _, rows, _ in one.blocks]
    data = frames_of(out, other)[0]
    changed = rehashed(out / one.name, [*blocks, data], [*rows, len(data.splitlines())])
    claim_part(out, one.name, **changed, first_id="1", last_id=str(COUNT))
    claim(out, messages=COUNT + len(data.splitlines()))
    verdict = verify(out)
    assert told(verdict) == [("duplicate", other.name)]
    assert f"stand in {one.name}, too" in verdict.problems[0].text
    assert verdict.messages == COUNT


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"id":"5"}\nno JSON\n', "line 2 is no JSON record: b'no JSON'"),
        (b'{"id":"5"}\n{"id":"6"}', "the last line has no end"),
        (b'{"id":"5"}{"id":"6"}\n', "line 1 is no JSON record"),
        (b'{"id":"5"},{"id":"6"}\n', "line 1 is no JSON record"),
        (b'{"id":"5"}\n\n', "line 2 is no JSON record"),
        (b'{"id":"5"}\n', "hold 1 messages, and not 2"),
        (b'{"id":"5"}\n{"id":"999999"}\n', "hold the ids 5 to 999999, and not"),
    ],
)
@pytest.mark.parametrize("name", GROWN)
def test_content_that_is_none(copy: Callable[[str], Path], name: str, content: bytes, words: str) -> None:
    from chatrest.export.formats.compression import compression

    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest(out)
    block = compression({"plain": "none"}.get(name, name)).pack(content)  # type: ignore[arg-type]
    held = entry.messages - 2
    claim_part(out, entry.name, **rehashed(out / entry.name, [block], [2]))
    claim(out, messages=COUNT - held, sources=[], plan=msgspec.Raw(Plan(**PLANS[name]).encoded()))
    claim(out, fingerprint=Plan(**PLANS[name]).fingerprint)
    verdict = verify(out)
    found = [problem.text for problem in verdict.problems if problem.kind == "content"]
    assert any(words in text for text in found), verdict.problems


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_frame_that_does_not_unpack(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest(out)
    claim_part(out, entry.name, **rehashed(out / entry.name, [b"nonsense"], [entry.messages]))
    assert ("content", entry.name) in told(verify(out))
