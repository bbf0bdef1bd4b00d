"""`verify` has no problem with an undamaged export, and finds wrong files, journals and manifests."""

import json
import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from chatrest.errors import ChatRestError, RequestInvalidError
from chatrest.export import NextRun, Plan, Problem, Remedy, VerifyResult, export, verify
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.formats.stored_records import compression
from chatrest.export.plan.id_set import IdSet
from chatrest.export.read.facts import facts_of
from chatrest.export.verify.result import MAX_PROBLEMS
from tests.support.damaged_exports import (
    COUNT,
    PLANS,
    change_entry,
    change_journal,
    change_manifest,
    change_vouched,
    contents_of,
    flipped,
    largest_entry,
    only_problem,
    places_of,
    rewrite,
    vouch_for_journal,
)
from tests.support.export_runs import manifest_of, raws_of, served


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
def test_an_export_without_a_journal_is_only_hashed(copy: Callable[[str], Path], name: str) -> None:
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


def test_a_result_keeps_a_limited_number_of_problems() -> None:
    result = VerifyResult()
    for _ in range(MAX_PROBLEMS + 5):
        result.add(Problem("damaged", "x", "y"))
    assert (len(result.problems), result.more, result.count) == (MAX_PROBLEMS, 5, MAX_PROBLEMS + 5)
    assert str(result.problems[0]) == "x: y"


def test_messages_that_are_there_twice_in_one_file_or_in_two(out: Path) -> None:
    first, second, *_ = (entry for entry in manifest_of(out).files if entry.role == "part")
    data = (out / first.name).read_bytes()
    line = data.splitlines(keepends=True)[3]
    rewrite(out, first.name, data + line)
    problem = only_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"messages that are stored twice: {json.loads(line)['id']}"
    more = b"".join((out / second.name).read_bytes().splitlines(keepends=True)[:4])
    rewrite(out, first.name, data + more)
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
        *((name, b"PAR1 nonsense PAR1", "it cannot be read (") for name in ("gzip", "zstd", "parquet")),
    ],
)
def test_content_that_is_no_record(
    copy: Callable[[str], Path], name: str, content: bytes, words: str
) -> None:
    out = copy(name)
    entry = largest_entry(out)
    is_packed = name in ("gzip", "zstd") and not content.startswith(b"PAR1")
    rewrite(out, entry.name, compression(name).pack(content) if is_packed else content)  # type: ignore[arg-type]
    problem = only_problem(out)
    assert (problem.kind, problem.subject) == ("content", entry.name)
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
        assert (problem.kind, problem.subject) == (kind, entry.name)
        assert problem.text.startswith(words)
        assert f": {entry.messages} messages of " in problem.text
        assert problem.text.endswith(f", {last}")
        assert problem.remedy.startswith(f"restore {entry.name} from a backup")


def test_a_folder_in_the_place_of_a_file(out: Path) -> None:
    entry = largest_entry(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert places_of(verify(out)) == [("damaged", entry.name)]


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
                places = {problem.subject for problem in verify(out).problems}
            assert path.relative_to(out).as_posix() in places, bit


def test_a_flipped_bit_of_the_manifest_is_found(out: Path) -> None:
    for bit in bits(out / MANIFEST, FLIPS):
        with flipped(out / MANIFEST, bit):
            result = verify(out)
        assert ("manifest", MANIFEST) in [(each.kind, each.subject) for each in result.problems], bit


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
                assert {problem.subject for problem in result.problems} == {JOURNAL}, bit
                with pytest.raises((ChatRestError, OSError)):
                    ExportFolder(out, app_id=APP_ID)
        assert sorted(raws_of(out)) == records
        for name in contents_of(out).keys() - good.keys():
            (out / name).unlink()
        assert {**contents_of(out), JOURNAL: b""} == {**good, JOURNAL: b""}, bit
        (out / JOURNAL).write_bytes(good[JOURNAL])
    assert 0 < harmless < FLIPS


ROWS = (
    "INSERT INTO rechecks VALUES(1, 5, 5, 5, '[]')",
    "INSERT INTO shown(source, ids) VALUES(1, x'00')",
    "INSERT INTO changed VALUES('5', 5, x'7b7d')",
    "INSERT INTO deleted VALUES('5', 1, 5, 0)",
    f"INSERT INTO foreign_ids(part, ids) VALUES(1, x'{IdSet([5]).to_bytes().hex()}')",
    "INSERT INTO foreign_rows VALUES('5', x'7b7d', 1, 0)",
)
"""Rows of the tables that are empty after a run."""


@pytest.mark.parametrize("name", ["x.ndjson", "x.ndjson.gz", "x.parquet", "messages/x.txt"])
def test_files_that_the_manifest_does_not_know(out: Path, name: str) -> None:
    (out / name).write_bytes(b"x")
    problem = only_problem(out)
    assert (problem.kind, problem.subject) == ("unknown", name)
    assert "keep it" in problem.remedy
    (out / name).write_bytes(b"")
    assert verify(out).ok


def test_leftovers_of_a_killed_run_are_a_note_and_other_files_ignored(out: Path) -> None:
    for name in ("manifest.json.new", "README.txt"):
        (out / name).write_bytes(b"x")
    (out / "more").mkdir()
    result = verify(out)
    assert result.ok
    assert [note.subject for note in result.notes] == ["manifest.json.new"]


def columns(out: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(out / JOURNAL)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        return [
            (table, name)
            for (table,) in tables.fetchall()
            for _, name, *_ in db.execute(f"PRAGMA table_info({table})")
        ]


def other_value(value: Any) -> Any:
    return 1 if value is None else value + {int: 1000, str: "x", bytes: b"\0"}[type(value)]


OF_RUNS = ("news", "edits")


def test_a_change_of_any_column_of_any_table_is_found(out: Path) -> None:
    for sql in ROWS:
        change_journal(out, sql)
    change_manifest(out, deleted=["5"])
    vouch_for_journal(out)
    assert verify(out).ok
    content = (out / JOURNAL).read_bytes()
    # What is told of a run is noted at the next opening: `news` is not of the proof.
    every = [(table, column) for table, column in columns(out) if table not in OF_RUNS]
    assert len(every) > 45
    for table, column in every:
        with closing(sqlite3.connect(out / JOURNAL)) as db, db:
            [value] = db.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
            sql = f"UPDATE {table} SET {column} = ? WHERE {column} IS ?"
            assert db.execute(sql, (other_value(value), value)).rowcount, (table, column)
        result = verify(out)
        assert {problem.subject for problem in result.problems} >= {JOURNAL}, (table, column, result.problems)
        (out / JOURNAL).write_bytes(content)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "UPDATE meta SET value = 'other' WHERE name = 'app'",
            "it is of the app 'other', and",
        ),
        (
            "UPDATE names SET key = 'new' WHERE number = 1",
            "1 message of its list not in the export: new",
        ),
        ("DELETE FROM names", "only in the file"),
        # damage
        ("UPDATE blocks SET rows = 'x'", "is damaged"),
        ("UPDATE blocks SET ids = x'00'", "is damaged"),
        ("UPDATE seen SET ids = 'x'", "is damaged"),
        ("UPDATE sources SET key = 'x' WHERE number = 1", "is damaged"),
        ("UPDATE sources SET key = '[]' WHERE number = 1", "is damaged"),
        ("UPDATE sources SET key = x'ff' WHERE number = 1", "is damaged"),
    ],
)
def test_a_journal_that_contradicts_the_files(out: Path, sql: str, words: str) -> None:
    """Its hash in the manifest is that of the changed rows: what they say is compared."""
    change_vouched(out, sql)
    result = verify(out)
    assert not result.ok
    texts = [problem.text for problem in result.problems]
    assert any(words in text for text in texts), texts


def test_ids_that_were_seen_and_are_not_in_the_export(out: Path) -> None:
    with closing(Journal(out / JOURNAL, {})) as journal, journal.transaction():
        journal.note_seen(1, IdSet([5, 600_001, 600_002]))
        [name] = [str(source.source) for source in journal.sources() if source.number == 1]
    vouch_for_journal(out)
    problem = only_problem(out)
    assert (problem.kind, problem.subject) == ("coverage", name)
    assert "2 messages of its list not in the export: 600001, 600002" in problem.text
    assert problem.remedy == f"run `chatrest export {out}` again"

    change_vouched(out, "INSERT INTO deleted VALUES('600001', 1, 5, 1), ('600002', 1, 5, 1)")
    change_manifest(out, missing=["600001", "600002"])
    result = verify(out)
    assert places_of(result) == []
    assert "2 messages seen once, not in the export" in result.notes[0].text


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DROP TABLE blocks", ""), ("PRAGMA user_version = 9", ""), ("DROP INDEX seen_of_source", ""),
        ("DELETE FROM meta WHERE name LIKE '%generation'", "it is older than manifest.json"),
        ("UPDATE meta SET value = '9-x' WHERE name = 'generation'", "it does not belong to manifest.json"),
    ],
)  # fmt: skip
def test_a_journal_of_another_schema_or_generation(out: Path, sql: str, words: str) -> None:
    change_journal(out, sql)
    problem = only_problem(out)
    assert (problem.subject, words in problem.text) == (JOURNAL, True)
    if words:
        assert problem.remedy == f"run `chatrest export {out}` again"


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


def test_an_incomplete_export_has_reasons(out: Path) -> None:
    change_manifest(out, complete=False, reasons=["user ann: 403", "run it again"])
    result = verify(out)
    assert places_of(result) == [("incomplete", MANIFEST)] * 2
    assert "user ann: 403" in result.problems[0].text
    change_manifest(out, reasons=[])
    assert "it has no reason" in only_problem(out).text


def test_another_plan_is_advised_only_after_a_failed_source(out: Path) -> None:
    """Such as after a run that was refused, as the ids of the service begin again."""
    change_manifest(out, complete=False, next_run=NextRun.FAILS, reasons=["the ids begin again"])
    assert (only_problem(out).advice, only_problem(out).remedy) == (Remedy.NOTHING, "")
    change_vouched(out, f"UPDATE sources SET state = 'failed', error = '403' WHERE number = {ANN}")
    assert only_problem(out).advice is Remedy.CHANGE_PLAN


def test_the_result_of_a_damaged_export_has_plan_and_end(out: Path) -> None:
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


ANN = """(SELECT number FROM sources WHERE key = '["user", "ann"]')"""


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (f"INSERT INTO covered VALUES({ANN}, 81, 90, '')", "ids 51 to 80 were not read"),
        (f"UPDATE sources SET proven = 0 WHERE number = {ANN}",
         f"its end was never confirmed, and the export ends at id {COUNT}"),
        (f"UPDATE sources SET proven = 5 WHERE number = {ANN}",
         f"its end was confirmed up to id 5 only, and the export ends at id {COUNT}"),
        (f"UPDATE sources SET state = 'failed', error = '403' WHERE number = {ANN}",
         "it was not read to its end: 403"),
    ],
)  # fmt: skip
def test_a_source_that_was_not_read_to_the_end(out: Path, sql: str, text: str) -> None:
    if "covered" in sql:
        change_vouched(out, f"UPDATE covered SET last = 50 WHERE source = {ANN}")
    change_vouched(out, sql)
    problem = only_problem(out)
    assert (problem.kind, problem.subject, problem.text) == ("coverage", "user ann", text)


@pytest.mark.parametrize(
    "changes",
    [{"bytes": 10**18}, {"bytes": -1}, {"sha256": "no hash"}, {"name": "messages/other.ndjson"}],
    ids=str,
)
def test_an_entry_that_was_edited(out: Path, changes: dict[str, Any]) -> None:
    name = largest_entry(out).name
    change_entry(out, name, **changes)
    assert places_of(verify(out)) == [("manifest", MANIFEST)]
    assert "its files are not those of journal.sqlite" in only_problem(out).text
    (out / JOURNAL).unlink()
    assert {each.subject for each in verify(out).problems} > {JOURNAL}


def test_a_failed_source_that_left_the_plan_is_no_problem(out: Path) -> None:
    change_vouched(out, f"UPDATE sources SET state = 'failed', error = '403', asked = 0 WHERE number = {ANN}")
    result = verify(out)
    assert result.ok
    assert result.notes[0].text == "1 source no longer in the plan, not read since: user ann"


def test_without_a_manifest_a_damaged_journal_is_a_problem_as_well(out: Path) -> None:
    (out / MANIFEST).unlink()
    change_journal(out, "UPDATE files SET state = x'00'")
    assert sorted(places_of(verify(out))) == [("journal", JOURNAL), ("manifest", MANIFEST)]


def test_a_source_of_the_plan_that_was_not_read(out: Path) -> None:
    plan = structs.replace(Plan.parse(bytes(manifest_of(out).plan)), users=("nobody",))
    change_vouched(out, "UPDATE meta SET value = ? WHERE name = 'plan'", plan.encoded().decode())
    problem = only_problem(out)
    assert (problem.subject, problem.text) == ("user nobody", "it is in the plan, and was not read")
