"""What is written of a page: against lists that are filtered by hand."""

from hypothesis import given, settings, strategies as st

from chatrest.core.rows import UNKNOWN, Row
from chatrest.export.message_ids import key_of, number
from chatrest.export.ownership import Ownership, OwnershipRules, Source
from chatrest.export.page_partition import PagePartition, Window, cut, partition_page

some = settings(max_examples=100, deadline=None, database=None)
ALICE, BOB, GROUP = (Source(kind, (name,)) for kind, name in [("user", "a"), ("user", "b"), ("group", "g")])  # type: ignore[arg-type]
CLAIMS = OwnershipRules([ALICE, BOB, GROUP])
MEMBERS = [
    ("a", "x", "user"), ("a", "b", "user"), ("b", "a", "user"), ("x", "b", "user"), ("a", "g", "group"),
    ("x", "g", "group"), ("x", "y", "user"), ("a", "y", ""), ("", "", ""),
]  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> list[Row]:
    """Rows as a walk gives them: those without a number for an id, and then the others in ascending order."""
    names = draw(st.lists(st.sampled_from(["", "m-1", "m-2", "9" * 30]), max_size=3))
    numbers = sorted(draw(st.sets(st.integers(1, 40), max_size=8)))
    ids = [*names, *map(str, numbers)]
    return [
        Row(name, "", *draw(st.sampled_from(MEMBERS)), draw(st.integers(-3, 12)), b"%d" % i)
        for i, name in enumerate(ids)
    ]


@some
@given(pages(), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_a_window_holds_both_its_ends_and_what_tells_no_time(
    rows: list[Row], since: int | None, until: int | None
) -> None:
    def is_within(row: Row) -> bool:
        after = since is None or row.sent_at >= since
        return row.sent_at == UNKNOWN or (after and (until is None or row.sent_at <= until))

    assert Window(since, until).within(rows) == [row for row in rows if is_within(row)]


@some
@given(pages(), st.integers(1, 45))
def test_a_page_is_cut_behind_an_id_and_tells_how_far_it_came(rows: list[Row], until: int) -> None:
    numbers = [found for row in rows if (found := number(row.id))]
    kept, last, passed = cut(rows, 0, until)
    assert kept == [row for row in rows if (number(row.id) or 0) <= until]
    assert passed == (max(numbers, default=0) > until)
    assert last == min(max(numbers, default=0), until)


def test_a_page_without_a_single_number_is_kept_and_covers_nothing() -> None:
    rows = [Row("m-1"), Row("9" * 5000)]
    assert cut(rows, 7, 9) == (rows, 7, False)


@some
@given(pages(), st.sampled_from([ALICE, BOB, GROUP]))
def test_every_row_is_written_or_left_to_another_and_the_accounts_tell_which(
    rows: list[Row], source: Source
) -> None:
    judge = CLAIMS.of(source)
    found = partition_page(rows, judge)
    numbered = [(number(row.id), judge(row), row) for row in rows]
    theirs = [each for each, whose, _ in numbered if each is not None and whose is Ownership.FOREIGN]
    shared = [each for each, whose, _ in numbered if each is not None and whose is Ownership.SHARED]
    assert found.theirs == theirs
    assert found.shared == shared
    assert found.rows == [row for row in rows if number(row.id) not in theirs]
    loose = {key_of(row) for each, whose, row in numbered if each is None or whose is Ownership.UNCLAIMED}
    assert found.unclaimed == loose


def test_a_row_that_cannot_be_noted_by_its_number_is_written_by_whoever_sees_it() -> None:
    row = Row("m-1", "", "a", "g", "group")
    assert CLAIMS.of(ALICE)(row) is Ownership.FOREIGN
    assert partition_page([row], CLAIMS.of(ALICE)) == PagePartition([row], frozenset({"m-1"}), [], [])


def test_a_page_of_ones_own_is_handed_on_as_it_is() -> None:
    rows = [Row("1", "", "a", "x", "user"), Row("2", "", "a", "y", "user")]
    assert partition_page(rows, CLAIMS.of(ALICE)).rows is rows
    assert cut(rows, 0, 2)[0] is rows
    assert Window().within(rows) is rows
    assert partition_page([], CLAIMS.of(ALICE)) == PagePartition([], frozenset(), [], [])
