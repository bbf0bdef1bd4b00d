"""Totals of a service are hints: a dry run against those that are too small, too large, or no number."""

from collections.abc import Callable

import pytest

from chatrest.cli.export_texts import estimate_lines
from chatrest.core.replies.rows import Row
from chatrest.export import Plan
from chatrest.export.dry_run.estimate import Estimate, estimate
from chatrest.export.dry_run.survey import is_plausible
from tests.small_service import SmallService, talk

COUNT = 1866


async def dry_run(
    total: Callable[[int], object], count: int = COUNT, *, first: int = 1, plan: Plan | None = None
) -> Estimate:
    service = SmallService(talk(count, first=first))
    service.largest_page = 100
    service.total = total
    async with service.session() as session:
        return await estimate(session, plan)


def line(result: Estimate, name: str) -> str:
    return dict(line.split(maxsplit=1) for line in estimate_lines(result, "out", 32))[name]


def messages_line(result: Estimate) -> str:
    return line(result, "messages")


@pytest.mark.parametrize("total", [0, 2, 100, None, -5, "many", 10**9, 10**30, 2 * COUNT], ids=str)
@pytest.mark.parametrize("first", [1, 10**9])
async def test_a_total_that_the_list_contradicts_is_not_believed(total: object, first: int) -> None:
    result = await dry_run(lambda _: total, first=first)
    assert (result.counted, result.reported, result.bounded) == (0, 0, 2)
    assert (result.messages_least, result.messages_most) == (200, 2 * COUNT), (
        "both users' first pages, and all ids"
    )
    assert (result.written_least, result.written_most) == (100, COUNT)
    assert result.messages == 2 * COUNT, "as densely as they begin"
    assert result.known == "at least"
    assert messages_line(result).startswith("at least 200, at most 3,732 to read")
    assert result.requests_least >= 4


@pytest.mark.parametrize("total", [101, 1000, 1001])
async def test_a_total_that_is_made_of_a_pages_size_is_not_believed(total: int) -> None:
    result = await dry_run(lambda _: total)
    assert (result.reported, result.bounded, result.messages_least) == (0, 2, 200)


async def test_a_total_that_is_right_is_taken_as_a_hint() -> None:
    result = await dry_run(lambda count: count)
    assert (result.counted, result.reported, result.bounded) == (0, 2, 0)
    assert result.messages == result.messages_least == result.messages_most == 2 * COUNT
    assert (result.written_least, result.written, result.written_most) == (100, COUNT, COUNT)
    assert messages_line(result).startswith("3,732 to read")
    assert line(result, "basis").endswith("2 counted by the service's totals, which may be wrong")
    assert 2 * COUNT / 100 <= result.requests <= 2 * COUNT / 100 + 12


@pytest.mark.parametrize("total", [0, 2, 50, 1000], ids=str)
async def test_a_list_that_ends_with_its_page_is_counted_whatever_the_total(total: object) -> None:
    result = await dry_run(lambda _: total, count=50)
    assert (result.counted, result.reported, result.bounded) == (2, 0, 0)
    assert (result.messages, result.written, result.is_range) == (100, 50, False)
    assert messages_line(result).startswith("100 to read")
    assert line(result, "basis").endswith("2 of 2 sources sampled")


async def test_a_total_of_more_than_the_plans_window_is_not_believed() -> None:
    plan = Plan(everything=True, until=talk(1, first=40)[0]["sentAt"])
    result = await dry_run(lambda count: count, plan=plan)
    assert result.bounded == 1
    assert result.messages_least == 40, "a service that heeds no window: those of its first page are counted"
    assert messages_line(result).startswith("at least 40, at most 1,")


@pytest.mark.parametrize(
    ("total", "until", "expected"),
    [
        (11, 100, True), (100, 100, True), (101, 100, False), (10, 100, False), (5, 100, False),
        (None, 100, False), ("100", 100, False), (True, 100, False), (10**12, (1 << 63) - 1, True),
    ],
)  # fmt: skip
def test_a_total_is_plausible_between_what_was_seen_and_the_ids_that_there_are(
    total: object, until: int, expected: bool
) -> None:
    assert is_plausible(total, [Row(id=str(number)) for number in range(1, 11)], until) is expected


def test_a_list_is_not_believed_to_become_many_times_denser() -> None:
    sparse = [Row(id=str(number * 1000)) for number in range(1, 11)]
    assert is_plausible(1000, sparse, 1_000_000)
    assert not is_plausible(500_000, sparse, 1_000_000)
