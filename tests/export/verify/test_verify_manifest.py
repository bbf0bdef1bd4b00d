"""`verify` finds a manifest that is lost, incomplete or edited, and says what in it is wrong."""

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
    change_entry,
    change_journal,
    change_manifest,
    flipped,
    largest_entry,
    only_problem,
    places_of,
)
from tests.exporting import manifest_of


def test_without_a_manifest_the_journal_has_the_files(out: Path) -> None:
    (out / MANIFEST).write_bytes((out / MANIFEST).read_bytes() + b" ")
    assert places_of(verify(out)) == [("manifest", MANIFEST)]
    (out / MANIFEST).unlink()
    result = verify(out)
    assert (places_of(result), result.messages) == ([("manifest", MANIFEST)], COUNT)
    with flipped(out / largest_entry_name(out), 1000):
        assert [kind for kind, _ in places_of(verify(out))] == ["manifest", "damaged"]


def largest_entry_name(out: Path) -> str:
    path = max((out / "messages").rglob("*.ndjson"), key=lambda path: path.stat().st_size)
    return path.relative_to(out).as_posix()


def test_an_incomplete_one_has_its_reasons(out: Path) -> None:
    change_manifest(out, complete=False, reasons=["user ann: 403", "run it again"])
    result = verify(out)
    assert places_of(result) == [("incomplete", MANIFEST)] * 2
    assert "user ann: 403" in result.problems[0].text
    assert result.until is None
    change_manifest(out, reasons=[])
    assert "it has no reason" in only_problem(out).text


@pytest.mark.parametrize("version", [1, 4])
def test_another_version_is_refused_with_what_to_do(out: Path, version: int) -> None:
    change_manifest(out, version=version)
    words = "into another folder; the files in .* stay as they are" if version == 1 else "reads version 3"
    with pytest.raises(RequestInvalidError, match=words):
        verify(out)


def test_a_source_with_a_gap(out: Path) -> None:
    manifest = manifest_of(out)
    [ann] = [source for source in manifest.sources if source.source == ["user", "ann"]]
    others = [source for source in manifest.sources if source != ann]
    last = ann.covered[-1][1]
    change_manifest(out, sources=[structs.replace(ann, covered=[("1", "50"), ("81", last)]), *others])
    problem = only_problem(out)
    assert (problem.place, problem.text) == ("user ann", "ids 51 to 80 were not read")


@pytest.mark.parametrize(
    ("proven", "words"),
    [(None, "its end was never confirmed"), ("5", "its end was confirmed up to id 5 only")],
)
def test_a_source_whose_end_was_not_confirmed(out: Path, proven: str | None, words: str) -> None:
    first, *others = manifest_of(out).sources
    change_manifest(out, sources=[structs.replace(first, proven=proven), *others])
    problem, *_ = verify(out).problems
    assert (problem.kind, problem.place) == ("coverage", " ".join(first.source))
    assert words in problem.text


def _edits() -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "until", {"until": "x"}, "it ends at 'x', which is no id"
    yield "messages", {"messages": COUNT + 1}, "its files have"
    yield "fingerprint", {"fingerprint": "0" * 16}, "its fingerprint is not"
    yield "plan", {"plan": msgspec.Raw(b'{"users": 5}')}, "its plan cannot be read"
    yield "finished", {"finished": None}, "was never finished"
    yield "sources", {"sources": []}, "was not read"
    yield "files", {"files": []}, "no part of this export"


@pytest.mark.parametrize(("name", "changes", "words"), list(_edits()), ids=lambda each: str(each)[:12])
def test_a_manifest_that_was_edited(out: Path, name: str, changes: dict[str, Any], words: str) -> None:
    (out / JOURNAL).unlink()
    change_manifest(out, **changes)
    result = verify(out)
    assert not result.ok
    assert any(words in problem.text for problem in result.problems), (name, result.problems)


@pytest.mark.parametrize(
    "changes",
    [
        {"bytes": 10**18},
        {"bytes": -1},
        {"messages": 5},
        {"sha256": "no hash"},
        {"role": "spool"},
        {"bytes": 0, "messages": 0},
        {"name": "messages/other.ndjson"},
    ],
    ids=str,
)
def test_an_entry_that_was_edited(out: Path, changes: dict[str, Any]) -> None:
    change_entry(out, largest_entry(out).name, **changes)
    assert not verify(out).ok
    (out / JOURNAL).unlink()
    assert not verify(out).ok


def test_a_file_that_is_named_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    change_manifest(out, files=[*manifest_of(out).files, largest_entry(out)])
    assert "duplicate" in {kind for kind, _ in places_of(verify(out))}


def test_a_file_of_no_known_kind(out: Path) -> None:
    (out / JOURNAL).unlink()
    (out / "messages" / "x.txt").write_bytes(b"x\n")
    name = largest_entry(out).name
    changes = {"name": "messages/x.txt", "bytes": 2, "sha256": hashlib.sha256(b"x\n").hexdigest()}
    change_entry(out, name, **changes)
    assert ("content", "messages/x.txt") in places_of(verify(out))


def test_without_a_manifest_a_damaged_journal_is_a_problem_as_well(out: Path) -> None:
    (out / MANIFEST).unlink()
    change_journal(out, "UPDATE files SET state = x'00'")
    assert sorted(places_of(verify(out))) == [("journal", JOURNAL), ("manifest", MANIFEST)]


def test_intervals_that_are_none(out: Path) -> None:
    first, *others = manifest_of(out).sources
    for covered in ([("x", "5")], [("9", "5")], [("0", "9" * 40)]):
        change_manifest(out, sources=[structs.replace(first, covered=covered), *others])
        assert any("are no intervals" in problem.text for problem in verify(out).problems)


def test_a_failed_source_of_a_complete_export(out: Path) -> None:
    first, *others = manifest_of(out).sources
    change_manifest(out, sources=[structs.replace(first, state="failed", error="403"), *others])
    assert only_problem(out).text == "it was not read to its end: 403"
