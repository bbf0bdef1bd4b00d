"""The articles of messages: the frame and the text of each are put together here, all else by a template.

A page has hundreds of them, and most are a text and nothing else: for those a template takes four times as
long. Here as there all that others have written is escaped, and nothing but that: `Item` says what is whose.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias, final

from .index import PersonEntry
from .items import Item
from .text import EscapedBytes, EscapedText, TextPart, escaped_json
from .zone import words_of

Escape: TypeAlias = Callable[[str], str]
_TOGETHER: Final = 600_000
"""Milliseconds in which messages of one sender are shown together."""


@final
class Articles:
    """Makes articles by `escape`, the HTML of a sender's name, and that of what is not a text alone."""

    def __init__(
        self,
        escape: Escape,
        sender: Callable[[PersonEntry, str, bool], str],
        content: Callable[[Item, EscapedText, bool], str],
    ) -> None:
        self._escape = escape
        self._sender = sender
        self._content = content

    def of(self, items: Iterable[Item], *, is_place: bool = True) -> EscapedBytes:
        """Return the articles of messages; `is_place` where they have their place, and are not seen again.

        A message that follows one of the same sender is shown without the name. Its time has the day, where
        no heading has it.
        """
        articles = self._articles(items, is_place=is_place)
        return EscapedBytes.of(article.encode("utf-8", "replace") for article in articles)

    def _articles(self, items: Iterable[Item], *, is_place: bool) -> Iterator[str]:
        escape, sender_of = self._escape, self._sender
        last, until, clock = 0, 0, slice(11, 16) if is_place else slice(16)
        for item in items:
            sender, iso = item.sender, item.iso
            style = "message" if item.kind == "said" else f"message {item.kind}"
            if is_more := sender.number == last and item.time < until:
                style += " more"
            last, until = sender.number, item.time + _TOGETHER
            name = sender_of(sender, item.colour, not is_more)
            data_id = f' data-id="{escape(item.id)}"' if is_place else ""
            at = words_of(iso)
            when = f'<time datetime="{iso}" title="{at}">{at[clock]}</time>' if iso else "undated"
            text = self._text(item)
            content = f"{text}\n" if item.is_plain else self._content(item, text, is_place)
            yield (
                f'<article class="{style}" id="{item.anchor}"{data_id}>\n'
                f'<header>{name}<a class="when" href="{item.href}">{when}</a>'
                f' <a class="source" href="{item.source_href}">source</a></header>\n'
                f"{content}</article>\n"
            )

    def _text(self, item: Item) -> EscapedText:
        """Return the paragraph of a text, with its links."""
        text = "".join(map(self._part, item.segments)) if item.segments else self._escape(item.text)
        return EscapedText(f'<p class="text" dir="auto">{text}</p>')

    def _part(self, part: TextPart) -> str:
        text, href = self._escape(part.text), self._escape(part.href)
        if part.is_mention:
            return f'<a class="mention" href="../../u/{href}.html"><bdi>{text}</bdi></a>'
        return f'<a href="{href}" rel="noopener noreferrer nofollow">{text}</a>' if href else text


def records(items: Iterable[Item], address: str) -> EscapedBytes:
    """Return the records of messages, each with a link to it on the page at this address."""
    shown = [item for item in items if not item.is_long]
    texts = escaped_json([item.raw for item in shown])
    return EscapedBytes.of(
        b'<section class="record" id="%b"><a href="%b">message</a><pre>%b</pre></section>\n'
        % (item.anchor.encode(), f"{address}#{item.anchor}".encode(), text)
        for item, text in zip(shown, texts, strict=True)
    )
