"""Messages that have changed take the places of the older ones in Parquet files, and those are kept."""

import hashlib
from pathlib import Path

import pytest

from tests.parquets import ALICE, BOB, DAY, OCTOBER, SEPTEMBER, Export, history, page, served, table


def test_changed_messages_take_the_places_of_older_ones_which_are_kept(tmp_path: Path) -> None:
    with Export(tmp_path) as out:
        out.commit(page(1))
        out.commit(page(11), BOB)
        out.done()
        blocks = [block for part in out.journal.parts("part") for block in out.journal.blocks(part.number)]
        out.commit(page(21))
        odd = served(b'{"id":"12","sentAt":1600086400,"data":{"text":"\xff"}}')
        out.change(
            [*page(5, 2, data={"text": "new"}), *odd, *page(25, 1, data={"text": "new"}), *page(99, 1)]
        )
        assert out.done() == 4
        after = [block for part in out.journal.parts("part") for block in out.journal.blocks(part.number)]
        assert len(out.scan(since=SEPTEMBER + DAY)) == 10
    found = {row["id"]: row for row in table(tmp_path).to_pylist()}
    assert [found[number]["text"] for number in ("4", "5", "6", "25")] == [None, "new", "new", "new"]
    assert (found["12"]["source"], found["12"]["raw_bytes"]) == ("user bob", bytes(odd[0].raw))
    assert sorted(old["id"] for old in history(tmp_path)) == ["12", "25", "5", "6"]
    assert [block[1:7] for block in after[:2]] == [block[1:7] for block in blocks]
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
    monkeypatch.setattr("chatrest.export.formats.parquet_columns._FEW_ROWS", 5)
    monkeypatch.setattr("chatrest.export.formats.parquet_columns._MANY_ROWS", 10)
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
        assert [row.id for row, source in out.sink.scan() if source == out.number(BOB)] == [
            str(number) for number in range(16, 31)
        ]
