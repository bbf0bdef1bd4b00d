"""Sealed files that other processes leave: each of their ids is in the export once, whatever comes twice."""

import hashlib
from pathlib import Path

import pytest

from chatrest.export.plan.message_ids import ids_of
from chatrest.export.store import ExportStore, NewRows, adopt_fragments
from chatrest.export.store.disk import Disk
from chatrest.export.store.fragments import FragmentLostError
from chatrest.export.store.segments import fragment_path
from tests.sealing import FORMATS, leave_fragment, opened, opened_as_it_is, repaired, row, texts_on_disk

every_format = pytest.mark.parametrize("format", FORMATS)


def ids_on_disk(folder: Path) -> list[int]:
    return sorted(int(key) for key, _ in texts_on_disk(folder))


def spooled(folder: Path) -> list[str]:
    return [path.name for path in (folder / "spool").glob("*")]


@every_format
def test_fragments_that_overlap_and_come_twice(folder: Path, format: str) -> None:
    with opened(folder, format) as store:
        makers = [[1, 2, 3], [3, 4, 5], [2, 3, 4], [6]]
        fragments = [leave_fragment(folder, format, "none", 1, ids) for ids in makers]
        assert store.adopt(fragments[:2]) == 5
        assert store.adopt(fragments) == 1
        assert store.adopt(fragments) == 0
        assert store.journal.rows(["messages"]) == {1: 6}
        store.seal_all()
        assert not store.inspect(deep=True)
    assert ids_on_disk(folder) == [1, 2, 3, 4, 5, 6]
    assert spooled(folder) == []


def test_a_fragment_that_is_cut_is_lost_with_all_that_is_told_of_it(folder: Path) -> None:
    with opened(folder, "plain") as store:
        fragments = [leave_fragment(folder, "plain", "none", 1, ids) for ids in ([1, 2], [3])]
        path = fragment_path(folder, fragments[1].name)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        page = NewRows("messages/messages", 1, [], seen=ids_of([row(1), row(9)]))
        with pytest.raises(FragmentLostError, match="is not there, or not as it was written"):
            store.adopt(fragments, [page])
        assert not store.journal.seen()
        assert not store.written
        path.write_bytes(whole)
        assert store.adopt(fragments, [page]) == 3
        assert list(store.missing()) == [9]


def test_ids_that_are_no_numbers_are_told_apart_too(folder: Path) -> None:
    with opened(folder, "plain") as store:
        fragments = []
        for keys in (["x", 1], ["x", "y"], ["y", "x"]):
            made = leave_fragment(folder, "plain", "none", 4, [1])
            rows = [row(key) for key in keys]
            path = fragment_path(folder, made.name)
            path.write_bytes(b"".join(each.raw + b"\n" for each in rows))
            blocks = [made.blocks[0]._replace(ids=ids_of(rows).numbers, rows=2)]
            others = [(4, key) for key in ids_of(rows).others]
            fragments.append(made._replace(size=path.stat().st_size, blocks=blocks, others=others))
        assert store.adopt(fragments) == 3
        assert sorted(store.journal.keys_of(store.written).values()) == ["x", "y"]
        assert [
            len(block.ids) for file in store.journal.files() for block in store.journal.blocks(file.number)
        ] == [2, 1]
        store.seal_all()
    assert sorted(key for key, _ in texts_on_disk(folder)) == ["1", "x", "y"]


class Unplugged(Disk):
    """A disk that fails when a fragment gets its name."""

    def replace(self, old: Path, new: Path) -> None:
        if old.suffix == ".fragment":
            raise OSError("unplugged")
        super().replace(old, new)


def test_an_adoption_that_was_interrupted_is_ended_by_the_next_opening(folder: Path) -> None:
    with opened(folder, "plain", Unplugged()) as store:
        fragment = leave_fragment(folder, "plain", "source", 1, [1, 2])
        with pytest.raises(OSError, match="unplugged"):
            store.adopt([fragment])
    with opened_as_it_is(folder, "plain") as store:
        assert [finding.kind for finding in store.inspect(deep=True)] == ["unfinished"]
    assert ids_on_disk(folder) == []
    assert [finding.kind for finding in repaired(folder, "plain")] == ["unfinished"]
    assert ids_on_disk(folder) == [1, 2]


@every_format
def test_what_a_maker_that_was_killed_has_left_is_adopted_or_set_aside(folder: Path, format: str) -> None:
    with opened(folder, format) as store:
        store.commit([NewRows("messages/messages", 1, [row(1)])])
    leave_fragment(folder, format, "none", 1, [1, 2])
    damaged = fragment_path(folder, leave_fragment(folder, format, "none", 1, [7, 8]).name)
    damaged.write_bytes(damaged.read_bytes()[:-9])
    (folder / "spool" / "chatrest-0.new" / "spool").mkdir(parents=True)
    (folder / "spool" / "chatrest-0.new" / "spool" / "x.segment").write_bytes(b"{")
    with opened(folder, format) as store:
        store.seal_all()
        assert not store.inspect(deep=True)
    assert {1, 2} <= set(ids_on_disk(folder)) <= {1, 2, 7}
    assert [path.name for path in (folder / "damaged" / "spool").iterdir()] == [f"{damaged.name}.damaged-1"]
    assert spooled(folder) == []


def test_fragments_in_an_object_store_stay_there_and_those_known_in_part_are_fetched(folder: Path) -> None:
    elsewhere: dict[str, int] = {}
    fetched: list[str] = []
    contents: dict[str, bytes] = {}

    def fetch(name: str, path: Path, sha256: str) -> None:
        assert hashlib.sha256(contents[name]).hexdigest() == sha256
        fetched.append(name)
        path.write_bytes(contents[name])

    with opened(folder, "plain") as first:
        store = ExportStore(folder, first.journal, first.kinds, elsewhere=elsewhere, fetch=fetch)
        fragments = [leave_fragment(folder, "plain", "none", 1, ids) for ids in ([1, 2], [2, 3], [1, 3])]
        contents |= {each.name: fragment_path(folder, each.name).read_bytes() for each in fragments}
        for each in fragments:
            fragment_path(folder, each.name).unlink()
            elsewhere[each.name] = each.size

        assert store.adopt(fragments) == 3
        assert fetched == [fragments[1].name]
        assert store.journal.rows(["messages"]) == {1: 3}
        assert [file.name for file in store.journal.files("sealed")] == [fragments[0].name]
        assert not store.inspect()
        assert adopt_fragments(store) == 0
        store.close()


def test_the_rows_of_a_fragment_keep_their_sources(folder: Path) -> None:
    with opened(folder, "plain") as store:
        store.commit([NewRows("messages/messages", 9, [row(1)])])
        made = leave_fragment(folder, "plain", "none", 1, [1, 2, 3])
        [block] = made.blocks
        parts = [block._replace(source=number, ids=ids_of([row(number)]).numbers) for number in (1, 2, 3)]
        assert store.adopt([made._replace(blocks=parts)]) == 2
        assert store.journal.rows(["messages"]) == {9: 1, 2: 1, 3: 1}
