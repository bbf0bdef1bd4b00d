"""`verify` finds files that nobody knows, and a journal that tells something else than the manifest."""

from contextlib import closing
from pathlib import Path

import pytest

from chatrest.export import verify
from chatrest.export.journal import NAME as JOURNAL, Journal
from tests.damaging import cut_journal, largest, the_problem, told

# ── what is no part ──


@pytest.mark.parametrize("name", ["x.ndjson", "x.ndjson.gz", "x.parquet", "x.sqlite", "history.2.jsonl"])
def test_files_that_the_manifest_does_not_know(out: Path, name: str) -> None:
    (out / name).write_bytes(b"x")
    assert told(verify(out)) == [("unknown", name)]
    (out / name).write_bytes(b"")
    assert verify(out).ok


def test_what_a_killed_run_left_is_noted_and_the_rest_is_nobodys_business(out: Path) -> None:
    for name in ("manifest.json.new", "x.ndjson.new", "README.txt", ".DS_Store"):
        (out / name).write_bytes(b"x")
    (out / "more").mkdir()
    verdict = verify(out)
    assert verdict.ok
    assert [note.where for note in verdict.notes] == ["manifest.json.new", "x.ndjson.new"]


# ── the journal ──


def test_an_interval_that_was_cut_out_of_the_journal(out: Path) -> None:
    with closing(Journal(out / JOURNAL)) as journal, journal.transaction():
        [number] = [known.number for known in journal.sources() if str(known.source) == "user ann"]
        journal.replace_spans(number, [span._replace(first=201) for span in journal.spans(number)])
    problem = the_problem(out)
    assert (problem.kind, problem.where) == ("journal", JOURNAL)
    assert "user ann: ids 1 to 200 are not covered in it" in problem.text
    assert f"run `chatrest export {out}` again" in problem.advice


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DELETE FROM blocks WHERE start = 0", "it"),
        ("UPDATE blocks SET digest = x'00' WHERE start = 0", "hashes in it are not those of the manifest"),
        ("UPDATE parts SET size = size + 1 WHERE number = 1", "bytes is"),
        ("DELETE FROM parts WHERE number = 1", "it does not know"),
        ("INSERT INTO parts VALUES(99, 'x', '', 'part', 5, 'open', x'00')", "the manifest does not know"),
        ("UPDATE sources SET state = 'failed' WHERE number = 1", "it is failed in it, and open in"),
        (
            "INSERT INTO sources VALUES(99, '[\"user\", \"new\"]', 'open', NULL)",
            "does not know its source user new",
        ),
        ("DELETE FROM sources WHERE number = 2", "which is in the manifest"),
        ("UPDATE meta SET value = '{}' WHERE name = 'plan'", "that of another export"),
        ("DELETE FROM meta", "that of another export"),
        ("UPDATE blocks SET source = 1", "messages are its own"),
        ("UPDATE balance SET product = '5' WHERE name = 'open'", "not known to be there"),
        # damage
        ("UPDATE meta SET value = 'x' WHERE name = 'plan'", "its plan cannot be read"),
        ("UPDATE blocks SET rows = 'x' WHERE start = 0", "it cannot be read"),
        ("UPDATE sources SET source = 'x' WHERE number = 1", "it cannot be read"),
        ("UPDATE sources SET source = '[]' WHERE number = 1", "it cannot be read"),
        ("UPDATE sources SET source = x'ff' WHERE number = 1", "it cannot be read"),
        ("UPDATE deferred SET ids = x'00'", "it cannot be read"),
        ("DROP TABLE blocks", "it cannot be read"),
        ("PRAGMA user_version = 9", "another version"),
    ],
)
def test_a_journal_that_tells_something_else(out: Path, sql: str, words: str) -> None:
    cut_journal(out, sql)
    verdict = verify(out)
    assert not verdict.ok
    assert {problem.where for problem in verdict.problems} == {JOURNAL}
    assert any(words in problem.text for problem in verdict.problems), verdict.problems


def test_ids_that_were_left_to_others_and_are_nowhere(out: Path) -> None:
    with closing(Journal(out / JOURNAL)) as journal, journal.transaction():
        journal.defer(1, [5, 600_001, 600_002])
    verdict = verify(out)
    assert told(verdict) == []
    assert "2 messages that it left to other sources are nowhere: 600001, 600002" in verdict.notes[0].text

    with closing(Journal(out / JOURNAL)) as journal, journal.transaction():
        journal.keep_balance("open", journal.balance("open").plus([600_001, 600_002], -1))
    kinds = [kind for kind, _ in told(verify(out))]
    assert kinds == ["journal", "lost"]


def test_a_journal_that_is_none(out: Path) -> None:
    for content in (b"", b"no database at all", b"SQLite format 3\0" + b"x" * 5000):
        (out / JOURNAL).write_bytes(content)
        problem = the_problem(out)
        assert (problem.kind, problem.where) == ("journal", JOURNAL)
        assert "cannot be continued" in problem.advice


def test_a_journal_that_is_in_use_is_not_asked(out: Path) -> None:
    with closing(Journal(out / JOURNAL)):
        verdict = verify(out)
        assert told(verdict) == []
        assert ["an export is being written here" in note.text for note in verdict.notes] == [True]
        assert "run `chatrest export" in verify_with_gap(out)


def verify_with_gap(out: Path) -> str:
    (out / largest(out).name).unlink()
    return verify(out).problems[0].advice
