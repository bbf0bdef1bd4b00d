"""Dialects of paging as values: what is sent back of a position, and under which names."""

from typing import Any

import pytest
from msgspec import UNSET

from chatrest._core.requests.dialects import (
    BY_ID,
    BY_NEXT,
    BY_PAGE,
    BY_THREAD,
    BY_UPDATED,
    ONE_REPLY,
    UNPAGED,
    Paging,
    position_pairs,
)
from chatrest._models.meta import Position
from tests.support.cases import loop_over

DIALECTS = [BY_ID, BY_NEXT, BY_PAGE, BY_THREAD, BY_UPDATED, ONE_REPLY, UNPAGED]


@pytest.mark.parametrize(
    ("paging", "without", "with_user"),
    [(BY_ID, "perPage", "limit"), (BY_NEXT, "limit", "limit"), (BY_PAGE, "perPage", "perPage")],
)
def test_a_page_size_has_another_name_with_an_acting_user(
    paging: Paging, without: str, with_user: str
) -> None:
    assert paging.size_name(is_acting=False) == without
    assert paging.size_name(is_acting=True) == with_user
    assert set(paging.sizes) == {without, with_user}


def test_a_list_without_a_page_size_has_no_size_parameter() -> None:
    assert (ONE_REPLY.size_name(is_acting=True), ONE_REPLY.sizes) == ("", ())
    assert "" not in ONE_REPLY.position_names


@loop_over("paging", DIALECTS)
def test_a_position_is_sent_only_by_paging_parameters_of_the_list(paging: Paging) -> None:
    position = Position("append", 1, 2, 3, 4, "c", 5, "f", 6, 7, "prepend")
    sent = dict(position_pairs(position, paging))
    assert sent.keys() < paging.position_names
    assert set(sent.values()) == {"1", "2", "3", "4", "c", "5", "f", "6", "7", "prepend"}
    assert {"affix", "page", *paging.sizes} <= paging.position_names


@loop_over("nowhere", [UNSET, None, 0, "0", ""])
def test_a_member_that_leads_nowhere_is_not_sent_back(nowhere: Any) -> None:
    assert position_pairs(Position("append", nowhere), BY_ID) == ()
    assert position_pairs(Position("append", nowhere, sent_at=7), BY_ID) == (("sentAt", "7"),)


def test_a_member_is_sent_back_under_the_name_that_the_list_asks_by() -> None:
    logs = Paging(size="limit", renames=(("messageId", "logId"),))
    assert position_pairs(Position("append", message_id=5), logs) == (("logId", "5"),)
    assert "logId" in logs.position_names
    assert "messageId" not in logs.position_names


def test_a_query_that_names_a_position_filters_a_list_by_page_numbers() -> None:
    assert BY_PAGE.filtered_by({"updatedAt": 70, "page": 2, "perPage": 5}).filters == (("updatedAt", "70"),)
    assert BY_PAGE.filtered_by({"page": 2, "perPage": 5, "tags": "x"}) is BY_PAGE
    assert BY_UPDATED.filtered_by({"updatedAt": 70}) is BY_UPDATED
