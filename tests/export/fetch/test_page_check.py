"""The rows of a page that are written: against lists that are filtered by hand."""

from hypothesis import given, strategies as st

from chatrest._core.replies.rows import UNKNOWN, Row
from chatrest.export.fetch.jobs import ListJob
from chatrest.export.fetch.page_check import PageCheck, Window, partition_page
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import number
from chatrest.export.plan.ownership import OwnershipRules, Source

ALICE, BOB, GROUP = (Source(kind, (name,)) for kind, name in [("user", "a"), ("user", "b"), ("group", "g")])  # type: ignore[arg-type]
RULES = OwnershipRules([ALICE, BOB, GROUP])
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


def is_of(source: Source, row: Row) -> bool:
    """Return True if a row may belong to the list of a source."""
    if source.kind == "user" and row.receiver_type == "group":
        return True  # its members are not told
    names = [row.receiver] if source.kind == "group" else [row.sender, row.receiver]
    return "" in names or source.names[0] in names


@given(pages(), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_a_window_holds_both_its_ends_and_what_tells_no_time(
    rows: list[Row], since: int | None, until: int | None
) -> None:
    def is_within(row: Row) -> bool:
        after = since is None or row.sent_at >= since
        return row.sent_at == UNKNOWN or (after and (until is None or row.sent_at <= until))

    assert Window(since, until).within(rows) == [row for row in rows if is_within(row)]


@given(pages(), st.sampled_from([ALICE, BOB, GROUP]))
def test_a_source_writes_its_own_rows_and_those_that_no_source_claims(
    rows: list[Row], source: Source
) -> None:
    own = [row for row in rows if RULES.writes(source, row.sender, row.receiver, row.receiver_type)]
    assert partition_page(rows, RULES, source) == own


@given(pages(), st.sampled_from([ALICE, BOB, GROUP]))
def test_a_page_for_missing_messages_has_each_row_under_the_source_that_the_rule_names(
    rows: list[Row], source: Source
) -> None:
    rows = [row for row in rows if is_of(source, row)]
    page = PageCheck(Window(), RULES).page(ListJob(number=1, source=source, purpose="missing"), rows)
    assert page.writers is not None
    assert sorted(id(row) for written in page.writers.values() for row in written) == sorted(map(id, rows))
    for writer, written in page.writers.items():
        for row in written:
            claimants = RULES.claimants(row.sender, row.receiver, row.receiver_type)
            assert writer == (claimants[0] if claimants else source)


@given(pages(), st.integers(1, 9))
def test_a_recheck_counts_as_shown_what_it_does_not_compare(rows: list[Row], since: int) -> None:
    """A message with a changed time counts as shown; so does one of another list."""
    job = ListJob(number=1, source=ALICE, purpose="recheck", since=since)
    page = PageCheck(Window(), RULES).page(job, rows)
    assert page.shown is not None
    assert page.shown.numbers == IdSet(id_number for row in rows if (id_number := number(row.id)))
    assert page.compared == Window(since).within([row for row in rows if is_of(ALICE, row)])
