"""Servers that write numbers for ids, and texts for sizes: decoded at once, and reported once per page."""

from typing import Any

from hypothesis import given, strategies as st
from msgspec import UNSET

from chatrest._core.replies.decode import many
from chatrest._core.replies.rows import rows
from chatrest._models.messages import MediaMessage, Message, UnknownMessage
from tests.cases import loop_over
from tests.core.replies.documented import GOOD, KINDS, MEDIA, PAGE, TEXT, body


def numbered(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with numbers for its ids."""
    ids = {name: int(record[name]) for name in ("id", "parentId") if name in record}
    return {**record, **ids}


def test_a_page_of_number_ids_is_the_page_of_text_ids_and_says_so_once() -> None:
    page = PAGE(body([numbered(record) for record in GOOD]))
    assert page.items == PAGE(body(GOOD)).items
    assert [type(item) for item in page.items] == KINDS
    assert page.repairs == (
        "data[*].id: expected text, got whole number (5 records)",
        "data[2].parentId: expected text, got whole number",
    )


def test_rows_of_number_ids_are_those_of_text_ids_and_say_so_once() -> None:
    page = rows(body([numbered(record) for record in GOOD]))
    assert [row.id for row in page.items] == [str(record["id"]) for record in GOOD]
    assert page.repairs == ("data[*].id: expected text, got whole number (5 records)",)


def test_rows_of_number_uids_are_told_as_well() -> None:
    page = rows(b'{"data":[{"uid":5},{"uid":6}]}')
    assert [row.uid for row in page.items] == ["5", "6"]
    assert page.repairs == ("data[*].uid: expected text, got whole number (2 records)",)


def test_one_repair_in_one_record_names_its_place() -> None:
    assert PAGE(body([TEXT, numbered(TEXT)])).repairs == ("data[1].id: expected text, got whole number",)
    assert rows(body([TEXT, numbered(TEXT)])).repairs == ("data[1].id: expected text, got whole number",)


@loop_over(
    ("size", "becomes"), [("12", 12), ("-1", -1), ("0", 0), ("many", UNSET), ("", UNSET), ("1.5", UNSET)]
)
def test_sizes_as_texts_become_numbers_where_they_are_digits(size: str, becomes: Any) -> None:
    files = [{"url": "u", "size": size}, {"url": "v", "size": 3}]
    page = PAGE(body([{**MEDIA, "data": {"attachments": files}}]))
    [message] = page.items
    assert isinstance(message, MediaMessage)
    assert message.data.attachments is not UNSET
    assert [file.size for file in message.data.attachments or ()] == [becomes, 3]
    assert page.repairs == ("data[0].data.attachments[0].size: expected whole number, got text",)


@loop_over("value", [True, 1.5, 1.0, [], {}, None])
def test_no_other_type_passes_for_an_id(value: Any) -> None:
    page = PAGE(body([numbered(TEXT), {**TEXT, "id": value}]))
    assert isinstance(page.items[1], UnknownMessage)
    assert isinstance(rows(body([{**TEXT, "id": value}])).items[0].id, str)


def test_what_a_page_becomes_does_not_depend_on_the_pages_before() -> None:
    texts, numbers = body(GOOD), body([numbered(record) for record in GOOD])
    odd = body([numbered(TEXT), None, MEDIA])
    alone = {page: many(Message)(page) for page in (texts, numbers, odd)}
    for page in (numbers, numbers, texts, texts, odd, numbers, odd, texts):
        again = PAGE(page)
        assert (again.items, again.repairs) == (alone[page].items, alone[page].repairs)


sizes = st.none() | st.integers(-5, 2**40) | st.integers(0, 9**30).map(str) | st.text(max_size=3)
records = st.fixed_dictionaries(
    {"id": st.integers() | st.integers().map(str) | st.integers(10**25, 10**40)},
    optional={
        "parentId": st.none() | st.integers() | st.text(max_size=3),
        "data": st.fixed_dictionaries(
            {},
            optional={"attachments": st.lists(st.fixed_dictionaries({"url": st.just("u"), "size": sizes}))},
        ),
    },
)


@given(st.lists(records, max_size=4))
def test_decoded_at_once_or_record_by_record_the_page_is_the_same(changes: list[dict[str, Any]]) -> None:
    served = [{**TEXT, "type": "file", **change} for change in changes]
    at_once = PAGE(body(served))
    singly = PAGE(body([*served, None]))
    assert at_once.items == singly.items[:-1]
    assert at_once.repairs == singly.repairs
    for item in at_once.items:
        assert type(item.id) is str
        assert type(item.parent_id) is not int
