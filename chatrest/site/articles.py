"""The HTML of messages. It is put together here without a template, which takes twice as long.

A page has hundreds of messages. Every value of a record is escaped. The page of a conversation shows each
message once, with its `data-id`; a page of threads shows it again (`is_repeat`), without that attribute.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from .contents import FileLink, TextPart, visible_json
from .index import PersonEntry
from .index_messages import PageLink
from .items import Item, Note, Quote
from .zone import time_text

Escape: TypeAlias = Callable[[str], str]
_GROUPED_FOR: Final = 600_000
"""Milliseconds in which the messages of one sender are shown below one name and time."""
_SITE_ROOT: Final = "../../"
"""From the page of a conversation to the folder of index.html."""
_OUTBOUND: Final = 'rel="noopener noreferrer nofollow"'
"""Of a link that leaves the site."""


class EscapedText(str):
    __slots__ = ()

    def __html__(self) -> str:
        return self


class Articles:
    def __init__(self, escape: Escape) -> None:
        self._escape = escape
        self._sender = lru_cache(10_000)(self._sender_html)

    def html_of(self, items: Iterable[Item], *, is_repeat: bool = False) -> EscapedText:
        """Return the articles of messages; those of one sender within ten minutes are below one name.

        Times have the day only in a repeat, as elsewhere it is in a heading.
        """
        return EscapedText("".join(self._articles(items, is_repeat=is_repeat)))

    def face(self, initials: str, colour: str) -> EscapedText:
        return EscapedText(f'<span class="face {colour}" aria-hidden="true">{self._escape(initials)}</span>')

    def records(self, items: Iterable[Item], address: str) -> EscapedText:
        """Return the records of messages, each with a link to its message on the page at this address."""
        escape = self._escape
        sections = (
            f'<section class="record" id="{item.anchor}">'
            f'<a href="{address}#{item.anchor}">message {escape(item.id)}</a> '
            f"<small><bdi>{escape(name_of(item.sender))}</bdi>, {item.at or 'undated'}</small>"
            f"<pre>{_escaped_json(item.raw)}</pre></section>\n"
            for item in items
            if not item.is_long
        )
        return EscapedText("".join(sections))

    def _articles(self, items: Iterable[Item], *, is_repeat: bool) -> Iterator[str]:
        escape, sender_of, text_of, content_of = self._escape, self._sender, self._text, self._content
        clock = slice(16) if is_repeat else slice(11, 16)
        group_sender, group_end, offset = 0, 0, ""
        for item in items:
            sender, iso = item.sender, item.iso
            style = "message" if item.kind == "message" else f"message {item.kind}"
            if is_more := sender.number == group_sender and item.time < group_end and iso[19:] == offset:
                style += " more"
            else:
                group_sender, group_end, offset = sender.number, item.time + _GROUPED_FOR, iso[19:]
            data_id = "" if is_repeat else f' data-id="{escape(item.id)}"'
            at = time_text(iso)
            when = f'<time datetime="{iso}" title="{at}">{at[clock]}</time>' if iso else "undated"
            content = text_of(item) if item.is_plain and not item.is_flagged else content_of(item, is_repeat)
            yield (
                f'<article class="{style}" id="{item.anchor}"{data_id}>\n'
                f'<header>{sender_of(sender, item.colour, not is_more)}<a class="when" href="{item.href}">'
                f'{when}</a> <a class="source" href="{item.source_href}">source</a></header>\n'
                f"{content}\n</article>\n"
            )

    def _sender_html(self, person: PersonEntry, colour: str, is_first: bool) -> str:
        """Return the face and name of a sender; in a group of messages only the first shows them.

        The others have the name for screen readers.
        """
        name = f"<bdi>{self._escape(name_of(person))}</bdi>"
        if not is_first:
            return f'<span class="who">{name}</span>'
        face = self.face(person.initials, colour)
        return (
            f'{face}<a class="who {colour}" href="{_SITE_ROOT}u/{self._escape(person.file)}.html">{name}</a>'
        )

    def _text(self, item: Item) -> str:
        text = "".join(map(self._part, item.segments)) if item.segments else self._escape(item.text)
        return f'<p class="text" dir="auto">{text}</p>'

    def _part(self, part: TextPart) -> str:
        text, href = self._escape(part.text), self._escape(part.href)
        if part.is_mention:
            return f'<a class="mention" href="{_SITE_ROOT}u/{href}.html"><bdi>{text}</bdi></a>'
        return f'<a href="{href}" {_OUTBOUND}>{text}</a>' if href else text

    def _content(self, item: Item, is_repeat: bool) -> str:
        """Return all that a message has, from what it answers to what became of it."""
        parts = [self._call_update(other, is_repeat) for other in item.call_updates]
        if item.quote:
            parts.append(self._quotation(item.quote, ""))
        elif item.parent_quote and not is_repeat:
            parts.append(self._quotation(item.parent_quote, item.thread))
        parts += self._words(item)
        parts += self._attachments(item)
        if footer := self._footer(item, is_repeat):
            parts.append(f"<footer>\n{footer}</footer>")
        return "\n".join(parts)

    def _words(self, item: Item) -> Iterator[str]:
        if item.deleted:
            yield self._deletion(item.deleted)
        elif item.target:
            link = f'<a href="{_link_to(item.target)}">{self._escape(item.text)}</a>'
            yield f'<p class="text" dir="auto">{link}</p>'
        elif item.text:
            yield self._text(item)
        elif not (item.files or item.members or item.call_updates):
            yield f'<p class="deleted">No text ({self._escape(item.label or "message")})</p>'
        if item.is_long and item.text:
            link = f'<a href="{item.source_href}">The whole message, {item.letters:,} letters</a>'
            yield f'<p class="note">{link}</p>'

    def _attachments(self, item: Item) -> Iterator[str]:
        if item.files:
            yield self._files(item)
        if item.members:
            yield self._members(item)
        if item.reactions:
            yield self._reactions(item)

    def _call_update(self, other: Item, is_repeat: bool) -> str:
        data_id = "" if is_repeat else f' data-id="{self._escape(other.id)}"'
        source = f'<a class="source" href="{other.source_href}">source</a>'
        return f'<span id="{other.anchor}"{data_id}>{source}</span>'

    def _quotation(self, quote: Quote, thread: str) -> str:
        name = f"<b><bdi>{self._escape(quote.name)}</bdi></b>"
        who = f'<a href="{_link_to(quote.link)}">{name}</a>' if quote.link else name
        text = "<em>deleted</em>" if quote.is_deleted else self._escape(quote.text)
        where = f' <a class="in" href="{thread}">in a thread</a>' if thread else ""
        return f'<blockquote class="quote">{who} <span dir="auto">{text}</span>{where}</blockquote>'

    def _deletion(self, note: Note) -> str:
        from_service = "" if note.iso else " from the service"
        by = f" by <bdi>{self._escape(note.by)}</bdi>" if note.by else from_service
        return f'<p class="deleted">Deleted{by}{_note_time(note)}</p>'

    def _files(self, item: Item) -> str:
        pictures = [self._picture(each) for each in item.files if each.is_picture]
        grid = f'<div class="grid">{"".join(pictures)}</div>\n' if pictures else ""
        return grid + "".join(self._card(each) for each in item.files if not each.is_picture)

    def _download_link(self, file: FileLink, html: str) -> str:
        href, name = self._escape(file.href), self._escape(file.name)
        return f'<a href="{_SITE_ROOT}{href}" download="{name}">{html}</a>'

    def _picture(self, file: FileLink) -> str:
        href, name = _SITE_ROOT + self._escape(file.href), self._escape(file.name)
        size = f" · {file.size}" if file.size else ""
        return (
            f'<figure><a href="{href}"><img src="{href}" alt="{name}" loading="lazy"></a><figcaption>'
            f"{self._download_link(file, f'<bdi>{name}</bdi>')}{size}{_digest(file)}</figcaption></figure>\n"
        )

    def _card(self, file: FileLink) -> str:
        name, player, kind = f"<bdi>{self._escape(file.name)}</bdi>", "", self._escape(file.extension)
        if file.stored and file.kind in ("video", "audio"):
            label = f'aria-label="{self._escape(file.name)}"'
            source = f'src="{_SITE_ROOT}{self._escape(file.href)}"'
            player = f'<{file.kind} {source} controls preload="none" {label}></{file.kind}>'
        if file.stored:
            name = self._download_link(file, name)
        elif file.href:
            name = f'<a href="{self._escape(file.href)}" {_OUTBOUND}>{name}</a>'
        size = f" · {file.size}" if file.size else ""
        end = _digest(file) if file.stored else " · not in the export"
        return (
            f'<div class="file">{player}\n<span class="kind" aria-hidden="true">{kind}</span>'
            f"<p>{name}\n<small>{file.kind}{size}{end}</small></p></div>\n"
        )

    def _members(self, item: Item) -> str:
        rows = "".join(
            f'<tr><th scope="row"><bdi>{self._escape(name)}</bdi></th>'
            f'<td dir="auto">{self._escape(value)}</td></tr>'
            if name
            else f'<tr><td colspan="2" dir="auto">{self._escape(value)}</td></tr>'
            for name, value in item.members
        )
        caption = f"<caption>{self._escape(item.label)}</caption>"
        return f'<table class="members">{caption}<tbody>{rows}</tbody></table>'

    def _reactions(self, item: Item) -> str:
        reactions = "".join(
            f"<li><bdi>{self._escape(reaction)}</bdi> {self._escape(count)}"
            + (f" <span><bdi>{self._escape(who)}</bdi></span></li>" if who else "</li>")
            for reaction, count, who in item.reactions
        )
        return f'<ul class="reactions" aria-label="Reactions">{reactions}</ul>'

    def _footer(self, item: Item, is_repeat: bool) -> str:
        """Return who edited a message, with its earlier texts, and the link to its thread."""
        footer = '<span class="flag">flagged</span>\n' if item.is_flagged else ""
        if item.edited:
            by = f" by <bdi>{self._escape(item.edited.by)}</bdi>" if item.edited.by else ""
            edited = f"edited{by}{_note_time(item.edited)}"
            versions = "".join(
                f'<li><span class="text" dir="auto">{self._escape(text)}</span> <small>{at}</small></li>'
                for text, at in item.versions
            )
            footer += (
                f'<details class="versions"><summary>{edited}</summary><ol>{versions}</ol></details>\n'
                if versions
                else f"<span>{edited}</span>\n"
            )
        if item.replies:
            words = f"{item.replies} {'reply' if item.replies == 1 else 'replies'}"
            footer += f'<a href="{item.thread}">{words}</a>\n'
        elif item.thread and not is_repeat and (item.quote or not item.parent_quote):
            footer += f'<a href="{item.thread}">in a thread</a>\n'
        return footer


def name_of(person: PersonEntry) -> str:
    """Return the name of somebody who may have none."""
    return person.name or person.uid or "unknown"


def _link_to(link: PageLink) -> str:
    return f"../{link.name}/{link.page}.html#m{link.rank}"


def _note_time(note: Note) -> str:
    return f', <time datetime="{note.iso}">{note.at}</time>' if note.iso else ""


def _digest(file: FileLink) -> str:
    return f' <code title="SHA-256 {file.digest}">{file.digest[:12]}</code>'


def _escaped_json(raw: bytes) -> str:
    """Return a record as `visible_json` gives it, escaped for an element; its quotes may stay."""
    return visible_json(raw).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
