"""`verify` finds whatever is wrong with an export, says where, and finds nothing wrong with a right one."""

import asyncio
import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec import structs

from chatrest.errors import RequestInvalidError
from chatrest.export import Plan, Verdict, export, verify
from chatrest.export.journal import NAME as JOURNAL, Journal
from chatrest.export.manifest import NAME as MANIFEST, PartEntry, _encoded
from chatrest.export.verifying.inspection import shortened
from chatrest.export.verifying.seen import Seen, Twice, numbered
from chatrest.export.verifying.verdict import MOST, Problem
from chatrest.resources import listing
from tests.exporting import (
    GROUPS,
    edit,
    fast_disk as fast_disk,
    forget_user,
    hide,
    manifest_of,
    served,
    small_pages as small_pages,
)

PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compress": "gzip"},
    "zstd": {"compress": "zstd", "partition": "month"},
    "parquet": {"format": "parquet"},
    "sqlite": {"format": "sqlite"},
}
GROWN = ["plain", "gzip", "zstd"]
MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)}
COUNT = 280


async def _made(out: Path, **plan: Any) -> None:
    async with served(COUNT) as service:
        assert (await export(service.session, out, Plan(**MIXED, **plan))).complete
        for number in (30, 32, 200):
            edit(service.store, number, "edited")
        report = await export(service.session, out, recheck=10**9)
        assert (report.complete, report.changed) == (True, 3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An export of each kind, with odd records and a history; made once, and not to be touched."""
    folder = tmp_path_factory.mktemp("made")

    def make(name: str) -> Path:
        out = folder / name
        if not out.exists():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(listing, "LARGEST_PAGE", 25)
                asyncio.run(_made(out, **PLANS[name]))
        return out

    return make


@pytest.fixture
def copy(made: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an export, to be damaged."""
    return lambda name: Path(shutil.copytree(made(name), tmp_path / "out"))


@pytest.fixture
def out(copy: Callable[[str], Path]) -> Path:
    """A copy of the plain one."""
    return copy("plain")


def told(verdict: Verdict) -> list[tuple[str, str]]:
    """What kinds of problems there are, and where."""
    assert verdict.ok == (not verdict.problems)
    return [(problem.kind, problem.where) for problem in verdict.problems]


def the_problem(out: Path) -> Problem:
    """The only one."""
    verdict = verify(out)
    [problem] = verdict.problems
    assert not verdict.ok
    return problem


def claim(out: Path, **changed: Any) -> None:
    """Edits the manifest by hand, with its checksum made anew."""
    (out / MANIFEST).write_bytes(_encoded(structs.replace(manifest_of(out), **changed)))


def claim_part(out: Path, part: str, /, **changed: Any) -> None:
    """Edits what the manifest says of a part."""
    parts = [
        structs.replace(entry, **changed) if entry.name == part else entry for entry in manifest_of(out).parts
    ]
    claim(out, parts=parts)


def rehashed(path: Path, frames: list[bytes], rows: list[int]) -> dict[str, Any]:
    """Writes frames, and what a forger would say of them."""
    path.write_bytes(b"".join(frames))
    hashes = [hashlib.sha256(frame) for frame in frames]
    return {
        "bytes": sum(map(len, frames)),
        "messages": sum(rows),
        "sha256": hashlib.sha256(b"".join(each.digest() for each in hashes)).hexdigest(),
        "frames": [(len(f), n, h.hexdigest()) for f, n, h in zip(frames, rows, hashes, strict=True)],
    }


def frames_of(out: Path, entry: PartEntry) -> list[bytes]:
    data, found = (out / entry.name).read_bytes(), list[bytes]()
    for size, _, _ in entry.frames:
        found.append(data[:size])
        data = data[size:]
    return found


def largest(out: Path) -> PartEntry:
    return max(
        (entry for entry in manifest_of(out).parts if entry.role == "part"), key=lambda e: len(e.frames)
    )


def cut_journal(out: Path, sql: str, *values: Any) -> int:
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        return db.execute(sql, values).rowcount


def snapshot(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir()}


# ── a right one ──


@pytest.mark.parametrize("name", PLANS)
def test_a_right_export_is_right_and_is_not_touched(made: Callable[[str], Path], name: str) -> None:
    out = made(name)
    before = snapshot(out)
    verdict = verify(str(out))
    assert verdict.problems == []
    assert verdict.notes == []
    assert verdict.ok
    manifest = manifest_of(out)
    assert (verdict.messages, verdict.until, verdict.first) == (COUNT, int(manifest.until or 0), 1)
    assert (verdict.parts, verdict.bytes) == (
        len(manifest.parts),
        sum(entry.bytes for entry in manifest.parts),
    )
    assert verdict.hashes == sum(max(1, len(entry.frames)) for entry in manifest.parts)
    assert snapshot(out) == before


@pytest.mark.parametrize("name", PLANS)
def test_without_its_journal_it_is_right_by_its_manifest(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    (out / JOURNAL).unlink()
    verdict = verify(out)
    assert told(verdict) == []
    assert [note.where for note in verdict.notes] == [JOURNAL]
    assert "cannot be continued" in verdict.notes[0].text


@pytest.mark.parametrize("name", PLANS)
def test_progress_ends_at_all_of_the_bytes(made: Callable[[str], Path], name: str) -> None:
    steps: list[tuple[int, int]] = []
    verdict = verify(made(name), progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1] == (verdict.bytes, verdict.bytes)


async def test_an_export_of_nothing_is_right(tmp_path: Path) -> None:
    async with served(0) as service:
        assert (await export(service.session, tmp_path / "out")).complete
    verdict = verify(tmp_path / "out")
    assert (verdict.ok, verdict.messages, verdict.until, verdict.first) == (True, 0, None, None)


async def test_it_stays_right_when_it_goes_on(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(**MIXED))
        service.emulator.store.add_message("ann", "bob", text="later")
        await export(service.session, tmp_path)
        forget_user(service.store, "dan")
        await export(service.session, tmp_path)
    assert told(verify(tmp_path)) == []


async def test_messages_that_vanish_between_two_walks_are_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bob's list shows a message that it leaves to ann; ann's never shows it, and then nobody's does."""
    async with served(40, fill_in=_two_users) as service:
        hide(service.store, [20], "u:ann")
        import chatrest.export.run as run_module

        orphans = run_module.orphans

        def then_it_is_gone(archive: Any) -> Any:
            found = orphans(archive)
            assert found
            asyncio.run_coroutine_threadsafe(gone(), loop).result()
            return found

        async def gone() -> None:
            hide(service.store, [20])

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(run_module, "orphans", then_it_is_gone)
        assert (await export(service.session, tmp_path, Plan(users=["ann", "bob"]))).complete
    verdict = verify(tmp_path)
    assert (told(verdict), verdict.messages) == ([], 39)
    assert [(note.kind, note.where) for note in verdict.notes] == [("lost", "user bob")]
    assert "1 messages that it left to other sources are nowhere: 20;" in verdict.notes[0].text


def _two_users(store: Any) -> None:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    for count in range(40):
        store.add_message("ann", "bob", text=str(count))


# ── any bit ──


@pytest.mark.parametrize("name", PLANS)
def test_whatever_bit_is_flipped_it_is_found(
    made: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    out = Path(shutil.copytree(made(name), tmp_path_factory.mktemp("flipped") / name))
    files = sorted(path for path in out.iterdir() if path.name != JOURNAL)

    @settings(max_examples=80, deadline=None)
    @given(st.data())
    def flip(data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(files))
        with flipped(path, data.draw(st.integers(0, 8 * path.stat().st_size - 1))):
            verdict = verify(out)
            assert not verdict.ok
            assert any(problem.where == path.name for problem in verdict.problems)

    flip()
    assert verify(out).ok


@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_bit_of_the_journal_is_no_crash(out: Path, with_manifest: bool) -> None:
    if not with_manifest:
        (out / MANIFEST).unlink()
    path = out / JOURNAL
    dice = random.Random(4)
    size = 8 * path.stat().st_size
    bits = [*range(0, 800, 3), *(dice.randrange(size) for _ in range(400))]
    for bit in bits:
        with flipped(path, bit):
            verdict = verify(out)
            assert verdict.ok == (with_manifest and not verdict.problems)


class flipped:  # noqa: N801
    """One bit of a file is another one."""

    def __init__(self, path: Path, bit: int) -> None:
        self.path, self.bit = path, bit

    def __enter__(self) -> None:
        with self.path.open("r+b") as file:
            file.seek(self.bit // 8)
            [byte] = file.read(1)
            file.seek(self.bit // 8)
            file.write(bytes([byte ^ (1 << self.bit % 8)]))

    def __exit__(self, *exc: object) -> None:
        self.__enter__()


# ── damaged parts ──


@pytest.mark.parametrize("name", GROWN)
def test_a_damaged_frame_is_told_with_bytes_source_and_ids(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    start = sum(size for size, _, _ in entry.frames[:2])
    size, rows, _ = entry.frames[2]
    with closing(Journal(out / JOURNAL)) as journal:
        [part] = [part for part in journal.parts() if part.name == entry.name]
        frame = journal.frames(part.number)[2]
        [source] = [known.source for known in journal.sources() if known.number == frame.source]
    with flipped(out / entry.name, 8 * (start + size // 2)):
        problem = the_problem(out)
        assert (problem.kind, problem.where) == ("damaged", entry.name)
        assert f"the bytes {start:,} to {start + size - 1:,} are not" in problem.text
        assert f"{rows} messages, {source} ids {frame.first} to {frame.last}" in problem.text
        assert f"remove {entry.name} and run `chatrest export {out}` again" in problem.advice

        (out / JOURNAL).unlink()
        problem = the_problem(out)
        assert f"ids {entry.first_id} to {entry.last_id}" in problem.text
        assert "another folder" in problem.advice


async def test_what_is_advised_mends_it(tmp_path: Path, small_pages: None, fast_disk: None) -> None:
    async with served(COUNT, loose=False) as service:
        await export(service.session, tmp_path, Plan(**MIXED))
        path = tmp_path / largest(tmp_path).name
        path.write_bytes(path.read_bytes().replace(b"1", b"2"))
        advice = f"remove {path.name} and run `chatrest export {tmp_path}` again"
        assert {advice in problem.advice for problem in verify(tmp_path).problems} == {True}
        path.unlink()
        assert told(verify(tmp_path)) == [("missing", path.name)]
        await export(service.session, tmp_path)
    verdict = verify(tmp_path)
    assert (verdict.problems, verdict.messages) == ([], COUNT)


def test_frames_that_changed_places_are_found(out: Path) -> None:
    entry = largest(out)
    frames = frames_of(out, entry)
    first, second = frames[1], frames[2]
    (out / entry.name).write_bytes(b"".join([frames[0], second, first, *frames[3:]]))
    problem = the_problem(out)
    end = sum(map(len, frames[:3]))
    assert f"the bytes {len(frames[0]):,} to {end - 1:,} are not" in problem.text


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_cut(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    size = entry.bytes - 10
    with (out / entry.name).open("r+b") as file:
        file.truncate(size)
    problem = the_problem(out)
    assert (problem.kind, problem.where) == ("size", entry.name)
    assert f"it is cut off behind {size:,} of {entry.bytes:,} bytes" in problem.text
    assert " messages, " in problem.text


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_longer(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    with (out / entry.name).open("ab") as file:
        file.write(b"torn")
    problems = verify(out).problems
    assert problems[0].kind == "size"
    assert f"4 bytes more than the {entry.bytes:,}" in problems[0].text
    assert f"run `chatrest export {out}` again" in problems[0].advice


@pytest.mark.parametrize("name", PLANS)
def test_a_part_that_is_gone(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest(out)
    (out / entry.name).unlink()
    verdict = verify(out)
    assert ("missing", entry.name) in told(verdict)
    assert "it is not there: " in verdict.problems[0].text
    assert [note.kind for note in verdict.notes] == ["lost"]


def test_a_part_that_is_a_folder(out: Path) -> None:
    entry = largest(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert told(verify(out)) == [("damaged", entry.name)]


def test_the_history_is_checked_and_cannot_be_read_again(out: Path) -> None:
    with flipped(out / "history.jsonl", 100):
        problem = the_problem(out)
    assert (problem.kind, problem.where) == ("damaged", "history.jsonl")
    assert "older versions cannot be read again" in problem.advice
    (out / "history.jsonl").unlink()
    assert told(verify(out)) == [("missing", "history.jsonl")]


# ── what a hash cannot find ──


def test_a_line_that_is_there_twice(out: Path) -> None:
    (out / JOURNAL).unlink()
    entry = largest(out)
    frames, rows = frames_of(out, entry), [rows for _, rows, _ in entry.frames]
    line = frames[1].splitlines(keepends=True)[0]
    number = str(json.loads(line)["id"])
    frames[3], rows[3] = frames[3] + line, rows[3] + 1
    claim_part(out, entry.name, **rehashed(out / entry.name, frames, rows))
    claim(out, messages=COUNT + 1)
    problem = the_problem(out)
    assert problem.kind == "duplicate"
    assert problem.text == f"message {number} stands in it more than once"


def test_a_message_that_is_in_two_parts(out: Path) -> None:
    (out / JOURNAL).unlink()
    one, other, *_ = (entry for entry in manifest_of(out).parts if entry.role == "part")
    frames, rows = frames_of(out, one), [rows for _, rows, _ in one.frames]
    data = frames_of(out, other)[0]
    changed = rehashed(out / one.name, [*frames, data], [*rows, len(data.splitlines())])
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
    from chatrest.export.sinks.packing import packing

    out = copy(name)
    (out / JOURNAL).unlink()
    entry = largest(out)
    frame = packing({"plain": "none"}.get(name, name)).pack(content)  # type: ignore[arg-type]
    held = entry.messages - 2
    claim_part(out, entry.name, **rehashed(out / entry.name, [frame], [2]))
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


# ── the manifest ──


def test_no_export_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(RequestInvalidError, match="holds no export"):
            verify(path)


def test_a_manifest_that_is_gone_or_damaged_leaves_the_journal_to_tell(out: Path) -> None:
    (out / MANIFEST).write_bytes((out / MANIFEST).read_bytes() + b" ")
    assert told(verify(out)) == [("manifest", MANIFEST)]
    (out / MANIFEST).unlink()
    verdict = verify(out)
    assert (told(verdict), verdict.messages) == ([("manifest", MANIFEST)], COUNT)
    with flipped(out / largest_file(out).name, 1000):
        assert [kind for kind, _ in told(verify(out))] == ["manifest", "damaged"]


def largest_file(out: Path) -> Path:
    return max(out.glob("*.ndjson"), key=lambda path: path.stat().st_size)


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
        {"bytes": 10**18, "frames": [(10**18, 5, "00")]},
        {"frames": [(-1, 5, "00")]},
        {"sha256": "no hash"},
        {"first_id": "x"},
        {"role": "spool"},
        {"bytes": 0, "messages": 0, "frames": []},
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
        out, largest(out).name, frames=[], sha256=hashlib.sha256(largest_file(out).read_bytes()).hexdigest()
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
        ("DELETE FROM frames WHERE start = 0", "it"),
        ("UPDATE frames SET digest = x'00' WHERE start = 0", "hashes in it are not those of the manifest"),
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
        ("UPDATE frames SET source = 1", "messages are its own"),
        ("UPDATE balance SET product = '5' WHERE name = 'open'", "not known to be there"),
        # damage
        ("UPDATE meta SET value = 'x' WHERE name = 'plan'", "its plan cannot be read"),
        ("UPDATE frames SET rows = 'x' WHERE start = 0", "it cannot be read"),
        ("UPDATE sources SET source = 'x' WHERE number = 1", "it cannot be read"),
        ("UPDATE sources SET source = '[]' WHERE number = 1", "it cannot be read"),
        ("UPDATE sources SET source = x'ff' WHERE number = 1", "it cannot be read"),
        ("UPDATE deferred SET ids = x'00'", "it cannot be read"),
        ("DROP TABLE frames", "it cannot be read"),
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


# ── exports that did not end ──


async def test_one_that_was_interrupted(tmp_path: Path, small_pages: None, fast_disk: None) -> None:
    out, found = tmp_path / "out", list[Verdict]()
    async with served(COUNT) as service:
        task = asyncio.create_task(export(service.session, out, Plan(**MIXED)))
        while not list(out.glob("*.ndjson")):  # noqa: ASYNC110, nobody tells when there is one
            await asyncio.sleep(0)
        found.append(verify(out))
        shutil.copytree(out, tmp_path / "killed")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for folder in (out, tmp_path / "killed"):
            with largest_file(folder).open("ab") as file:
                file.write(b"torn")
            found.append(verify(folder))
            assert (await export(service.session, folder)).complete
            assert verify(folder).ok
    running, *ended = found
    assert [problem.kind for problem in running.problems] == ["incomplete"]
    assert "an export is being written here" in running.notes[0].text
    for verdict in ended:
        assert [problem.kind for problem in verdict.problems] == ["incomplete"]
        assert "or was interrupted" in verdict.problems[0].text
        assert verdict.hashes > 0


async def test_one_that_begins_while_it_is_checked(out: Path) -> None:
    before = (out / MANIFEST).read_bytes()

    def begun(*_: int) -> None:
        claim(out, complete=False, finished=None)

    verdict = verify(out, progress=begun)
    assert told(verdict) == [("incomplete", MANIFEST)]
    assert "since this check began" in verdict.problems[0].text
    (out / MANIFEST).write_bytes(before)


async def test_a_source_that_is_refused(tmp_path: Path, small_pages: None) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path, Plan(users=["ann", "nobody"]))
    verdict = verify(tmp_path)
    assert ("incomplete", MANIFEST) in told(verdict)
    assert any("user nobody" in problem.text for problem in verdict.problems)


# ── formats that are written in one go ──


def test_a_row_beside_another_id(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / "messages.sqlite")) as db, db:
        db.execute("UPDATE messages SET raw = (SELECT raw FROM messages WHERE id = '5') WHERE id = '6'")
    _rehash(out, "messages.sqlite")
    problem = the_problem(out)
    assert problem.kind == "content"
    assert "beside the id 6 stands the record of 5" in problem.text


def test_a_database_with_a_row_less_or_more(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    with closing(sqlite3.connect(out / "messages.sqlite")) as db, db:
        db.execute("DELETE FROM messages WHERE id = '6'")
    _rehash(out, "messages.sqlite")
    assert ("content", "messages.sqlite") in told(verify(out))


def test_a_log_beside_a_database(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / "messages.sqlite-wal").write_bytes(b"x")
    (out / "journal.sqlite-shm").write_bytes(b"x")
    assert told(verify(out)) == [("unknown", "messages.sqlite-wal")]


def test_a_database_that_is_none(copy: Callable[[str], Path]) -> None:
    out = copy("sqlite")
    (out / "messages.sqlite").write_bytes(b"x" * 5000)
    _rehash(out, "messages.sqlite")
    assert ("content", "messages.sqlite") in told(verify(out))


@pytest.mark.parametrize("how", ["swapped", "fewer", "none"])
def test_parquet_that_is_not_right(copy: Callable[[str], Path], how: str) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    out = copy("parquet")
    name = next(entry.name for entry in manifest_of(out).parts if entry.role == "part")
    table = pq.read_table(out / name)
    match how:
        case "swapped":
            rows = table.to_pylist()
            rows[1]["raw"], rows[2]["raw"] = rows[2]["raw"], rows[1]["raw"]
            pq.write_table(table.from_pylist(rows, schema=table.schema), out / name)
        case "fewer":
            pq.write_table(table.slice(1), out / name)
        case "none":
            (out / name).write_bytes(b"PAR1 no file PAR1")
    _rehash(out, name)
    assert ("content", name) in told(verify(out))


def _rehash(out: Path, name: str) -> None:
    data = (out / name).read_bytes()
    digest = hashlib.sha256(data)
    claim_part(out, name, bytes=len(data), sha256=digest.hexdigest())
    sql = "UPDATE parts SET size = ?, digest = ? WHERE name = ?"
    cut_journal(out, sql, len(data), digest.digest(), name)


# ── pieces ──


def test_seen_finds_what_was_there_before() -> None:
    with closing(Seen()) as seen:
        assert seen.add([5, 6], ["a"], 0) == []
        assert seen.add([7, 8, 8], ["b", "b"], 1) == [Twice("8", 1), Twice("b", 1)]
        assert seen.add([5, 9], ["a"], 2) == [Twice("5", 0), Twice("a", 0)]
        assert seen.add([9, 9], [], 3) == [Twice("9", 2)]
        assert seen.missing([5, 9, 10, 11]) == [10, 11]


@given(st.lists(st.text("0123456789٣x-", max_size=25)))
def test_numbered_leaves_nothing_out(ids: list[str]) -> None:
    numbers, texts = numbered(ids)
    assert len(numbers) + len(texts) == len(ids)
    assert all(each not in texts for each in map(str, numbers))


def test_a_verdict_keeps_no_more_problems_than_anybody_reads() -> None:
    verdict = Verdict()
    for _ in range(MOST + 5):
        verdict.add(Problem("damaged", "x", "y"))
    assert (len(verdict.problems), verdict.more, verdict.count) == (MOST, 5, MOST + 5)
    assert str(verdict.problems[0]) == "x: y"
    assert shortened(["1", "2", "3", "4"]) == "1, 2, 3 and 1 more"
