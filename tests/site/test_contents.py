"""The contents of messages as values, and texts in which nothing acts on its surroundings."""

import pytest

from chatrest.site.contents import (
    TextPart,
    call_of,
    duration_text,
    file_link,
    segments,
    size_text,
    visible,
)  # fmt: skip


def test_an_attachment_without_an_address_or_a_name_is_a_file() -> None:
    names = [file_link(file, "", "file").name for file in ({}, {"url": None}, {"url": "https://x.example/"})]
    assert names == ["file"] * 3


def test_a_size_is_in_the_largest_unit_that_it_reaches() -> None:
    sizes = [size_text(size) for size in (999, 1_000, 1_500_000, 2_500_000_000)]
    assert sizes == ["999 bytes", "1 KB", "2 MB", "2.5 GB"]


@pytest.mark.parametrize(
    ("entity", "seconds", "text"),
    [
        ({"totalDuration": "01:02:03"}, 3_723, "1 h 2 min"),
        ({"joinedAt": 1_767_225_600_000, "endedAt": 1_767_225_665_999}, 65, "1 min 5 s"),
        ({"totalDuration": "later", "endedAt": "soon"}, 0, ""),
    ],
)
def test_a_call_has_its_duration_from_what_the_record_says(
    entity: dict[str, object], seconds: int, text: str
) -> None:
    call = call_of({"entities": {"on": {"entity": entity}}})
    assert (call.seconds, duration_text(call.seconds)) == (seconds, text)


def test_controls_are_shown_as_numbers() -> None:
    assert visible("a\x00b\u202ec\ud800d\r\n\te") == "a⟨U+0000⟩b⟨U+202E⟩c\N{REPLACEMENT CHARACTER}d\n\te"
    assert visible("plain é") == "plain é"


def test_only_addresses_of_the_web_become_links() -> None:
    text = "see https://a.example/(x)?b=1. and javascript:alert(1), <@uid:ann> HTTP://B.example/ https://"
    parts = segments(text, lambda uid: TextPart(f"@{uid}", "u", is_mention=True))
    assert "".join(part.text for part in parts) == text.replace("<@uid:ann>", "@ann")
    links = [part.href for part in parts if part.href]
    assert links == ["https://a.example/(x)?b=1", "u", "HTTP://B.example/"]
