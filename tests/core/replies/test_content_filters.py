"""Filters by content that a service ignored: what a message shows, and what it does not."""

from typing import Any

from chatrest import MessageQuery
from tests.cases import loop_over
from tests.core.replies.test_expectation import asked, verdict

PICTURE = {
    "type": "image",
    "data": {"attachments": [{"url": "https://x.example/a.png", "mimeType": "image/png"}]},
}


def file(kind: str) -> dict[str, Any]:
    return {"type": kind, "data": {}}


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"data": {"text": text, **more}}


@loop_over(
    ("query", "fitting", "misfit"),
    [
        ({"search_key": "invoices"}, says("Your INVOICE of May"), says("hello")),
        ({"search_key": "müller"}, says("Herr Mueller, or Muller"), says("hello")),
        ({"search_key": "a b"}, says("b"), says("ccc")),
        ({"tags": ("red",)}, {"tags": ["red", "blue"]}, {"tags": ["blue"]}),
        ({"has_attachments": True}, PICTURE, says("hello")),
        ({"attachment_types": ["image"]}, PICTURE, says("hello")),
        ({"attachment_types": ["image", "audio"]}, file("audio"), file("video")),
        ({"has_mentions": True}, says("hi <@uid:bob>"), says("hello")),
        ({"mentioned_uids": ["BOB"]}, says("hi", mentions={"bob": {}}), says("hi", mentions={"eve": {}})),
        ({"has_links": True}, says("see chat.example"), says("hello")),
    ],
)  # fmt: skip
def test_a_message_that_shows_that_a_filter_was_ignored(
    query: dict[str, Any], fitting: dict[str, Any], misfit: dict[str, Any]
) -> None:
    expectation = asked(MessageQuery(**query))
    assert verdict(expectation, **fitting) is None
    assert verdict(expectation, **misfit) == next(iter(query))


@loop_over(
    "query",
    [
        {"search_key": "invoices"}, {"tags": ("red",)}, {"has_attachments": True},
        {"attachment_types": ["image"]}, {"has_mentions": True}, {"mentioned_uids": ["bob"]},
        {"has_links": True},
    ],
)  # fmt: skip
@loop_over(
    "absent", [{"category": "custom", "type": "x", "data": {"customData": {}}}, {"type": "file", "data": 7}]
)
def test_what_a_message_does_not_show_is_no_misfit(query: dict[str, Any], absent: dict[str, Any]) -> None:
    assert verdict(asked(MessageQuery(**query)), **absent) is None
