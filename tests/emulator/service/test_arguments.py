import pytest

from chatrest.emulator.service.arguments import Arguments
from chatrest.emulator.service.refusals import Refusal


def test_a_list_comes_as_comma_list_repeated_key_or_brackets() -> None:
    for pairs in ([("tags", "a,b")], [("tags", "a"), ("tags", "b")], [("tags[]", "a"), ("tags[]", "b")]):
        assert Arguments(pairs).texts("tags") == ("a", "b")


def test_another_spelling_of_a_name() -> None:
    assert Arguments([("per_page", "7")]).number("perPage", 1, 1000) == 7


def test_all_errors_come_at_once() -> None:
    query = Arguments([("limit", "x"), ("unread", "maybe"), ("kinds", "a,z"), ("id", "5")])
    query.number("limit", 1, 1000)
    query.flag("unread")
    query.texts("kinds", ("a", "b"))
    query.number("id")
    with pytest.raises(Refusal) as caught:
        query.check()
    assert caught.value.status == 400
    for text in (b"from 1 to 1000", b"true, false, 1, 0", b"a, b", b"ERR_BAD_REQUEST"):
        assert text in caught.value.body
    assert b"The id" not in caught.value.body
