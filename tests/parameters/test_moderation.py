"""The filters and bodies of moderation."""

import pytest

from chatrest._parameters.moderation import (
    NewKeywordList,
)
from chatrest.errors import RequestInvalidError


def test_the_terms_of_a_keyword_list_travel_as_one_text() -> None:
    assert NewKeywordList(category="word", search_terms=["darn", "heck"]).search_terms == "darn,heck"
    assert NewKeywordList(category="pattern", search_terms="a,b").search_terms == "a,b"
    with pytest.raises(RequestInvalidError, match=r"^search_terms = 'a,b': expected terms without a comma"):
        NewKeywordList(category="word", search_terms=["x", "a,b"])
