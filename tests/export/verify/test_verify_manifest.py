"""`verify` finds a manifest that is gone, incomplete or edited, and says what in it is wrong."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from chatrest.errors import RequestInvalidError
from chatrest.export import verify
from chatrest.export.journal import NAME as JOURNAL
from chatrest.export.manifest import NAME as MANIFEST
from tests.damaging import (
    COUNT,
    claim,
    claim_part,
    cut_journal,
    flipped,
    largest,
    largest_file,
    the_problem,
    told,
)
from tests.exporting import manifest_of


def test_no_export_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RequestInvalidError, match="is not an export"):
            verify(path)


def test_a_manifest_that_is_gone_or_damaged_leaves_the_journal_to_tell(out: Path) -> None:
    (out / MANIFEST).write_bytes((out / MANIFEST).read_bytes() + b" ")
    assert told(verify(out)) == [("manifest", MANIFEST)]
    (out / MANIFEST).unlink()
    verdict = verify(out)
    assert (told(verdict), verdict.messages) == ([("manifest", MANIFEST)], COUNT)
    with flipped(out / largest_file(out).name, 1000):
        assert [kind for kind, _ in told(verify(out))] == ["manifest", "damaged"]


def test_an_incomplete_one_is_told_with_its_reasons(out: Path) -> None:
    claim(out, complete=False, reasons=["user ann: 403", "run it again"])
    verdict = verify(out)
    assert told(verdict) == [("incomplete", MANIFEST)] * 2
    assert "user ann: 403" in verdict.problems[0].text
    assert verdict.until is None
    claim(out, reasons=[])
    assert "no reason is told" in the_problem(out).text


def test_a_source_with_a_gap(out: Path) -> None:
    manifest = manifest_of(out)
    until = str(manifest.until)
    sources = [
        structs.replace(source, covered=[("1", "100"), ("201", until)])
        if source.source == ["user", "ann"]
        else source
        for source in manifest.sources
    ]
    claim(out, sources=sources)
    verdict = verify(out)
    assert ("coverage", "user ann") in told(verdict)
    assert verdict.problems[0].text == "ids 101 to 200 were not read"
    assert "ids 101 to 200 are covered in it, and not in the manifest" in verdict.problems[1].text

    claim(out, until=None)
    assert verify(out).problems[0].text == "ids 101 to 200 were not read"
    claim(out, until=until, sources=[structs.replace(each, covered=[]) for each in sources])
    assert f"ids 1 to {until} were not read" in verify(out).problems[0].text


def _edits() -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "until", {"until": "x"}, "it ends at 'x', which is no id"
    yield "messages", {"messages": COUNT + 1}, "the parts have"
    yield "fingerprint", {"fingerprint": "0" * 16}, "its fingerprint is not"
    yield "plan", {"plan": msgspec.Raw(b'{"users": 5}')}, "its plan cannot be read"
    yield "finished", {"finished": None}, "was never finished"
    yield "sources", {"sources": []}, "was not read"
    yield "parts", {"parts": []}, "no part of this export"


@pytest.mark.parametrize(("name", "changed", "words"), list(_edits()), ids=lambda each: str(each)[:12])
def test_a_manifest_that_was_edited(out: Path, name: str, changed: dict[str, Any], words: str) -> None:
    (out / JOURNAL).unlink()
    claim(out, **changed)
    verdict = verify(out)
    assert not verdict.ok
    assert any(words in problem.text for problem in verdict.problems), (name, verdict.problems)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "../elsewhere.ndjson"},
        {"name": "/etc/passwd"},
        {"name": ""},
        {"bytes": 10**18, "blocks": [(10**18, 5, "00")]},
        {"blocks": [(-1, 5, "00")]},
        {"sha256": "no hash"},
        {"first_id": "x"},
        {"role": "spool"},
        {"bytes": 0, "messages": 0, "blocks": []},
    ],
    ids=str,
)
def test_an_entry_that_was_edited(out: Path, changed: dict[str, Any]) -> None:
    claim_part(out, largest(out).name, **changed)
    assert not verify(out).ok
    (out / JOURNAL).unlink()
    assert not verify(out).ok


def test_a_part_that_is_named_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    claim(out, parts=[*manifest_of(out).parts, largest(out)])
    kinds = {kind for kind, _ in told(verify(out))}
    assert kinds == {"manifest", "duplicate"}


def test_a_part_of_no_known_kind(out: Path) -> None:
    (out / JOURNAL).unlink()
    claim_part(
        out, largest(out).name, blocks=[], sha256=hashlib.sha256(largest_file(out).read_bytes()).hexdigest()
    )
    assert "it is no file of an export" in verify(out).problems[0].text


def test_a_journal_that_is_damaged_where_it_tells_of_parts(out: Path) -> None:
    (out / MANIFEST).unlink()
    cut_journal(out, "UPDATE parts SET role = x'00'")
    assert told(verify(out)) == [("manifest", MANIFEST), ("journal", JOURNAL)]


def test_intervals_that_are_none(out: Path) -> None:
    sources = manifest_of(out).sources
    for covered in ([("x", "5")], [("9", "5")], [("0", "9" * 40)]):
        claim(out, sources=[structs.replace(sources[0], covered=covered), *sources[1:]])
        verdict = verify(out)
        assert any("no interval of ids" in problem.text for problem in verdict.problems)


def test_failed_sources_of_a_complete_export(out: Path) -> None:
    sources = manifest_of(out).sources
    claim(out, sources=[structs.replace(sources[0], state="failed", error="403"), *sources[1:]])
    verdict = verify(out)
    assert verdict.problems[0].text == "it was not walked to its end: 403"
    assert "it is open in it, and failed in the manifest" in verdict.problems[1].text
