"""The Parquet sink: what its files hold, to the byte, and that no crash loses a message or doubles one."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatrest import AsyncSession, ChatRestError
from chatrest.core.rows import Row, row_of, rows
from chatrest.emulator import Emulator
from chatrest.emulator.oddities import OddRecords
from chatrest.export import Plan, export
from chatrest.export.disk import Disk, OpenFiles
from chatrest.export.ids import key_of
from chatrest.export.journal import NAME, Journal
from chatrest.export.manifest import read
from chatrest.export.sink import Lost, Site
from chatrest.export.sinks.columns import SCHEMA, Piece, raws_of, tables
from chatrest.export.sinks.parquet import ParquetSink
from chatrest.export.sources import Source

ALICE, BOB = Source("user", ("alice",)), Source("user", ("bob",))
SEPTEMBER, OCTOBER = 1_600_000_000, 1_602_000_000
DAY = 86_400
LARGE = 1 << 26


class Quick(Disk):
    """A disk that is not waited for: no test can tell, and it takes long."""

    def sync(self, file: int) -> None:
        pass


class Export:
    """A sink over a folder, without a service; used with `with`."""

    def __init__(self, folder: Path, disk: Disk | None = None, *, largest: int = LARGE, **plan: Any) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.journal = Journal(folder / NAME)
        self.files = OpenFiles(disk := disk or Quick())
        site = Site(folder, self.journal, disk, self.files)
        self.sink = ParquetSink(Plan(format="parquet", **plan), site, largest=largest)
        try:
            with self.journal.transaction():
                self.journal.add_sources([ALICE, BOB])
                self.lost = self.sink.repair()
        except BaseException:
            self.journal.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.sink.close()
        self.files.close()
        self.journal.close()

    def commit(self, found: list[Row], source: Source = ALICE) -> None:
        """A page."""
        with self.journal.transaction():
            self.sink.add(self.number(source), source, found)
            self.sink.flush()

    def change(self, found: list[Row]) -> None:
        """Messages that were found to have changed."""
        with self.journal.transaction():
            self.journal.change(found)

    def number(self, source: Source) -> int:
        return self.journal.source_of(source.key)

    def done(self) -> int:
        """The end of a run; how many messages were amended."""
        amended = self.sink.amend()
        self.sink.finish()
        return amended

    def stored(self, **where: int) -> list[bytes]:
        return [bytes(row.raw) for row, _ in self.sink.stored(**where)]


def record(number: int, at: int = SEPTEMBER, **members: Any) -> bytes:
    return json.dumps({"id": str(number), "sender": "alice", "sentAt": at, **members}).encode()


def page(first: int, count: int = 10, at: int = SEPTEMBER, **members: Any) -> list[Row]:
    return [row_of(record(number, at, **members)) for number in range(first, first + count)]


def served(*raws: bytes) -> list[Row]:
    """Rows as a page brings them."""
    return rows(b'{"data":[' + b",".join(raws) + b"]}").items


def table(folder: Path) -> Any:
    """Everything that is exported, as somebody reads it who knows nothing of this library."""
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.glob("*.parquet")))


def ids(folder: Path) -> list[str]:
    return sorted(table(folder)["id"].to_pylist(), key=int)


def files(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith("journal.sqlite"))


# ── what the files hold ──

ODD = [
    b'{"id":"1","sentAt":1600000000,"data":{"text":"\xff\xfe not UTF-8"}}',
    b'{"id":"2","data":{"text":"half \\ud83d of a pair"},"sender":"\\ud83d","tags":["\\udc00"]}',
    b'{"id":3,"sentAt":"1600000000","sender":7,"tags":[1],"data":[]}',
    b'{"id":"4","sentAt":true,"receiver":null,"data":{"text":["no text"],"action":"edited"}}',
    b'{"id":"5","score":NaN,"sentAt":1600000000,"data":{"text":"kept"}}',
    b'{"id":"6","sentAt":99999999999999999999999,"editedAt":-5,"deletedAt":1e99}',
    b'{"id":"7","deep":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"id":"no number","sentAt":1600000000000}',
    b'{"sentAt":1600000000,"note":"no id"}',
    b'{"id":"8" ,\t"text" : "spaces",  "data":{"text":"nul \\u0000"}}',
    '{"id":"9","data":{"text":"\u2028 e\u0301 😀 line\u0085separators"}}'.encode(),
    b'{"id":"10","sentAt":253402300800000}',
    b'{"id":"\\ud83d"}',
    b"null",
    b"[1,2]",
    b'"text"',
    b"-0.0",
    b"{}",
]


def test_every_record_comes_back_as_it_was_served_whatever_its_shape(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        assert sorted(out.stored()) == sorted(ODD)
        out.done()
        assert sorted(out.stored()) == sorted(ODD)
    assert sorted(raws_of(table(tmp_path))) == sorted(ODD)


def test_an_id_is_what_the_page_said_and_what_has_none_is_told_by_its_bytes(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        out.done()
    found = dict(zip(raws_of(table(tmp_path)), table(tmp_path)["id"].to_pylist(), strict=True))
    assert found == {bytes(row.raw): key_of(row) for row in served(*ODD)}


def test_raw_is_text_for_every_record_and_exact_for_all_that_are_utf_8(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD[:6]))
        out.done()
    for row in table(tmp_path).to_pylist():
        known = ODD[int(row["id"]) - 1]
        if row["id"] == "1":
            assert row["raw_bytes"] == known
            assert json.loads(row["raw"])["data"]["text"] == "\ufffd\ufffd not UTF-8"
        else:
            assert row["raw_bytes"] is None
            assert row["raw"].encode() == known


def test_members_of_a_wrong_type_are_null_and_the_others_of_the_record_are_not(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(served(*ODD))
        out.done()
    found = {row["id"]: row for row in table(tmp_path).to_pylist()}
    assert found["1"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert found["2"]["text"] == "half \ufffd of a pair"
    assert found["2"]["tags"] == ["\ufffd"]
    assert [found["3"][name] for name in ("number", "sent_at", "sender", "tags", "text")] == [3, *[None] * 4]
    assert [found["4"][name] for name in ("sent_at", "receiver", "text", "action")] == [*[None] * 3, "edited"]
    assert found["5"]["text"] == "kept"
    assert [found["6"][name] for name in ("sent_at", "edited_at", "deleted_at")] == [None] * 3
    assert found["7"]["number"] == 7
    assert found["no number"]["number"] is None
    assert found["no number"]["sent_at"] == datetime.fromtimestamp(SEPTEMBER, UTC)
    assert found["8"]["text"] == "nul \0"
    assert found["10"]["sent_at"] is None


def test_the_columns_of_a_message(tmp_path: Path) -> None:
    message = {
        "id": "12", "conversationId": "alice_user_bob", "sender": "alice", "receiverType": "user",
        "receiver": "bob", "category": "message", "type": "text", "data": {"text": "hi", "resource": "WEB"},
        "sentAt": 1, "updatedAt": 2, "editedAt": 3, "editedBy": "x", "deletedAt": 4, "deletedBy": "y",
        "deliveredAt": 5, "readAt": 6, "tags": ["a", "b"], "parentId": "11", "muid": "m", "more": {},
    }  # fmt: skip
    with Export(tmp_path) as out:
        out.commit(served(json.dumps(message).encode()))
        out.done()
    [row] = table(tmp_path).to_pylist()
    assert {name: row.pop(name).timestamp() for name in list(row) if name.endswith("_at")} == {
        "sent_at": 1, "updated_at": 2, "edited_at": 3, "deleted_at": 4, "delivered_at": 5, "read_at": 6,
    }  # fmt: skip
    assert row == {
        "id": "12", "number": 12, "conversation_id": "alice_user_bob", "parent_id": "11", "sender": "alice",
        "receiver": "bob", "receiver_type": "user", "category": "message", "type": "text", "action": None,
        "text": "hi", "tags": ["a", "b"], "edited_by": "x", "deleted_by": "y", "muid": "m",
        "source": "user alice", "raw": json.dumps(message), "raw_bytes": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("compress", "codec"), [(None, "ZSTD"), ("zstd", "ZSTD"), ("gzip", "GZIP"), ("none", "UNCOMPRESSED")]
)
def test_schema_and_codec(tmp_path: Path, compress: Any, codec: str) -> None:
    with Export(tmp_path, compress=compress) as out:
        out.commit(page(1))
        out.done()
    file = pq.ParquetFile(tmp_path / "2020-09.parquet")
    assert file.schema_arrow.equals(SCHEMA)
    group = file.metadata.row_group(0)
    assert {group.column(i).compression for i in range(group.num_columns)} == {codec}
    assert not file.schema_arrow.field("raw").nullable
    [number] = [
        group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == "number"
    ]
    assert (number.statistics.min, number.statistics.max) == (1, 10)


def test_a_file_a_month(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit([*page(1, 3), *page(4, 2, OCTOBER), *served(b'{"id":"6"}')])
        out.commit(page(7, 1, OCTOBER * 1000), BOB)
        out.done()
        assert files(tmp_path) == ["2020-09.parquet", "2020-10.parquet", "undated.parquet"]
        assert out.sink.counts() == {out.number(ALICE): 6, out.number(BOB): 1}
    assert pq.read_table(tmp_path / "2020-10.parquet")["source"].to_pylist() == [
        *["user alice"] * 2,
        "user bob",
    ]
    assert ids(tmp_path) == list("1234567")


def test_a_file_a_source(tmp_path: Path) -> None:
    odd = Source("user", ("../a/b.2 ü",))
    with Export(tmp_path, partition="source") as out:
        with out.journal.transaction():
            out.journal.add_sources([odd])
        out.commit([*page(1, 3), *page(4, 2, OCTOBER)])
        out.commit(page(7, 1, OCTOBER), odd)
        out.done()
    assert files(tmp_path) == ["user-..%2Fa%2Fb.2%20%C3%BC.parquet", "user-alice.parquet"]
    assert ids(tmp_path) == list("123457")


def test_large_spools_become_several_parts_and_a_later_run_adds_its_own(tmp_path: Path) -> None:
    with Export(tmp_path, largest=1) as out:
        for first in (1, 11, 21):
            out.commit(page(first))
        out.done()
    with Export(tmp_path) as out:
        assert out.lost == []
        out.commit(page(31))
        assert max(files(tmp_path)) == "spool/2020-09.spool.zst"
        out.done()
        out.done()
    assert files(tmp_path) == [f"2020-09.{number}parquet" for number in ("2.", "3.", "4.", "")]
    assert not (tmp_path / "spool").exists()
    assert ids(tmp_path) == [str(number) for number in range(1, 41)]


def test_the_journal_tells_of_the_parts_what_is_so(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1, 4))
        out.commit(page(5, 2), BOB)
        out.done()
        [part] = out.journal.parts()
        data = (tmp_path / part.name).read_bytes()
        assert (part.role, part.state, part.size) == ("part", "whole", len(data))
        assert part.digest == hashlib.sha256(data).digest()
        frames = [
            (frame.start, frame.size, frame.rows, frame.first, frame.last) for frame in out.journal.frames(1)
        ]
        assert frames in ([], [(0, 0, 4, 1, 4), (4, 0, 2, 5, 6)])
        [frames] = [out.journal.frames(part.number)]
        assert [(frame.start, frame.rows, frame.first, frame.last) for frame in frames] == [
            (0, 4, 1, 4),
            (4, 2, 5, 6),
        ]
        assert [frame.source for frame in frames] == [out.number(ALICE), out.number(BOB)]


def test_stored_reads_what_may_be_asked_for_with_its_source(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.commit(page(11, 10, SEPTEMBER + DAY), BOB)
        out.done()
        out.commit(page(21))
        alice, bob = out.number(ALICE), out.number(BOB)
        found = [(row.id, source) for row, source in out.sink.stored()]
        assert sorted(found) == sorted(
            [(str(number), bob if 10 < number <= 20 else alice) for number in range(1, 31)]
        )
        assert {row.id for row, _ in out.sink.stored(12, 13)} == {str(number) for number in range(11, 21)}
        assert len(out.stored(last=20)) == 20
        assert {source for _, source in out.sink.stored(since=SEPTEMBER + 1)} == {bob}
        assert out.stored(first=31, last=40) == []


def test_a_part_of_many_row_groups_gives_each_row_its_own_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.export.sinks.columns._FEW_ROWS", 7)
    monkeypatch.setattr("chatrest.export.sinks.columns._MANY_ROWS", 20)
    monkeypatch.setattr("chatrest.export.sinks.tables._ROWS", 3)
    with Export(tmp_path) as out:
        for first in range(1, 101, 4):
            out.commit(page(first, 4), BOB if first % 8 == 1 else ALICE)
        before = list(out.sink.stored())
        out.done()
        assert [(row.id, source) for row, source in out.sink.stored()] == [
            (row.id, source) for row, source in before
        ]
        assert {row.id for row, _ in out.sink.stored(50, 50)} == {"49", "50", "51", "52"}
    assert pq.ParquetFile(tmp_path / "2020-09.parquet").num_row_groups > 3


def test_memory_holds_a_row_group_and_not_a_spool() -> None:
    taken = 0

    def pieces() -> Iterator[Piece]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield Piece("user alice", [record(number, text="x" * 900_000)])

    first = next(tables(pieces()))
    assert first.num_rows == taken < 100


# ── crashes ──


class Killed(BaseException):
    """The process is no more."""


class Failing(Quick):
    """A disk whose call of this number is the last one that does anything, or does half of it."""

    def __init__(self, last: int, error: Callable[[], BaseException], *, half: bool = False) -> None:
        self._left = last
        self._error = error
        self._half = half
        self.failed = False

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.failed = True
            raise self._error()

    def write(self, file: int, at: int, data: bytes) -> int:
        if self._half and self._left == 0:
            super().write(file, at, bytes(data)[: len(data) // 2])
        self._count()
        return super().write(file, at, data)

    def sync(self, file: int) -> None:
        self._count()

    def truncate(self, path: Path, size: int) -> None:
        self._count()
        super().truncate(path, size)

    def replace(self, old: Path, new: Path) -> None:
        if self._half and self._left == 0:
            super().replace(old, new)
        self._count()
        super().replace(old, new)

    def remove(self, path: Path) -> None:
        if self._half and self._left == 0:
            super().remove(path)
        self._count()
        super().remove(path)


ENDS = pytest.mark.parametrize(
    ("error", "half"),
    [
        pytest.param(Killed, False, id="killed"),
        pytest.param(Killed, True, id="killed-right-after"),
        pytest.param(lambda: OSError(28, "No space left on device"), False, id="disk-full"),
    ],
)


def crashed(folder: Path, work: Callable[[Export], object], calls: int, error: Any, half: bool) -> bool:
    """Does some work on a disk that fails; whether it has come to its end."""
    disk = Failing(calls, error, half=half)
    try:
        with Export(folder, disk, largest=100) as out:
            work(out)
    except (Killed, OSError):
        assert disk.failed
    return not disk.failed


@ENDS
def test_a_crash_at_any_step_of_the_conversion_costs_nothing(tmp_path: Path, error: Any, half: bool) -> None:
    steps, begin = 0, tmp_path / "begin"
    with Export(begin, largest=100) as out:
        for first in range(1, 41, 10):
            out.commit([*page(first, 5), *page(first + 5, 5, OCTOBER)])
    for calls in range(500):
        folder = shutil.copytree(begin, tmp_path / str(calls))
        ended = crashed(folder, Export.done, calls, error, half)
        assert not ended or ids(folder) == [str(number) for number in range(1, 41)]
        with Export(folder, largest=100) as out:
            assert out.lost == []
            assert len(out.stored()) == 40
            out.commit(page(41, 3))
            out.done()
            assert sum(out.sink.counts().values()) == 43
            names = sorted(part.name for part in out.journal.parts())
        assert ids(folder) == [str(number) for number in range(1, 44)], f"after call {calls}"
        assert files(folder) == names
        steps = calls
        if ended:
            break
    assert steps > 20


@ENDS
def test_a_crash_at_any_step_of_a_crashed_conversions_repair_costs_nothing(
    tmp_path: Path, error: Any, half: bool
) -> None:
    begin = tmp_path / "begin"
    with Export(begin) as out:
        out.commit(page(1))
    for calls in range(0, 15, 2):
        for more in range(8):
            folder = shutil.copytree(begin, tmp_path / f"{calls}-{more}")
            crashed(folder, Export.done, calls, Killed, half)
            crashed(folder, Export.done, more, error, half)
            with Export(folder) as out:
                assert out.lost == []
                out.done()
            assert ids(folder) == [str(number) for number in range(1, 11)], f"after {calls}, {more}"
            assert files(folder) == ["2020-09.parquet"]


@ENDS
def test_a_crash_at_any_step_of_amending_costs_nothing(tmp_path: Path, error: Any, half: bool) -> None:
    begin = tmp_path / "begin"
    with Export(begin) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.done()
        out.commit(page(11, 5))
        out.change(page(3, 5, edited="yes"))
    for calls in range(500):
        folder = shutil.copytree(begin, tmp_path / str(calls))
        ended = crashed(folder, Export.done, calls, error, half)
        with Export(folder) as out:
            assert out.lost == []
            out.done()
            assert out.done() == 0
            assert sum(out.sink.counts().values()) == 15
        assert ids(folder) == [str(number) for number in range(1, 16)], f"after call {calls}"
        found = {json.loads(raw)["id"] for raw in raws_of(table(folder)) if b"edited" in raw}
        assert found == set("34567")
        assert sorted(old["id"] for old in history(folder)) == list("34567")
        assert not list(folder.glob("*.new"))
        if ended:
            return
    pytest.fail("it has never come to its end")


def history(folder: Path) -> list[Any]:
    """The older versions."""
    packed = (folder / "history.jsonl.zst").read_bytes()
    lines = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    return [json.loads(line) for line in lines.splitlines()]


def test_what_was_not_committed_never_happened(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))

        def half() -> None:
            with out.journal.transaction():
                out.sink.add(1, ALICE, page(11))
                out.sink.flush()
                raise Killed

        with pytest.raises(Killed):
            half()
        out.sink.forget()
        out.files.close()
        out.commit(page(21))
        out.done()
    assert ids(tmp_path) == [str(number) for number in (*range(1, 11), *range(21, 31))]


# ── what somebody has done to the files ──


def test_a_part_that_is_gone_or_of_another_size_is_lost_and_dropped(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.commit([*page(11, 5), *page(16, 5, OCTOBER)], BOB)
        out.done()
        alice, bob = out.number(ALICE), out.number(BOB)
    (tmp_path / "2020-09.parquet").unlink()
    with (tmp_path / "2020-10.parquet").open("ab") as file:
        file.write(b"!")
    with Export(tmp_path) as out:
        assert sorted(out.lost) == [
            Lost(alice, 1, 5), Lost(alice, 6, 10), Lost(bob, 11, 15), Lost(bob, 16, 20),
        ]  # fmt: skip
        assert files(tmp_path) == []
        assert out.stored() == []
        out.commit(page(1, 20))
        out.done()
    assert files(tmp_path) == ["2020-09.parquet"]
    assert ids(tmp_path) == [str(number) for number in range(1, 21)]


def test_a_spool_that_is_gone_is_lost(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
    for path in tmp_path.glob("spool/*"):
        path.unlink()
    (tmp_path / "spool").rmdir()
    with Export(tmp_path) as out:
        assert out.lost == [Lost(out.number(ALICE), 1, 10)]
        out.done()
        assert files(tmp_path) == []
        out.commit(page(1))
        out.done()
    assert ids(tmp_path) == [str(number) for number in range(1, 11)]


def test_a_damaged_spool_is_not_made_a_sound_part(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        [path] = tmp_path.glob("spool/*")
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(ChatRestError, match=r"2020-09\.spool\.zst: its bytes 0 to \d+ are not"):
            out.done()
    path.unlink()
    with Export(tmp_path) as out:
        assert out.lost == [Lost(out.number(ALICE), 1, 10)]
        out.commit(page(1))
        out.done()
    assert files(tmp_path) == ["2020-09.parquet"]


def test_a_damaged_part_is_told_of(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.done()
        path = tmp_path / "2020-09.parquet"
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises(ChatRestError, match=r"2020-09\.parquet cannot be read"):
            out.stored()


@pytest.mark.parametrize("cut", ["start = 0", "start = 10", "start = 20", "1"])
def test_frames_cut_out_of_the_journal_tell_of_themselves(tmp_path: Path, cut: str) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11, 21):
            out.commit(page(first))
        out.done()
    db = sqlite3.connect(tmp_path / NAME)
    with db:
        db.execute(f"DELETE FROM frames WHERE {cut}")
    db.close()
    with Export(tmp_path) as out:
        assert out.lost == []
        assert sorted(out.stored()) == sorted(record(number) for number in range(1, 31))
        assert {row.id for row, _ in out.sink.stored(15, 15)} >= {str(number) for number in range(11, 21)}
        assert sum(out.sink.counts().values()) == 30
        out.change(page(15, 1, edited="yes"))
        assert out.done() == 1
    assert ids(tmp_path) == [str(number) for number in range(1, 31)]


def test_a_half_made_part_goes_with_its_spool(tmp_path: Path) -> None:
    for calls in range(4):
        folder = tmp_path / str(calls)
        with Export(folder) as out:
            out.commit(page(1))
        assert not crashed(folder, Export.done, calls, Killed, True)
        for path in folder.glob("spool/*"):
            path.unlink()
        with Export(folder) as out:
            assert out.lost == [Lost(out.number(ALICE), 1, 10)]
            out.done()
        assert files(folder) == []


def test_nothing_stays_open(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        for first in (1, 11):
            out.commit(page(first))
            out.change(page(first, 1, edited="yes"))
            out.done()
        open_files = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        held = {path.name for path in open_files if path.is_relative_to(tmp_path)}
    assert held <= {"journal.sqlite", "journal.sqlite-wal", "history.jsonl.zst"}


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.done()
    (tmp_path / "mine.parquet").write_bytes(b"mine")
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "mine").write_bytes(b"mine")
    with Export(tmp_path) as out:
        out.commit(page(11))
        out.done()
    assert files(tmp_path) == ["2020-09.2.parquet", "2020-09.parquet", "mine.parquet", "spool/mine"]


# ── what has changed ──


def test_changed_messages_take_the_places_of_older_ones_which_are_kept(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.commit(page(11), BOB)
        out.done()
        frames = [frame for part in out.journal.parts("part") for frame in out.journal.frames(part.number)]
        out.commit(page(21))
        odd = served(b'{"id":"12","sentAt":1600086400,"data":{"text":"\xff"}}')
        out.change(
            [*page(5, 2, data={"text": "new"}), *odd, *page(25, 1, data={"text": "new"}), *page(99, 1)]
        )
        assert out.done() == 4
        after = [frame for part in out.journal.parts("part") for frame in out.journal.frames(part.number)]
        assert len(out.stored(since=SEPTEMBER + DAY)) == 10
    found = {row["id"]: row for row in table(tmp_path).to_pylist()}
    assert [found[number]["text"] for number in ("4", "5", "6", "25")] == [None, "new", "new", "new"]
    assert (found["12"]["source"], found["12"]["raw_bytes"]) == ("user bob", bytes(odd[0].raw))
    assert sorted(old["id"] for old in history(tmp_path)) == ["12", "25", "5", "6"]
    assert [frame[1:7] for frame in after[:2]] == [frame[1:7] for frame in frames]
    assert len(found) == 30


def test_a_part_without_a_changed_message_is_not_touched(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit([*page(1, 5), *page(6, 5, OCTOBER)])
        out.done()
        before = (tmp_path / "2020-10.parquet").stat()
        out.change(page(2, 1, edited="yes"))
        assert out.done() == 1
        assert (tmp_path / "2020-10.parquet").stat().st_ino == before.st_ino
        [part] = [part for part in out.journal.parts("part") if part.name == "2020-09.parquet"]
        assert part.digest == hashlib.sha256((tmp_path / part.name).read_bytes()).digest()
        assert part.state == "whole"


def test_row_groups_without_a_changed_message_are_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.export.sinks.columns._FEW_ROWS", 5)
    monkeypatch.setattr("chatrest.export.sinks.columns._MANY_ROWS", 10)
    with Export(tmp_path) as out:
        for first in range(1, 61, 15):
            out.commit(page(first, 15), BOB if first == 16 else ALICE)
        out.done()
        before = table(tmp_path)
        out.change(page(20, 3, sender="mallory"))
        out.done()
        after = table(tmp_path)
        changed = [
            now["id"] for was, now in zip(before.to_pylist(), after.to_pylist(), strict=True) if was != now
        ]
        assert changed == ["20", "21", "22"]
        assert before["source"].equals(after["source"])
        assert [row.id for row, source in out.sink.stored() if source == out.number(BOB)] == [
            str(number) for number in range(16, 31)
        ]


# ── the whole of it, with a service ──


@pytest.mark.usefixtures("tidy")
class TestExport:
    PLAN = Plan(format="parquet")

    async def test_every_message_once_and_to_the_byte(self, tmp_path: Path) -> None:
        async with Emulator(users=8, messages=600) as emulator, AsyncSession(emulator.app) as session:
            report = await export(session, tmp_path / "parquet", self.PLAN)
            await export(session, tmp_path / "ndjson")
        assert report.complete
        assert (report.messages, report.written) == (600, 600)
        lines = [
            line for path in (tmp_path / "ndjson").glob("*.ndjson") for line in path.read_bytes().splitlines()
        ]
        assert sorted(raws_of(table(tmp_path / "parquet"))) == sorted(lines)
        assert ids(tmp_path / "parquet") == [str(number) for number in range(1, 601)]

    async def test_the_manifest_has_the_parts_and_their_hashes(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
        manifest = read(tmp_path / "manifest.json")
        assert manifest.complete
        for part in manifest.parts:
            data = (tmp_path / part.name).read_bytes()
            assert (part.bytes, part.sha256) == (len(data), hashlib.sha256(data).hexdigest())
            assert part.role == "part"
        assert sum(part.messages for part in manifest.parts) == 100

    @pytest.mark.parametrize("partition", ["month", "source"])
    async def test_a_lost_part_is_read_again(self, tmp_path: Path, partition: Any) -> None:
        plan = Plan(format="parquet", partition=partition)
        async with Emulator(users=6, messages=400) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, plan)
            lost = min(name for name in files(tmp_path) if name.endswith(".parquet"))
            (tmp_path / lost).unlink()
            report = await export(session, tmp_path, plan)
        assert report.complete
        assert ids(tmp_path) == [str(number) for number in range(1, 401)]

    async def test_what_comes_later_comes_with_the_next_run(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
            for number in range(10):
                emulator.store.add_message("user-01", "user-02", f"later {number}")
            report = await export(session, tmp_path)
        assert report.written == 10
        assert ids(tmp_path) == [str(number) for number in range(1, 111)]
        assert "spool" not in {path.split("/")[0] for path in files(tmp_path)}

    async def test_a_recheck_puts_what_has_changed_into_place(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
            emulator.weather.add(OddRecords("unknown-category"))
            report = await export(session, tmp_path, recheck=10**9)
        assert report.complete
        assert report.changed == 100
        assert set(table(tmp_path)["category"].to_pylist()) == {"unheard-of"}
        assert ids(tmp_path) == [str(number) for number in range(1, 101)]
        assert len(history(tmp_path)) == 100

    async def test_a_disk_that_fails_at_any_call_costs_nothing(self, tmp_path: Path) -> None:
        async with Emulator(users=3, messages=60) as emulator, AsyncSession(emulator.app) as session:
            for calls in range(0, 60, 4):
                folder, disk = tmp_path / str(calls), Failing(calls, lambda: OSError(5, "I/O error"))
                try:
                    await export(session, folder, self.PLAN, disk=disk)
                except OSError:
                    assert disk.failed
                    await export(session, folder, self.PLAN)
                assert ids(folder) == [str(number) for number in range(1, 61)]


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
sys.modules["pyarrow"] = None
from chatrest.export.archive import Archive
from chatrest.export import Plan
try:
    Archive(Path(sys.argv[1]), Plan(format="parquet"), app_id="app")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        "RequestInvalidError format = 'parquet': it needs the extra: pip install 'chatrest[parquet]'"
    )


def test_pyarrow_is_not_imported_for_nothing() -> None:
    program = (
        "import sys, chatrest.export.start, chatrest.export.sinks.parquet; print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
