"""Exports that are read back: every format and partition, by time and source, finished, killed or busy."""

import errno
import gzip
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from chatrest import ChatRestError, RequestInvalidError, TextMessage, UnknownMessage
from chatrest._core.replies.rows import row_of
from chatrest._storage import InUseError, UnreadableError
from chatrest.export.folder.folder_access import FolderLock, run_under_way
from chatrest.export.folder.folder_state import FolderState, read_consistently
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.plan.export_plan import Plan
from chatrest.export.plan.message_ids import ids_of
from chatrest.export.read.reading import read, read_raw
from tests.support.damaged_exports import vouch_for_journal
from tests.support.stored_exports import START, StoredExport, UnsyncedDisk, by_hand, record

SHAPES = [("ndjson", "zstd", "day"), ("parquet", "zstd", "month")]
ODD = [
    b'{"category":"message","type":"text","sentAt":1600000500}',
    b'{"id":"no-number","category":"message","type":"text"}',
    b'{"id":"77","data":{"text":"\xff"},"sentAt":1600000501}',
    b'{"id":"78","category":"unheard-of","sentAt":1600000502000}',
    b'{"id":"79","data":{"text":"\\ud83d half"},"sentAt":"soon"}',
]


def plan_of(format: Any, compress: Any = None, partition: Any = None) -> Plan:
    return Plan(users=["ann", "bob"], groups=["den"], format=format, compress=compress, partition=partition)


PAGES: list[dict[str, list[bytes]]] = [
    {"user ann": [record(10 * page + each) for each in range(1, 6)],
     "group den": [record(10 * page + 6, receiverType="group", receiver="den")]}
    for page in range(10, 20)
]  # fmt: skip
ALL = [raw for page in PAGES for raws in page.values() for raw in raws]


@pytest.fixture(params=SHAPES, ids=["/".join(filter(None, shape)) for shape in SHAPES])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoredExport]:
    with StoredExport(tmp_path / "out", plan_of(*request.param)) as export:
        export.begin_manifest()
        for page in PAGES:
            export.commit(page)
        yield export


def files_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_finished_export_gives_every_record_byte_for_byte(stored: StoredExport) -> None:
    stored.commit({"user bob": ODD})
    stored.finish()
    stored.journal.close()
    before = files_in(stored.folder)
    assert Counter(read_raw(stored.folder)) == Counter([*ALL, *ODD])
    assert files_in(stored.folder) == before, "nothing is made or changed"


def test_messages_are_typed_as_a_walk_gives_them(stored: StoredExport) -> None:
    stored.commit({"user bob": ODD})
    stored.finish()
    messages = list(read(stored.folder))
    texts = [each for each in messages if isinstance(each, TextMessage) and each.sender]
    assert len(texts) == len(ALL)
    assert {each.data.text for each in texts} >= {"message 101", "message 196"}
    odd = [each for each in messages if isinstance(each, UnknownMessage)]
    assert Counter(bytes(each.raw) for each in odd) == Counter(ODD)


def test_the_journal_is_not_needed(stored: StoredExport) -> None:
    stored.finish()
    stored.export.close()
    content = (stored.folder / JOURNAL).read_bytes()
    (stored.folder / JOURNAL).unlink()
    assert Counter(read_raw(stored.folder)) == Counter(ALL)
    with pytest.raises(ChatRestError, match=f"{JOURNAL}: only it says which source wrote"):
        read(stored.folder, source="group den")
    (stored.folder / JOURNAL).write_bytes(b"damaged, and longer than a header of SQLite would have to be" * 9)
    assert Counter(read_raw(stored.folder)) == Counter(ALL)
    (stored.folder / JOURNAL).write_bytes(content)
    by_hand(stored.folder / JOURNAL, "UPDATE files SET state = 'x'")
    vouch_for_journal(stored.folder)
    assert Counter(read_raw(stored.folder)) == Counter(ALL), "nor one whose values are damaged"


def test_committed_messages_of_a_killed_run_are_read(stored: StoredExport, tmp_path: Path) -> None:
    left = shutil.copytree(stored.folder, tmp_path / "left")
    for path in left.rglob("*.segment"):
        path.write_bytes(path.read_bytes() + b'{"id":"999"}\n{"id":"10')
    for path in left.rglob("*-shm"):
        path.unlink()
    assert Counter(read_raw(left)) == Counter(ALL)
    assert len(list(read(left, source="group den"))) == len(PAGES)


@pytest.mark.parametrize(("begun", "source"), [(0, None), (1, "group den"), (6, None)])
def test_files_that_a_run_seals_while_they_are_read_are_read_once(
    stored: StoredExport, monkeypatch: pytest.MonkeyPatch, begun: int, source: str | None
) -> None:
    """Segments become files, and small files one, while a reader is at work."""
    stored.commit({"user bob": ODD})
    stored.export.finish()
    stored.commit({"user bob": [record(800)]})
    messages = read_raw(stored.folder, source=source)
    given = list(islice(messages, begun))
    stored.export.finish()
    stored.commit({"user bob": [record(900)], "group den": [record(901)]})
    monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
    stored.export.finish()
    of_den = [raw for page in PAGES for raw in page["group den"]]
    assert Counter([*given, *messages]) == Counter(of_den if source else [*ALL, *ODD, record(800)])


def test_a_file_that_is_lost_is_an_error_and_not_looked_for_without_end(stored: StoredExport) -> None:
    stored.finish()
    for path in (stored.folder / "messages").rglob("*.*"):
        path.unlink()
    with pytest.raises(ChatRestError, match="it is not there any more"):
        list(read_raw(stored.folder))


def test_a_reader_restarts_if_a_run_begins_meanwhile(
    stored: StoredExport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal without a log is read without locks: a checkpoint of a run would tear what is read."""
    stored.finish()
    stored.export.close()
    calls = list[bool]()

    def work(state: FolderState) -> int:
        calls.append(state.is_in_use)
        assert state.journal is not None
        if len(calls) == 1:
            with StoredExport(stored.folder, stored.plan) as run:
                run.commit({"user bob": [record(900)]})
            raise UnreadableError("torn")
        return sum(state.journal.row_counts(["messages"]).values())

    assert read_consistently(stored.folder, work) == len(ALL) + 1
    assert calls == [False, False]


def test_a_reader_raises_if_a_run_writes_during_every_attempt(stored: StoredExport) -> None:
    stored.finish()
    stored.export.close()

    def work(state: FolderState) -> None:
        with StoredExport(stored.folder, stored.plan):
            pass

    with pytest.raises(InUseError, match="a run is writing; ask again"):
        read_consistently(stored.folder, work)


def test_a_run_waits_for_readers_that_check_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = list[float]()
    with ExitStack() as asking:
        assert not asking.enter_context(run_under_way(tmp_path))

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            asking.close()

        monkeypatch.setattr("chatrest.export.folder.folder_access.time.sleep", sleep)
        lock = FolderLock(tmp_path)
    assert len(waits) == 1
    with run_under_way(tmp_path) as is_in_use:
        assert is_in_use
    with pytest.raises(InUseError):
        FolderLock(tmp_path)
    lock.release()


def test_on_a_file_system_without_locks_one_run_writes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object, **__: object) -> bool:
        raise OSError(errno.ENOTSUP, "it has none")

    monkeypatch.setattr("chatrest.export.folder.folder_access.try_lock", no_locks)
    with StoredExport(tmp_path / "out", plan_of("ndjson")) as export:
        with pytest.raises(InUseError, match="another export is writing here"):
            StoredExport(tmp_path / "out", plan_of("ndjson"))
        export.begin_manifest()
        export.commit(PAGES[0])
        assert len(list(read_raw(tmp_path / "out"))) == sum(map(len, PAGES[0].values()))


READER = """
import json, sys
from chatrest._core.replies.rows import row_of
from chatrest.export.read.facts import facts_of
from chatrest.export import changes
from chatrest.export.read.reading import read_raw
out = sys.argv[1]
for line in sys.stdin:
    ids = [row_of(raw).id for raw in read_raw(out)]
    print(json.dumps([ids, [each.id for each in changes(out)], facts_of(out).state]), flush=True)
"""


@pytest.mark.parametrize(
    "shape", [SHAPES[0], *(pytest.param(shape, marks=pytest.mark.nightly) for shape in SHAPES[1:])]
)
def test_another_process_reads_committed_messages_at_each_step_of_a_run(
    shape: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each call of the disk, of commits, of seals and of merges, and of the runs' begins and ends."""
    monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
    out, safe, coming, asked = tmp_path / "out", set[str](), set[str](), list[str]()
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    asks, answers, is_first = reader.stdin, reader.stdout, True
    assert asks is not None
    assert answers is not None

    def look() -> None:
        if is_first:
            return
        asks.write("\n")
        asks.flush()
        ids, read_ids, state = json.loads(answers.readline())
        assert len(set(ids)) == len(ids)
        assert safe <= set(ids) <= safe | coming
        assert len(set(read_ids)) == len(read_ids)
        assert set(read_ids) <= set(ids)
        asked.append(state)

    def stepped(inner: Any) -> Any:
        def step(*values: Any) -> Any:
            look()
            return inner(*values)

        return step

    for name in ("write", "sync", "replace", "remove"):
        monkeypatch.setattr(UnsyncedDisk, name, stepped(getattr(UnsyncedDisk, name)))
    with reader:
        for run in range(3):
            with StoredExport(out, plan_of(*shape)) as export:
                export.begin_manifest()
                is_first = False
                for page in range(2):
                    raws = [record(100 * run + 10 * page + each) for each in range(1, 6)]
                    coming = {row_of(raw).id for raw in raws}
                    export.commit({"user ann": raws})
                    safe |= coming
                    look()
                export.finish()
                look()
            look()
        asks.close()
    assert reader.returncode == 0
    assert {*asked} == {"running", "complete"}
    assert len(asked) > 40


def test_a_killed_run_without_a_journal_cannot_be_read(tmp_path: Path) -> None:
    with StoredExport(tmp_path, plan_of("ndjson")) as export:
        export.begin_manifest()
        export.commit({"user ann": [record(1)]})
    (tmp_path / JOURNAL).unlink()
    with pytest.raises(ChatRestError, match=f"{JOURNAL}: it is lost; only it .* has committed: export again"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["../secret.ndjson", "/etc/passwd", "messages/../../secret.ndjson"])
def test_a_journal_that_names_files_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.ndjson").write_bytes(record(7) + b"\n")
    out = tmp_path / "out"
    with StoredExport(out, plan_of("ndjson")) as export:
        export.begin_manifest()
        export.commit({"user ann": [record(1)]})
    by_hand(out / JOURNAL, f"UPDATE files SET name = '{name}'")
    with pytest.raises(ChatRestError, match="is not the name of a file of an export"):
        read(out)


def test_a_read_window_includes_both_ends_and_messages_without_a_time(stored: StoredExport) -> None:
    stored.commit({"user bob": [record(500, sent_at=(START + 105 * 3600) * 1000), record(501, sentAt=None)]})
    for is_finished in (False, True):
        if is_finished:
            stored.finish()
            stored.journal.close()
        window = {"since": START + 104 * 3600, "until": START + 111 * 3600}
        ids = sorted(int(each.id) for each in read(stored.folder, **window))
        assert ids == [104, 105, 106, 111, 500, 501]
        stamp = (START + 105 * 3600) * 1000
        for window in ({"since": stamp, "until": stamp + 1}, {"since": stamp // 1000, "until": stamp}):
            assert sorted(int(each.id) for each in read(stored.folder, **window)) == [105, 500, 501]
        after = {"since": stamp + 1, "until": stamp + 999}
        assert sorted(int(each.id) for each in read(stored.folder, **after)) == [105, 501], "its second"


def test_a_source_has_exactly_the_messages_stored_for_it(stored: StoredExport) -> None:
    stored.finish()
    stored.journal.close()
    den = [raw for page in PAGES for raw in page["group den"]]
    assert Counter(read_raw(stored.folder, source="group den")) == Counter(den)
    assert Counter(read_raw(stored.folder, source=["group den", "user ann"])) == Counter(ALL)
    assert list(read_raw(stored.folder, source="user bob")) == list(read_raw(stored.folder, source=[])) == []
    late = list(read_raw(stored.folder, source="group den", since=START + 190 * 3600))
    assert late == den[-1:]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_adopted_files_belong_to_the_first_source_that_shows_them(
    shape: tuple[Any, ...], tmp_path: Path
) -> None:
    """The journal was lost: it is made again from the files, which do not all name their sources."""
    den = [raw for page in PAGES for raw in page["group den"]]
    loose = [ODD[1]]
    with StoredExport(tmp_path, plan_of(*shape)) as export:
        for page in PAGES:
            export.commit(page)
        export.commit({"group den": loose})
        export.finish()
    (tmp_path / JOURNAL).unlink()
    with StoredExport(tmp_path, plan_of(*shape)) as export:
        numbers = {str(each.source): each.number for each in export.journal.sources()}
        for name in ("group den", "user ann"):
            rows = [row_of(raw) for page in PAGES for raw in page[name]]
            ids = ids_of(rows + [row_of(raw) for raw in loose if name == "group den"])
            with export.journal.transaction():
                export.journal.note_seen(numbers[name], export.journal.assign_numbers(ids))
                export.journal.note_seen(max(numbers.values()), export.journal.assign_numbers(ids))
        export.finish()
    assert Counter(read_raw(tmp_path, source="group den")) == Counter([*den, *loose])
    assert Counter(read_raw(tmp_path, source=["group den", "user ann"])) == Counter([*ALL, *loose])
    assert list(read_raw(tmp_path, source="user bob")) == []


def test_files_of_other_times_are_not_read(tmp_path: Path) -> None:
    with StoredExport(tmp_path, plan_of("ndjson", "gzip", "day")) as export:
        for page in PAGES:
            export.commit(page)
        export.finish()
    path = min(tmp_path.rglob("*.gz"))
    data = bytearray(path.read_bytes())
    data[len(gzip.compress(b""))] ^= 0xFF
    path.write_bytes(data)
    assert len(list(read(tmp_path, since=START + 195 * 3600))) == 2
    with pytest.raises(ChatRestError, match=r"ndjson.gz cannot be read: .*`chatrest verify` says"):
        list(read(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"source": "ann"}, "source = 'ann': expected sources of the export, such as 'user ann'"),
        ({"source": "user bo"}, "such as 'user bob'"),
        ({"source": ["user ann", 5]}, "source = 5: expected"),
        ({"since": "20260101"}, "since = '20260101': it may be a date"),
        ({"until": "2026-01-01T12:00"}, "until = .* no time zone"),
        ({"since": "2026-01-02", "until": "2026-01-01"}, "until = .* the window ends before it begins"),
    ],
)
def test_a_wrong_argument_is_refused_at_once(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    with StoredExport(tmp_path, plan_of("ndjson")) as export:
        export.finish()
    with pytest.raises(RequestInvalidError, match=words):
        read(tmp_path, **arguments)


def test_a_folder_that_is_no_export_is_refused_at_once(tmp_path: Path) -> None:
    for make in (tmp_path.mkdir, (tmp_path / JOURNAL).touch):
        make(exist_ok=True)
        with pytest.raises(RequestInvalidError, match=r"is not an export: it has no manifest.json and no"):
            read(tmp_path)
    (tmp_path / "file").touch()
    for name, words in (("nowhere", "there is no such folder"), ("file", "it is a file")):
        with pytest.raises(RequestInvalidError, match=f"{name}' is not an export: {words}$"):
            read(tmp_path / name)
    with pytest.raises(RequestInvalidError, match="s3:// is not a local folder"):
        read_raw(Path("s3://bucket/chat"))
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(ChatRestError, match="is not a manifest"):
        read(tmp_path)


def test_a_file_that_was_cut_or_damaged_is_an_error(tmp_path: Path) -> None:
    with StoredExport(tmp_path, Plan(pairs=[("bob", "ann")])) as export:
        export.commit({"pair ann bob": [record(1), record(2)]})
        export.finish()
    assert list(read_raw(tmp_path, source="pair bob ann")) == [record(1), record(2)]
    [path] = tmp_path.rglob("*.ndjson")
    data = path.read_bytes()
    path.write_bytes(data[:-9])
    with pytest.raises(ChatRestError, match="9 bytes less than were written"):
        list(read(tmp_path))
    path.write_bytes(data.replace(b"{", b"x", 1))
    with pytest.raises(ChatRestError, match=r"ndjson cannot be read"):
        list(read(tmp_path))
