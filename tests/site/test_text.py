"""Texts: one form for the search, terms that never lose a match, nothing that acts on its surroundings."""

from datetime import datetime

from hypothesis import example, given, strategies as st

from chatrest.site.text import Query, TextPart, folded, has_middle, segments, shown, terms
from chatrest.site.zone import Zone
from tests.cases import loop_over

LETTERS = st.text(st.sampled_from("aAbB_1 é\u0301ßØæłİςσΣ국어,.-@好会今カ๐ก็नम\u200d👍🏽👩🇯🇵"), max_size=12)


@example("ß@\u0301", 1, 1)  # as long as its folded form, and its letters have moved
@example("1@\u0e47", 0, 2)  # a part of a letter with its marks
@given(text=LETTERS, start=st.integers(0, 12), length=st.integers(1, 6))
def test_the_terms_of_a_query_are_in_each_text_that_it_matches(text: str, start: int, length: int) -> None:
    """Pages that the index leaves out can never be a result."""
    query = Query.parse(text[start : start + length])
    if query.chunks and (grade := query.grade(text)) is not None:
        known = terms(folded(text))
        for term, is_inside in query.terms():
            assert any(
                each.startswith(term) or (grade == 2 and is_inside and term in each and has_middle(each))
                for each in known
            )
        marked = "".join(part for part, is_match in query.parts(text) if is_match)
        assert {*"".join(query.chunks)} - {" "} <= {*folded(marked)}


@given(LETTERS)
def test_a_text_matches_itself(text: str) -> None:
    assert Query.parse(text).grade(text) == 0


@loop_over(
    ("query", "text", "grade"),
    [
        ("hel", "well, hello", 0), ("ell", "hello", 2), ("el", "hello", None),
        ("WORLD hello", "Hello, world", 0),
        ('"hello world"', "hello  world", 0), ('"world hello"', "hello world", None),
        ("llo wo", "hello world", 2),
        ('"llo wor"', "hello world", 2),
        ("foo@bar.co", "mail foo@bar.com", 0),
        ("bar.com", "foo@bar.com", 0),
        ("strasse", "Straße", 0), ("会", "今天开会吗", 0),
        ("开会", "今天开会吗", 0), ("今会", "今天开会吗", None),
        ("é", "e\u0301a", 0), ("e", "éa", 1), ("manana", "mañana", 1), ("mañana", "manana", 1),
        ("anan", "mañana", 2), ("ครับ", "ขอบคุณมากนะครับ", 0), ("...", "wait ...", 0), ("", "anything", 0),
        ("テスト", "ﾃｽﾄです", 1), ("كتاب", "الكِتَابُ", 2), ("يوم", "يَوْمٌ", 1),
        ("parcel", "par\u200bcel", 1),
        ("İst", "istanbul", 1),
        ("zazolc", "Zażółć", 1), ("aero", "Ærø", 1), ("Ærø", "aero", 1), ("duc", "Đức", 1),
        ("국어", "한국어", 2), ("어", "한국어", None), ("kapitan", "Gesellschaftskapitän", 2),
    ],
)  # fmt: skip
def test_a_query_matches_as_it_is_written_with_other_accents_or_in_the_middle_of_words(
    query: str, text: str, grade: int | None
) -> None:
    assert Query.parse(query).grade(text) == grade


@loop_over(
    ("query", "text", "marked"),
    [
        ("manana e", "Mañana, ele", ["Mañana", "e"]), ("strasse", "die Straße", ["Straße"]),
        ("テスト", "xx ﾃｽﾄです", ["ﾃｽﾄ"]), ("bc abc", "abcbc", ["abc"]), ("x", "text", []), ("", "abc", []),
    ],
)  # fmt: skip
def test_all_that_is_searched_for_is_marked(query: str, text: str, marked: list[str]) -> None:
    parts = Query.parse(query).parts(text)
    assert [part for part, is_match in parts if is_match] == marked
    assert "".join(part for part, _ in parts) == text


def test_terms_are_words_and_pairs_of_letters_without_spaces() -> None:
    result = terms(folded("Hi 12:30, नमस्ते x_y 今天开 👍"))
    assert result == {"hi", "12", "30", "नमस्ते", "x_y", "今天", "天开", "开", "👍"}
    assert terms("x" * 40 + "y" * 50) == {"x" * 40 + "y" * 40, "y" * 50}


def test_controls_are_shown_as_numbers() -> None:
    assert shown("a\x00b\u202ec\ud800d\r\n\te") == "a⟨U+0000⟩b⟨U+202E⟩c\N{REPLACEMENT CHARACTER}d\n\te"
    assert shown("plain é") == "plain é"


def test_only_addresses_of_the_web_become_links() -> None:
    text = "see https://a.example/(x)?b=1. and javascript:alert(1), <@uid:ann> HTTP://B.example/ https://"
    parts = segments(text, lambda uid: TextPart(f"@{uid}", "u", is_mention=True))
    assert "".join(part.text for part in parts) == text.replace("<@uid:ann>", "@ann")
    links = [part.href for part in parts if part.href]
    assert links == ["https://a.example/(x)?b=1", "u", "HTTP://B.example/"]


def test_a_zone_may_change_at_any_minute() -> None:
    """That of St. John's did it at 00:01 until 2011."""
    zone = Zone("America/St_Johns")
    moments = ["2010-03-14T03:30:59", "2010-03-14T03:31:00", "2010-11-07T02:30:59", "2010-11-07T02:31:00"]
    times = [round(datetime.fromisoformat(f"{each}+00:00").timestamp() * 1000) for each in moments]
    assert list(map(zone.iso, times)) == [
        "2010-03-14T00:00:59-03:30", "2010-03-14T01:01:00-02:30",
        "2010-11-07T00:00:59-02:30", "2010-11-06T23:01:00-03:30",
    ]  # fmt: skip
    assert [zone.local(time) - time for time in times[:2]] == [-12_600_000, -9_000_000]
