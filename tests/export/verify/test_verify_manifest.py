"""`verify` finds a manifest that is lost, incomplete or edited, and says what in it is wrong."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from chatrest.errors import RequestInvalidError
from chatrest.export import NextRun, Plan, Remedy, verify
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.read.facts import facts_of
from tests.damaged_exports import (
    COUNT,
    change_entry,
    change_journal,
    change_manifest,
    flipped,
    largest_entry,
    only_problem,
    places_of,
    vouch_for_journal,
)
from tests.export_runs import manifest_of


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
    change_manifest(out, reasons=[])
    assert "it has no reason" in only_problem(out).text


def test_another_plan_is_advised_where_a_source_has_failed_and_not_for_other_reasons(out: Path) -> None:
    """Such as after a run that was refused, as the ids of the service begin again."""
    change_manifest(out, complete=False, next_run=NextRun.FAILS, reasons=["the ids begin again"])
    assert (only_problem(out).advice, only_problem(out).remedy) == (Remedy.NOTHING, "")
    change_sources(out, f"UPDATE sources SET state = 'failed', error = '403' WHERE number = {ANN}")
    assert only_problem(out).advice is Remedy.CHANGE_PLAN


def test_what_is_damaged_has_its_plan_and_its_end(out: Path) -> None:
    good = verify(out)
    assert (good.plan, good.until) == ("all users; groups den, oak; pair ann and bob", COUNT)
    with flipped(out / largest_entry_name(out), 1000):
        damaged = verify(out)
    assert (damaged.ok, damaged.plan, damaged.until) == (False, good.plan, good.until)
    facts = facts_of(str(out))
    assert (facts.state, facts.until) == ("complete", COUNT)


def test_another_version_is_refused(out: Path) -> None:
    change_manifest(out, version=4)
    with pytest.raises(RequestInvalidError, match="is of version 4: this library reads version 1"):
        verify(out)


def change_sources(out: Path, sql: str) -> None:
    """Change what the journal knows of sources, and let the manifest vouch for it."""
    assert change_journal(out, sql)
    vouch_for_journal(out)


ANN = """(SELECT number FROM sources WHERE key = '["user", "ann"]')"""


def test_a_source_with_a_gap(out: Path) -> None:
    change_sources(out, f"UPDATE covered SET last = 50 WHERE source = {ANN}")
    assert change_journal(out, f"INSERT INTO covered VALUES({ANN}, 81, 90, '')")
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.place, problem.text) == ("user ann", "ids 51 to 80 were not read")


@pytest.mark.parametrize(
    ("proven", "words"),
    [(0, "its end was never confirmed"), (5, "its end was confirmed up to id 5 only")],
)
def test_a_source_whose_end_was_not_confirmed(out: Path, proven: int, words: str) -> None:
    change_sources(out, f"UPDATE sources SET proven = {proven} WHERE number = {ANN}")
    problem = only_problem(out)
    assert (problem.kind, problem.place) == ("coverage", "user ann")
    assert words in problem.text


@pytest.mark.parametrize(
    "changes",
    [{"bytes": 10**18}, {"bytes": -1}, {"sha256": "no hash"}, {"name": "messages/other.ndjson"}],
    ids=str,
)
def test_an_entry_that_was_edited(out: Path, changes: dict[str, Any]) -> None:
    name = largest_entry(out).name
    change_entry(out, name, **changes)
    assert places_of(verify(out)) == [("manifest", MANIFEST)]
    (out / JOURNAL).unlink()
    assert {each.place for each in verify(out).problems} > {JOURNAL}


def test_a_manifest_that_names_no_files_is_not_that_of_the_export(out: Path) -> None:
    """Readers go by it."""
    change_manifest(out, files=[])
    assert "its files are not those of journal.sqlite" in only_problem(out).text


def test_without_a_manifest_a_damaged_journal_is_a_problem_as_well(out: Path) -> None:
    (out / MANIFEST).unlink()
    change_journal(out, "UPDATE files SET state = x'00'")
    assert sorted(places_of(verify(out))) == [("journal", JOURNAL), ("manifest", MANIFEST)]


def test_a_failed_source_of_a_complete_export(out: Path) -> None:
    change_sources(out, f"UPDATE sources SET state = 'failed', error = '403' WHERE number = {ANN}")
    assert only_problem(out).text == "it was not read to its end: 403"


def test_a_source_of_the_plan_that_was_not_read(out: Path) -> None:
    plan = structs.replace(Plan.parse(bytes(manifest_of(out).plan)), users=("nobody",))
    assert change_journal(out, "UPDATE meta SET value = ? WHERE name = 'plan'", plan.encoded().decode())
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.place, problem.text) == ("user nobody", "it is in the plan, and was not read")
