"""The journal: what it promises of intervals, transactions, accounts, and of folders that are not its own."""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from chatrest.core.rows import Row
from chatrest.errors import RequestInvalidError
from chatrest.export.journal import NAME, Balance, Frame, Journal, Part
from chatrest.export.sources import Source, pair_of
from chatrest.export.spans import Span

some = settings(max_examples=100, deadline=None, database=None)
MEMORY = Path(":memory:")
USERS = [Source("user", (name,)) for name in "abc"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


@pytest.fixture
def journal() -> Iterator[Journal]:
    journal = Journal(MEMORY)
    yield journal
    journal.close()


def by_hand(path: Path, *statements: str) -> list[Any]:
    """What somebody does to the file while no export runs; what the last statement gives."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return [db.execute(statement).fetchall() for statement in statements][-1]
    finally:
        db.close()


def frame(part: int, start: int, source: int = 1, rows: int = 1, first: int = 1, last: int = 1) -> Frame:
    return Frame(part, start, 10, source, rows, first, last, 5, 6, b"digest")


# ── whose it is ──


def test_what_was_noted_is_there_when_it_is_opened_again(path: Path) -> None:
    journal = Journal(path)
    assert journal["plan"] is None
    journal["plan"] = "{}"
    journal["plan"] = '{"é": 1}'
    journal.close()
    journal = Journal(path)
    assert (journal["plan"], journal["app"], journal.path) == ('{"é": 1}', None, path)
    journal.close()
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_journal_that_is_in_use_is_refused_in_words_and_free_when_that_ends(path: Path) -> None:
    journal = Journal(path)
    for _ in range(2):
        with pytest.raises(RequestInvalidError, match="another export is writing here") as caught:
            Journal(path)
        assert str(path) in str(caught.value)
    journal["still"] = "mine"
    journal.close()
    journal = Journal(path)
    assert journal["still"] == "mine"
    journal.close()


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{}" * 2000, "not a database"), (b"SQLite format 3\0" + b"\xff" * 5000, "database")],
)
def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(
    path: Path, content: bytes, words: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(RequestInvalidError, match=words) as caught:
        Journal(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statements",
    [("CREATE TABLE mine(a)", "INSERT INTO mine VALUES(1)"), ("CREATE TABLE a(b)", "PRAGMA user_version=99"),
     ("CREATE TABLE meta(name)", "PRAGMA user_version=2")],
)  # fmt: skip
def test_somebody_elses_database_is_refused_and_stays_as_it_is(
    path: Path, statements: tuple[str, ...]
) -> None:
    by_hand(path, *statements)
    before = path.read_bytes()
    with pytest.raises(RequestInvalidError, match="not an export's journal, or of another version"):
        Journal(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [NAME]


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / NAME):
        with pytest.raises(RequestInvalidError, match="unable to open"):
            Journal(path)


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    journal = Journal(path)
    assert journal.sources() == journal.parts() == journal.vanished() == []
    journal.close()


# ── transactions ──


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_transaction_that_fails_has_never_happened(journal: Journal, error: type[BaseException]) -> None:
    with journal.transaction():
        journal["a"] = "1"
    with pytest.raises(error), journal.transaction():  # noqa: PT012
        journal["a"] = "2"
        journal.cover(1, 0, 5, ())
        raise error
    assert (journal["a"], journal.spans(1)) == ("1", [])
    with journal.transaction():
        journal["a"] = "3"
    assert journal["a"] == "3"


def test_a_transaction_in_another_one_undoes_both(journal: Journal) -> None:
    with pytest.raises(sqlite3.OperationalError), journal.transaction():  # noqa: PT012
        journal["a"] = "1"
        with journal.transaction():
            journal["a"] = "2"
    assert journal["a"] is None


def test_a_process_that_ends_in_a_transaction_leaves_what_was_committed(path: Path, tmp_path: Path) -> None:
    journal = Journal(path)
    with journal.transaction():
        journal["a"] = "1"
    with journal.transaction():
        journal["a"] = "2"
        journal.cover(1, 0, 5, ())
        shutil.copytree(tmp_path, tmp_path / "left")
    journal.close()
    journal = Journal(tmp_path / "left" / NAME)
    assert (journal["a"], journal.spans(1)) == ("1", [])
    journal.close()


# ── sources ──


def test_sources_keep_their_numbers_whoever_comes_later(path: Path) -> None:
    odd = [
        Source("user", ("é\n\"'\0",)),
        Source("group", ("\ud800",)),
        pair_of("a", "b"),
        Source("everything"),
    ]
    journal = Journal(path)
    journal.add_sources(USERS)
    journal.add_sources([odd[0], *reversed(USERS), *odd])
    found = journal.sources()
    assert [known.source for known in found] == [*USERS, *odd]
    assert {(known.state, known.error) for known in found} == {("open", None)}
    journal.close()
    journal = Journal(path)
    assert journal.sources() == found
    assert [journal.source_of(known.source.key) for known in found] == [known.number for known in found]
    assert min(known.number for known in found) > 0
    assert journal.source_of("2020-09") == 0
    journal.close()


def test_a_source_that_was_gone_is_back_and_one_that_failed_is_not_mended_by_being_listed(
    journal: Journal,
) -> None:
    journal.add_sources(USERS)
    journal.mark(1, "gone", "no such user")
    journal.mark(2, "failed", "refused")
    assert [known.state for known in journal.sources()] == ["gone", "failed", "open"]
    assert journal.sources()[0].error == "no such user"
    journal.add_sources(USERS)
    assert [known.state for known in journal.sources()] == ["open", "failed", "open"]
    journal.mark(2, "open")
    assert journal.sources()[1].error is None


# ── what is covered ──

pages = st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 6)), max_size=12)


@settings(some, max_examples=250)
@given(pages)
@example([(0, 6), (0, 3)])
@example([(0, 2), (2, 2), (2, 1)])
def test_what_was_covered_stays_covered_in_whatever_order_it_came(pages: list[tuple[int, int]]) -> None:
    journal, model, places = Journal(MEMORY), set[int](), dict[int, set[Any]]()
    for count, (after, more) in enumerate(pages):
        last, at = after + more, (("id", str(after + more)), ("n", str(count)))
        journal.cover(1, after, last, at)
        model.update(range(after + 1, last + 1))
        if more > 0:
            places.setdefault(last, set()).add(at)
        spans = journal.spans(1)
        assert {each for span in spans for each in range(span.first, span.last + 1)} == model
        assert all(one.last + 1 < other.first for one, other in pairwise(spans))
        assert all(span.at in places[span.last] for span in spans)
    assert journal.spans(2) == []
    journal.close()


def test_a_long_walk_is_one_row_however_many_pages_it_had(path: Path) -> None:
    journal = Journal(path)
    for after in [*range(0, 200, 10), *reversed(range(200, 400, 10))]:
        journal.cover(1, after, after + 10, (("id", str(after + 10)),))
        journal.cover(2, after, after + 5, ())
    assert journal.spans(1) == [Span(1, 400, (("id", "400"),))]
    assert len(journal.spans(2)) == 40
    journal.close()
    assert by_hand(path, "SELECT count(*) FROM covered WHERE source = 1") == [(1,)]


def test_a_place_is_kept_whatever_the_service_calls_it(journal: Journal) -> None:
    for count, text in enumerate(["é\n\"'\0", "\ud800", "", "x" * 5000]):
        journal.cover(count, 0, 5, (("id", text),))
        assert journal.spans(count)[0][:2] == (1, 5)
        assert journal.spans(count)[0].at in ((("id", text),), ())


def test_intervals_are_made_anew(journal: Journal) -> None:
    journal.cover(1, 0, 9, ())
    journal.cover(2, 0, 9, ())
    spans = [Span(1, 3), Span(7, 9, (("id", "9"),))]
    journal.replace_spans(1, spans)
    assert (journal.spans(1), journal.spans(2)) == (spans, [Span(1, 9)])
    journal.replace_spans(1, [])
    assert journal.spans(1) == []


@some
@given(st.lists(st.tuples(st.integers(-2, 9), st.integers(-2, 9)), max_size=5), st.integers(0, 9))
def test_rows_that_a_hand_has_edited_are_read_as_the_ids_that_they_name(
    rows: list[tuple[int, int]], after: int
) -> None:
    journal = Journal(MEMORY)
    spans = [Span(*row) for row in dict(rows).items()]
    journal.replace_spans(1, spans)
    model = {each for span in spans for each in range(span.first, span.last + 1)}
    for last in (after, after + 3):
        journal.cover(1, after, last, ())
        model.update(range(after + 1, last + 1))
        found = journal.spans(1)
        assert {each for span in found for each in range(span.first, span.last + 1)} == model
    journal.close()


@pytest.mark.parametrize("at", ["", "{", "null", "5", '"x"', "[[1,2]]", '[["id"]]', '{"id":"5"}', "[" * 9999])
def test_a_place_that_a_hand_has_broken_is_none(path: Path, at: str) -> None:
    Journal(path).close()
    by_hand(path, f"INSERT INTO covered VALUES(1, 1, 5, '{at}'), (1, 9, 9, '[[\"id\",\"9\"]]')")
    by_hand(path, f"INSERT INTO rechecks VALUES(1, 0, 5, 9, '{at}')")
    journal = Journal(path)
    assert journal.spans(1) == [Span(1, 5), Span(9, 9, (("id", "9"),))]
    assert journal.rechecks() == {1: (0, 5, 9, ())}
    journal.cover(1, 5, 8, ())
    assert journal.spans(1) == [Span(1, 9, (("id", "9"),))]
    journal.close()


# ── files ──


def test_a_file_is_open_until_it_is_whole(journal: Journal) -> None:
    assert journal.open_part("2020-09", "part") is None
    part = journal.add_part("parts/a.ndjson", "2020-09", "part")
    assert part == Part(part.number, "parts/a.ndjson", "2020-09", "part", 0, "open", None)
    assert journal.open_part("2020-09", "part") == part
    assert journal.open_part("2020-09", "history") is journal.open_part("2020-10", "part") is None
    journal.keep_part(part._replace(size=50, state="whole", digest=b"d"))
    assert journal.open_part("2020-09", "part") is None
    other = journal.add_part("b.ndjson", "2020-09", "part")
    spool = journal.add_part("c.ndjson", "2020-09", "spool")
    assert journal.parts() == [part._replace(size=50, state="whole", digest=b"d"), other, spool]
    assert journal.parts("spool") == [spool]
    assert journal.parts("history") == []


def test_names_that_differ_in_capitals_alone_are_one_name(journal: Journal) -> None:
    journal.add_part("user-Bob.ndjson", "x", "part")
    assert journal.has_part("USER-bob.ndjson")
    assert not journal.has_part("user-bobby.ndjson")
    with pytest.raises(sqlite3.IntegrityError):
        journal.add_part("user-bob.ndjson", "y", "part")


def test_frames_lie_in_their_parts_in_order_and_go_with_them(journal: Journal) -> None:
    one, other = (journal.add_part(name, name, "part") for name in "ab")
    frames = [frame(one.number, start, first=start + 1, last=start + 10) for start in (20, 0, 10)]
    journal.add_frames([*frames, frame(other.number, 0, source=2, rows=5)])
    assert journal.frames(one.number) == sorted(frames)
    journal.drop_frames(one.number, 10)
    assert [each.start for each in journal.frames(one.number)] == [0]
    journal.drop_part(one.number)
    assert journal.frames(one.number) == []
    assert journal.parts() == [other]
    assert len(journal.frames(other.number)) == 1


def test_rows_are_counted_by_their_source_in_the_files_that_are_asked_for(journal: Journal) -> None:
    part, spool = journal.add_part("a", "a", "part"), journal.add_part("b", "b", "spool")
    journal.add_frames(
        [frame(part.number, 0, 1, 3), frame(part.number, 9, 1, 4), frame(part.number, 20, 0, 5)]
    )
    journal.add_frames([frame(spool.number, 0, 1, 50)])
    assert journal.rows(["part"]) == {1: 7, 0: 5}
    assert journal.rows(["part", "spool"]) == {1: 57, 0: 5}
    assert journal.rows(["history"]) == journal.rows([]) == {}


@pytest.mark.parametrize(
    ("source", "first", "last", "has"),
    [(1, 5, 9, True), (1, 1, 5, True), (1, 9, 99, True), (1, 6, 7, True), (1, 1, 4, False),
     (1, 10, 19, False), (2, 5, 9, False), (2, 21, 21, True), (1, 22, 99, True), (1, 23, 99, False)],
)  # fmt: skip
def test_a_source_may_have_rows_where_a_frame_of_it_or_of_nobody_reaches(
    journal: Journal, source: int, first: int, last: int, has: bool
) -> None:
    journal.add_frames([frame(1, 0, 1, first=5, last=9), frame(1, 10, 0, first=20, last=22)])
    assert journal.has_rows(source, first, last) is has


# ── accounts ──

ids = st.lists(st.integers(0, 2**63 - 2), max_size=8)
few = st.lists(st.integers(2**28, 2**29), max_size=2)


@given(st.lists(st.tuples(st.integers(1, 3), ids.filter(bool)), max_size=5))
@some
def test_ids_that_were_left_to_others_come_back_as_they_were_noted(
    noted: list[tuple[int, list[int]]],
) -> None:
    journal = Journal(MEMORY)
    for source, left in noted:
        journal.defer(source, left)
    found = [(source, first, last, list(left)) for source, first, last, left in journal.deferred()]
    assert found == [(source, min(left), max(left), left) for source, left in noted]
    journal.close()


@some
@given(ids, ids, st.randoms())
def test_a_balance_is_even_whatever_the_order_in_which_ids_were_left_and_written(
    one: list[int], other: list[int], dice: Any
) -> None:
    mixed = dice.sample([*one, *other], len(one) + len(other))
    assert Balance().plus(one).plus(other).plus(mixed, -1) == Balance()
    assert Balance().plus(one, -1).plus(one) == Balance()


@some
@given(ids, few, few, st.integers(0, 2**28))
def test_an_id_that_is_missing_and_two_that_are_others_are_noticed(
    shared: list[int], left: list[int], written: list[int], by: int
) -> None:
    balance = Balance().plus(shared).plus(left)
    assert (balance == Balance().plus([*shared, *written])) == (Counter(left) == Counter(written))
    if len(left) == 2:
        moved = [left[0] + by, left[1] - by]
        assert (balance == Balance().plus([*shared, *moved])) == (Counter(left) == Counter(moved))


def test_balances_are_kept_by_name_and_fit_whatever_the_ids(path: Path) -> None:
    journal = Journal(path)
    assert journal.balance("open") == journal.balance("settled") == Balance()
    balance = Balance().plus([2**63 - 2] * 1000).plus([5], -1)
    journal.keep_balance("open", balance)
    below = Balance().plus([1, 2**63 - 2], -1)
    journal.keep_balance("settled", below)
    journal.close()
    journal = Journal(path)
    assert (journal.balance("open"), journal.balance("settled")) == (balance, below)
    journal.close()


# ── strays ──


def test_a_stray_is_noted_once_and_found_among_others(journal: Journal) -> None:
    assert not journal.has_strays()
    assert journal.stray("7")
    assert not journal.stray("7")
    assert journal.stray("é'\"\\")
    assert journal.has_strays()
    assert journal.strays(["7", "8", "é'\"\\", "07"]) == {"7", "é'\"\\"}
    assert journal.strays([]) == set()


NUMBERLESS = ["m-1", "12ab", "7 ", "1.5", "-7", "#0af", "9" * 30, str(2**63 - 1), "٣"]


def test_the_strays_of_a_span_are_those_and_all_that_have_no_number(journal: Journal) -> None:
    """They may have been in a lost file: one that is wrongly remembered would never be written again."""
    numbered = ["4", "5", "7", "9", "10", str(2**63 - 2)]
    for each in [*numbered, *NUMBERLESS]:
        journal.stray(each)
    assert journal.strays_of(5, 9) == {"5", "7", "9", *NUMBERLESS}
    assert journal.strays_of(0, 0) == {*NUMBERLESS}
    journal.drop_strays(journal.strays_of(5, 9))
    assert journal.strays([*numbered, *NUMBERLESS]) == {"4", "10", str(2**63 - 2)}
    journal.drop_strays(journal.strays_of(1, 2**63 - 1))
    assert not journal.has_strays()


# ── reading again ──


def test_a_recheck_goes_on_where_it_was_until_it_is_done(journal: Journal) -> None:
    journal.recheck(1, 100, 50)
    journal.recheck(2, 100, 50)
    journal.rechecked(1, 30, (("id", "30"),))
    journal.recheck(1, 999, 999)
    assert journal.rechecks() == {1: (100, 30, 50, (("id", "30"),)), 2: (100, 0, 50, ())}
    journal.rechecked(1, 50, ())
    assert list(journal.rechecks()) == [2]
    journal.recheck(1, 999, 999)
    assert journal.rechecks()[1] == (999, 0, 999, ())


def test_changed_messages_wait_with_their_newest_bytes_until_they_are_applied(journal: Journal) -> None:
    def row(id: str, text: str) -> Row:
        return Row(id, raw=json.dumps({"id": id, "text": text}).encode())

    journal.change([row("7", "old"), row("m-1", "x")])
    journal.change([row("7", "new"), row("9", "y")])
    assert journal.changed(["7", "8", "m-1"]) == {"7": row("7", "new"), "m-1": row("m-1", "x")}
    assert journal.changed([]) == {}
    assert journal.has_changed(100, 200), "the one without a number may be anywhere"
    journal.applied(["m-1", "nobody"])
    assert journal.has_changed(9, 9)
    assert journal.has_changed(1, 8)
    assert not journal.has_changed(8, 8)
    journal.applied(["7", "9"])
    assert not journal.has_changed(0, 2**63 - 1)


def test_what_vanished_is_told_once_and_in_order(journal: Journal) -> None:
    journal.vanish(1, [9, 2**63 - 2, 7], 1000)
    journal.vanish(2, [7, 8], 2000)
    journal.vanish(2, [], 3000)
    assert journal.vanished() == [7, 8, 9, 2**63 - 2]
