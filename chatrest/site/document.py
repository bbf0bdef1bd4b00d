"""One document of a selection, to print and to hand over: numbered, with nothing that a reader cannot read.

Threads are under the message that they began with; what was edited has its earlier versions, what was
deleted by whom and when. Pictures are inside, other attachments are named with size and SHA-256. It is
written as it is made, so memory does not grow with it.
"""

import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any, Final, NamedTuple, Unpack

from msgspec import Struct

from .._cloud.address import check_outside
from .._cloud.transfer import file_sha256
from .._texts import plural
from ..errors import RequestInvalidError
from ..export import attachment_files, read_raw
from ..export.folder.manifest import NAME as MANIFEST
from ..export.read.exports import bag_of, open_exports
from ..export.seal.bag import TAG_MANIFEST
from ..export.seal.sealing import version
from .choice import Choice, SiteOptions, check_has_messages, choice_of
from .contents import FileLink, members_of, object_of, record_of, visible
from .facts import export_facts, title_of
from .index import ConversationEntry, Index, disk_errors
from .index_build import database_of, update_index
from .items import Item, one_line_a_call
from .pages import Pages, check_installed
from .redaction import HiddenLog
from .site_files import new_file
from .zone import Zone

_UTC: Final = Zone("UTC")
_HASH: Final = re.compile("[0-9a-f]{64}")
_FOOT: Final = 90
"""Letters of the title below each page."""


class DocumentResult(Struct, frozen=True):
    """The counts of a document."""

    messages: int
    conversations: int
    missing: int
    """Attachments that the export should have, and that are not there."""
    hidden: dict[str, int]
    """What was hidden in messages, by kind; `FILE.hidden.csv` has it by message."""


class _Entry(NamedTuple):
    number: int
    depth: int
    """1 of a reply under the message that it answers."""
    item: Item
    utc: str
    """Its time in UTC, where the document has another zone."""
    files: list[tuple[FileLink, str]]
    """Each with the address that holds a picture; empty for any other file."""
    lines: list[str]
    versions: tuple[tuple[str, str], ...]
    """Each earlier text with its time."""
    answers: str
    """The id of a message that is not above it."""
    call_updates: list[tuple[int, Item]]
    """The later messages of its call, with their numbers."""


def write_document(
    out: str | PathLike[str],
    file: str | PathLike[str],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
    **options: Unpack[SiteOptions],
) -> DocumentResult:
    """Write the messages of the export in `out` as one document of HTML into `file`, made for A4.

    `options` are those of `SiteOptions`. A file that is there is replaced when the new one is complete.
    Raises as `write_site`.
    """
    check_installed()
    path = Path(file)
    if path.is_dir():
        raise RequestInvalidError(f"{path} is a folder: expected the path of a file")
    check_outside(out, path, "file")
    choice = choice_of(options)
    read_raw(out)  # raises where there is no export: nothing is made then
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="chatrest-")))
        stack.enter_context(disk_errors(folder))
        index = stack.enter_context(Index(folder / "index.sqlite", choice))
        database = database_of(out, folder)
        update_index(index, out, database, lambda done: progress("reading", done, None))
        check_has_messages(out, choice, index.count("posts"))
        files = stack.enter_context(attachment_files(out))
        log = None
        if choice.hides:
            log = HiddenLog(stack.enter_context(new_file(path.with_name(f"{path.name}.hidden.csv"))))
        document = _Document(index, title_of(out, options.get("title"), choice), files, progress, log)
        text = document.text(_facts(out, index, choice, now()))
        stack.enter_context(new_file(path)).writelines(text)
        hidden = dict(log.totals) if log is not None else {}
        return DocumentResult(index.count("posts"), index.count("conversations"), document.missing, hidden)


def _facts(out: Any, index: Index, choice: Choice, now: datetime) -> list[tuple[str, str]]:
    """Return what the first page says of the document, in order."""
    zone = Zone(choice.timezone)
    conversations = plural(index.count("conversations"), "conversation")
    facts = [
        *export_facts(out, index),
        ("Messages", f"{index.count('posts'):,} in {conversations}"),
        ("Window", _window(index, zone)),
        ("Zone", zone.name),
        ("Made", f"{zone.time_text(round(now.timestamp() * 1000))}, by chatrest {version()}"),
        *_hashes(out),
    ]
    return [(name, visible(value)) for name, value in facts if value]


def _window(index: Index, zone: Zone) -> str:
    """Return the bounds of the messages that were chosen by time; empty where none was given."""
    words = zone.window_text(index.choice.since, index.choice.until)
    undated = index.count("posts WHERE time = 0") if words else 0
    return f"{words}, and {plural(undated, 'message')} without a time" if undated else words


def _hashes(out: Any) -> Iterator[tuple[str, str]]:
    """Yield the hashes that name the export of a document: of its manifest, and of a bag the root hash.

    Of several exports it is the hash of what `sha256sum` prints of their manifests, in the order of names.
    """
    hashes = dict[str, str]()
    for view in open_exports(out):
        with view:
            if not view.is_remote and (path := view.folder / MANIFEST).is_file():
                hashes[f"{view.export}/{MANIFEST}"] = sha256(path.read_bytes()).hexdigest()
    if len(hashes) > 1:
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
        yield f"SHA-256 of the {len(hashes)} manifests", sha256(lines.encode()).hexdigest()
    yield from (("SHA-256 of the manifest", digest) for digest in hashes.values() if len(hashes) == 1)
    if (bag := bag_of(out)) is not None:
        yield "Root hash of the bag", file_sha256(bag / TAG_MANIFEST)


class _Document:
    def __init__(
        self, index: Index, title: str, files: Any, progress: Callable[..., None], log: HiddenLog | None
    ) -> None:
        self._index, self._files, self._progress, self._log = index, files, progress, log
        self._pages = Pages(index, title)
        self._maker = self._pages.maker
        self._numbers = count(1)
        self.missing = 0

    def text(self, facts: list[tuple[str, str]]) -> Iterator[str]:
        hashes = [": ".join(fact) for fact in facts if _HASH.fullmatch(fact[1])]
        return self._pages.generate(
            "document", facts=[(*fact, _HASH.fullmatch(fact[1])) for fact in facts],
            foot=_css_text("\n".join([shorten(self._pages.site.title, _FOOT), *hashes[-1:]])),
            contents=list(self._index.conversations()), conversations=self._conversations(),
        )  # fmt: skip

    def _conversations(self) -> Iterator[dict[str, Any]]:
        for each in self._index.conversations():
            yield {
                **each._asdict(),
                "people": self._index.people.people_of(each.number),
                "silent": self._index.silent_members(each), "entries": self._entries(each),
            }  # fmt: skip

    def _entries(self, conversation: ConversationEntry) -> Iterator[_Entry]:
        for cut in self._index.pages(conversation.number):
            items = self._maker.items_of(
                self._index.messages.of_page(conversation.number, cut), conversation.number
            )
            for item in one_line_a_call([each for each in items if not self._is_below(conversation, each)]):
                yield from self._with_replies(conversation, item)
            self._progress("writing", cut.page, None)
            self._index.messages.hidden.clear()

    def _is_below(self, conversation: ConversationEntry, item: Item) -> bool:
        """Return True for a reply that is shown under an earlier message of its conversation."""
        is_thread = self._index.is_thread
        return item.parent is not None and is_thread(conversation.number, item.parent, (item.time, item.rank))

    def _with_replies(self, conversation: ConversationEntry, item: Item) -> Iterator[_Entry]:
        """Yield a message, its replies, theirs after each of them, and so on, to any depth."""
        yield self._entry(item, 0)
        pending = [self._replies(conversation, item)]
        while pending:
            if (reply := next(pending[-1], None)) is None:
                pending.pop()
                continue
            yield self._entry(reply, 1)
            if reply.replies:
                pending.append(self._replies(conversation, reply))

    def _replies(self, conversation: ConversationEntry, item: Item) -> Iterator[Item]:
        replies = self._index.messages.replies(conversation.number, item.rank, 0, -1) if item.replies else []
        items = one_line_a_call(self._maker.items_of(replies, conversation.number))
        return (each for each in items if self._is_below(conversation, each))

    def _entry(self, item: Item, depth: int) -> _Entry:
        zone = self._maker.zone
        number = next(self._numbers)
        if self._log is not None and (hidden := self._index.messages.hidden.get(item.rank)):
            self._log.add(str(number), item.id, hidden)
        return _Entry(
            number, depth, item,
            "" if zone.name == "UTC" else _UTC.time_text(item.time),
            [(each, self._picture(each)) for each in item.files],
            _member_lines(item) if item.members else [],
            item.versions,
            "" if depth or item.parent is None else visible(str(record_of(item.raw).get("parentId"))),
            [(next(self._numbers), each) for each in item.call_updates],
        )  # fmt: skip

    def _picture(self, file: FileLink) -> str:
        """Return a picture as an address that holds it; empty for any other file, and for a missing one."""
        if not file.stored:
            return ""
        with self._files(file.stored) as path:
            if not path.is_file():
                self.missing += 1
            elif file.kind == "image":
                content = b64encode(path.read_bytes()).decode()
                return f"data:{mimetypes.guess_type(file.href)[0]};base64,{content}"
        return ""


def _css_text(text: str) -> str:
    """Return a text for a style sheet, in which no letter can act."""
    return "".join(each if each.isalnum() and each.isascii() else f"\\{ord(each):x} " for each in text)


def _member_lines(item: Item) -> list[str]:
    record = record_of(item.raw)
    members = members_of(object_of(record.get("data")), record, len(item.raw))
    return [f"{name}: {text}" if name else text for name, text in members]
