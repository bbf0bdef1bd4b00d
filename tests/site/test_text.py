"""Texts: one form for the search, and nothing that acts on its surroundings."""

from chatrest.site.text import TextPart, folded, segments, terms, visible


def test_terms_are_words_and_pairs_of_letters_without_spaces() -> None:
    result = terms(folded("Hi 12:30, नमस्ते x_y 今天开 👍"))
    assert result == {"hi", "12", "30", "नमस्ते", "x_y", "今天", "天开", "开", "👍"}
    assert {"a", "b", "c"} < terms("a 今 b 天 c")
    assert terms("x" * 40 + "y" * 50) == {"x" * 40 + "y" * 40, "y" * 50}


def test_controls_are_shown_as_numbers() -> None:
    assert visible("a\x00b\u202ec\ud800d\r\n\te") == "a⟨U+0000⟩b⟨U+202E⟩c\N{REPLACEMENT CHARACTER}d\n\te"
    assert visible("plain é") == "plain é"


def test_only_addresses_of_the_web_become_links() -> None:
    text = "see https://a.example/(x)?b=1. and javascript:alert(1), <@uid:ann> HTTP://B.example/ https://"
    parts = segments(text, lambda uid: TextPart(f"@{uid}", "u", is_mention=True))
    assert "".join(part.text for part in parts) == text.replace("<@uid:ann>", "@ann")
    links = [part.href for part in parts if part.href]
    assert links == ["https://a.example/(x)?b=1", "u", "HTTP://B.example/"]
