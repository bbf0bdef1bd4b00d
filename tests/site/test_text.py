"""Texts: one form for the search, terms that never lose a match, nothing that acts on its surroundings."""

import pytest
from hypothesis import given, strategies as st

from chatrest.site.text import Query, TextPart, folded, segments, shown, terms

LETTERS = st.text(st.sampled_from("aAbB_1 é\u0301ßİςσΣ,.-@好会今カ๐ก็नम\u200d👍🏽👩🇯🇵"), max_size=12)


@given(text=LETTERS, start=st.integers(0, 12), length=st.integers(1, 6))
def test_the_terms_of_a_query_are_in_each_text_that_it_matches(text: str, start: int, length: int) -> None:
    """What the index leaves out can never have been a result."""
    query = Query.parse(text[start : start + length])
    if query.chunks and query.matches(text):
        known = terms(folded(text))
        assert all(any(each.startswith(term) for each in known) for term in query.terms())


@given(LETTERS)
def test_a_text_matches_itself(text: str) -> None:
    assert Query.parse(text).matches(text)


@pytest.mark.parametrize(
    ("query", "text", "is_match"),
    [
        ("hel", "well, hello", True), ("ell", "hello", False), ("WORLD hello", "Hello, world", True),
        ('"hello world"', "hello  world", True), ('"world hello"', "hello world", False),
        ("foo@bar.co", "mail foo@bar.com", True), ("bar.com", "foo@bar.com", True),
        ("strasse", "Straße", True), ("会", "今天开会吗", True), ("开会", "今天开会吗", True),
        ("今会", "今天开会吗", False), ("é", "e\u0301a", True),
        ("e", "éa", False), ("ครับ", "ขอบคุณมากนะครับ", True), ("...", "wait ...", True), ("", "anything", True),
    ],
)  # fmt: skip
def test_a_query_matches_where_words_begin(query: str, text: str, is_match: bool) -> None:
    assert Query.parse(query).matches(text) is is_match


def test_terms_are_words_and_pairs_of_letters_without_spaces() -> None:
    found = terms(folded("Hi 12:30, नमस्ते x_y 今天开 👍"))
    assert found == {"hi", "12", "30", "नमस्ते", "x_y", "今天", "天开", "开", "👍"}
    assert terms("x" * 50) == {"x" * 40}


def test_controls_are_shown_as_numbers() -> None:
    assert shown("a\x00b\u202ec\ud800d\r\n\te") == "a⟨U+0000⟩b⟨U+202E⟩c\N{REPLACEMENT CHARACTER}d\n\te"
    assert shown("plain é") == "plain é"


def test_only_addresses_of_the_web_become_links() -> None:
    text = "see https://a.example/(x)?b=1. and javascript:alert(1), <@uid:ann> HTTP://B.example/ https://"
    parts = segments(text, lambda uid: TextPart(f"@{uid}", "u", is_mention=True))
    assert "".join(part.text for part in parts) == text.replace("<@uid:ann>", "@ann")
    links = [part.href for part in parts if part.href]
    assert links == ["https://a.example/(x)?b=1", "u", "HTTP://B.example/"]
