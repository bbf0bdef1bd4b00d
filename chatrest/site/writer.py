"""Write a static site, or bring it up to date: only what has changed is made and written.

```
export → index (kept) → pages, their terms → shards → people, lists → index.html, the last of all
```

`SITE.chatrest`, a folder beside the site, has the index, and in `site.sqlite` what was written, with a hash
of all that each page of a conversation was made of: one whose hash is the same is not made again, whether the
last run came to its end or was killed. It is beside the site, and not in it, because it names all that the
export has, and a site is handed on. Before the first change of a run `index.html` says that the site is not
complete, so a kill leaves none that looks complete. Each file is replaced by renaming a new one.
"""

import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import accumulate
from os import PathLike
from pathlib import Path
from sqlite3 import DatabaseError
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias, Unpack
from zipfile import ZIP_DEFLATED, ZipFile, is_zipfile

import msgspec
from msgspec import Struct

from .._cloud.address import is_address
from ..errors import RequestInvalidError
from ..export import attachment_files, read_raw, runs
from .choice import Choice, SiteOptions, check_has_messages, choice_of
from .facts import export_facts, title_of
from .index import ConversationEntry, Index, disk_errors
from .index_build import code_hash, database_of, update_index
from .index_messages import PageCut
from .items import FLAGS, Dependencies, Item
from .pages import LISTED, STATIC, Pages, check_installed, has_days, parts_of, static
from .redaction import HiddenLog
from .search import WORDS_OF, TermIndex, meta_script, page_terms, script
from .site_files import VIEW, KnownPage, SiteFiles, names_of, new_file, new_path, state_folder

HIDDEN: Final = "hidden.csv"
"""In the state's folder."""
_IN_FOLDER: Final = 1000
_DEPENDENCIES: Final = msgspec.json.Decoder(Dependencies)
OnProgress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a phase, what is done of it, and what there is; None if that is not known yet."""


class SiteResult(Struct, frozen=True):
    """The counts of a site, and of this run."""

    messages: int
    conversations: int
    pages: int
    written: int
    """Files that were written, as they were new or had changed."""
    removed: int
    """Files that are no part of the site any more."""
    missing: int
    """Attachments that the export should have, and that are not there."""
    hidden: dict[str, int]
    """What was hidden in messages, by kind; `hidden.csv` in `SITE.chatrest` has it by message."""


def write_site(
    out: str | PathLike[str],
    site: str | PathLike[str],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: OnProgress = lambda *_: None,
    **options: Unpack[SiteOptions],
) -> SiteResult:
    """Write the messages of the export in `out` as a site of static pages into the folder `site`.

    `options` are those of `SiteOptions`. The site states when it was last changed, by `now`. Memory is flat.
    Two things are made that later runs need, and that are not to be handed on: the database `OUT.sqlite`
    beside the export has its records, and the folder `SITE.chatrest` beside the site has the names of all
    files and conversations. It reads and writes a disk, and blocks.
    Raises `RequestInvalidError` for a wrong argument, a folder with something else in it, a site of another
    export, one that another process is writing, and a choice without messages; `ChatRestError` for a damaged
    export and a full disk; OSError.
    """
    folder = Path(site)
    if folder.resolve().parent.name.endswith(VIEW):
        raise RequestInvalidError(f"{folder} has the pages of `chatrest view`: expected another folder")
    return update_site(out, folder, progress, options, now())


def update_site(
    out: str | PathLike[str], folder: Path, progress: OnProgress, options: SiteOptions, now: datetime,
    *, links: bool = False,
) -> SiteResult:  # fmt: skip
    """Write a site; with `links` it has hard links to attachments in the place of copies, where it can."""
    check_installed()
    _check_folder(out, folder)
    choice = choice_of(options)
    read_raw(out)  # raises where there is no export: nothing is made then
    new_folders = [each for each in (folder, state_folder(folder)) if not each.exists()]
    with disk_errors(state_folder(folder)), ExitStack() as stack:
        for each in (folder, state_folder(folder)):
            each.mkdir(parents=True, exist_ok=True)
        state = stack.enter_context(SiteFiles(folder, links=links))
        state.check_is_of(out, _first_runs(out))
        database = database_of(out, state_folder(folder))
        index = stack.enter_context(_open_index(state_folder(folder) / "index.sqlite", choice))
        update_index(index, out, database, lambda count: progress("reading", count, None))
        try:
            check_has_messages(out, choice, index.count("posts"))
        except RequestInvalidError:
            stack.close()
            for each in new_folders:
                shutil.rmtree(each)
            raise
        files = stack.enter_context(attachment_files(out))
        pages = Pages(index, title_of(out, options.get("title"), choice))
        return _Writer(out, state, pages, files, progress, now).write()


def _first_runs(out: str | PathLike[str]) -> list[str]:
    """Return what identifies an export, of several each of them; nothing before a run has ended."""
    first = dict[str, str]()
    with suppress(OSError):  # there is no log of runs
        for each in runs(out):
            first.setdefault(each.part, f"{each.part} {each.started} {each.finished}")
    return list(first.values())


def _open_index(path: Path, choice: Choice) -> Index:
    try:
        return Index(path, choice)
    except DatabaseError:
        path.unlink()
        return Index(path, choice)


def write_zip(site: str | PathLike[str], file: str | PathLike[str]) -> int:
    """Write the files of a site into one ZIP, to hand on, and return its bytes.

    What else is in the folder is not of the site, and stays out. Raises `RequestInvalidError` for a folder
    without a site, and as `check_zip`.
    """
    check_zip(site, file)
    folder, path = Path(site), Path(file)
    names = names_of(folder)
    with new_path(path) as new, ZipFile(new, "w", ZIP_DEFLATED) as packed:
        for name in names:
            packed.write(folder / name, Path(folder.resolve().name) / name)
    return path.stat().st_size


def check_zip(site: str | PathLike[str], file: str | PathLike[str]) -> None:
    """Raise `RequestInvalidError` for a ZIP in the site that it is of, or that cannot be or replace a ZIP."""
    path = Path(file).resolve()
    if path.is_relative_to(Path(site).resolve()):
        raise RequestInvalidError(f"{file} is in the site: expected a file outside of it")
    if not path.parent.is_dir():
        raise RequestInvalidError(f"{file}: expected a file in a folder that exists")
    if path.exists() and not is_zipfile(path):
        raise RequestInvalidError(f"{file} exists and is not a ZIP: expected a new file, or a ZIP to replace")


def _check_folder(out: str | PathLike[str], folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RequestInvalidError(f"'{folder}' is a file: expected a folder for the pages")
    if not (isinstance(out, str) and is_address(out)):
        export, site = Path(out).resolve(), folder.resolve()
        if export.is_relative_to(site) or site.is_relative_to(export):
            raise RequestInvalidError(
                f"'{folder}' is in the folder of the export, or around it: expected another folder"
            )
    is_empty = not folder.exists() or not any(folder.iterdir())
    if not is_empty and not state_folder(folder).is_dir():
        raise RequestInvalidError(
            f"'{folder}' has files that are not of a site: expected a new or empty folder, or a site with "
            f"its folder '{state_folder(folder)}'"
        )


class _Writer:
    def __init__(
        self, out: str | PathLike[str], state: SiteFiles, pages: Pages, files: Any, progress: OnProgress,
        now: datetime,
    ) -> None:  # fmt: skip
        self._out, self._now = out, now
        self._state = state
        self._pages = pages
        self._index = pages.index
        self._files = files
        self._progress = progress
        self._times: list[tuple[int, int, int]] = []
        self._missing = 0

    def write(self) -> SiteResult:
        state, index = self._state, self._index
        state.begin(self._pages.unfinished())
        for name in STATIC:
            state.write(name, static(name))
        messages = index.count("posts")
        counts = (count for each in index.stored_conversations() for count in self._write_conversation(each))
        for done in accumulate(counts):
            self._progress("writing", done, messages)
        self._write_people()
        self._write_search()
        hidden = self._log_hidden()
        conversations = index.count("conversations")
        self._write_lists(conversations)
        state.finish()
        return SiteResult(
            messages, conversations, index.count("pages"), state.written, state.removed, self._missing,
            hidden,
        )  # fmt: skip

    def _write_conversation(self, conversation: ConversationEntry) -> Iterator[int]:
        """Write the pages of a conversation that have changed, and yield the numbers of messages of all.

        What is made of several pages comes first: a kill meanwhile leaves it to be made again.
        """
        cuts, changed = self._index.pages(conversation.number), list[PageCut]()
        for cut in cuts:
            if self._keep_page(conversation, cut, len(cuts)):
                yield cut.messages
            else:
                changed.append(cut)
        self._write_overviews(conversation, len(cuts), has_changed=bool(changed))
        for cut in changed:
            self._write_page(conversation, cut, len(cuts))
            yield cut.messages

    def _write_overviews(self, conversation: ConversationEntry, count: int, *, has_changed: bool) -> None:
        """Write the days and threads of a conversation, if a page has changed or a file is not there."""
        state, pages, folder = self._state, self._pages, f"c/{conversation.name}"
        is_listed = has_days(conversation, count)
        names = ["days.html", "days.js"] if is_listed else []
        names += [f"threads-{page}.html" for page, *_ in self._index.threads(conversation.number)]
        are_there = [state.keep(f"{folder}/{name}") for name in dict.fromkeys(names)]
        if all(are_there) and not has_changed:
            return
        if is_listed:
            state.write(f"{folder}/days.html", pages.days(conversation, count))
            state.write(f"{folder}/days.js", pages.days_script(conversation, count))
        for page, html in pages.threads(conversation):
            state.write(f"{folder}/threads-{page}.html", html)

    def _log_hidden(self) -> dict[str, int]:
        path = state_folder(self._state.folder) / HIDDEN
        if not self._index.choice.hides:
            path.unlink(missing_ok=True)
            return {}
        with new_file(path) as file:
            log = HiddenLog(file)
            for row in self._state.hidden():
                log.add(*row)
        return dict(log.totals)

    def _keep_page(self, conversation: ConversationEntry, cut: PageCut, count: int) -> bool:
        """Keep a page if its files are there and are made of what they would be made of now."""
        page = self._state.page(_page_path(conversation, cut))
        self._times.append((page.number, cut.time, cut.last))
        if not page.hash:
            return False
        digest = self._hash(conversation, cut, count, _DEPENDENCIES.decode(page.dependencies))
        return page.hash == digest and all(map(self._state.keep, page.files))

    def _write_page(self, conversation: ConversationEntry, cut: PageCut, count: int) -> None:
        page, hidden = self._state.page(_page_path(conversation, cut)), self._index.messages.hidden
        hidden.clear()
        items = self._pages.items(conversation, cut)
        dependencies = self._pages.maker.dependencies
        files = dict(self._page_files(conversation, cut, count, page, items))
        for name, data in files.items():
            self._state.write(name, data)
        copied = list(self._copy_files(items))
        digest = self._hash(conversation, cut, count, dependencies)
        if digest != page.hash:
            page.files, page.hash = [*files, *copied], digest
            page.dependencies = msgspec.json.encode(dependencies)
            page.hidden = [(item.id, dict(hidden[item.rank])) for item in items if item.rank in hidden]
            self._state.note_page(page)

    def _hash(
        self, conversation: ConversationEntry, cut: PageCut, count: int, dependencies: Dependencies
    ) -> bytes:
        choice = self._index.choice
        hiding = (choice.redact, choice.pseudonyms, choice.patterns)
        site, named = (code_hash(), self._pages.site, hiding), conversation[1:5]
        facts = self._pages.maker.facts_behind(conversation, cut, dependencies)
        heading = self._pages.headings.heading(conversation)
        until = self._pages.headings.end_words(conversation) if cut.page == count else None
        of = msgspec.json.encode((site, named, cut, until, has_days(conversation, count), facts, heading))
        return blake2b(of, digest_size=16).digest()

    def _page_files(
        self, conversation: ConversationEntry, cut: PageCut, count: int, page: KnownPage, items: list[Item]
    ) -> Iterator[tuple[str, bytes | str]]:
        """Yield the files of a page with their names, and set its terms."""
        pages, folder = self._pages, page.path.rpartition("/")[0]
        # Before a call's messages become one line.
        data, terms = _search_texts(conversation, page.path, items)
        yield page.path, pages.page(conversation, cut, items, count)
        yield f"{folder}/{cut.page}-source.html", pages.source(conversation, cut, items)
        page.terms = zlib.compress("\n".join(terms).encode(), 1)
        yield f"search/p/{page.number // _IN_FOLDER}/{page.number}.js", data
        for item in items:
            if item.is_long:
                yield f"{folder}/{item.anchor}.html", pages.whole(conversation, cut.page, item)

    def _copy_files(self, items: list[Item]) -> Iterator[str]:
        """Copy the attachments of a page, and yield the names of all that it should have."""
        for file in (file for item in items for file in item.files if file.stored):
            yield file.href
            if not self._state.keep(file.href):
                with self._files(file.stored) as path:
                    self._missing += not self._state.copy(file.href, path)

    def _write_people(self) -> None:
        for person in self._index.people.people():
            self._state.write(f"u/{person.file}.html", self._pages.person(person))
        parts = parts_of(self._index.count("people WHERE messages > 0"))
        for part in range(1, parts + 1):
            self._state.write(_list_name("people", part), self._pages.people_page(part, parts))

    def _write_lists(self, conversations: int) -> None:
        """Write the lists of conversations: `index.html` comes last, as the site is complete then."""
        parts, first_rows = parts_of(conversations), self._pages.rows(1)
        listed = [row.data() for row in first_rows]
        for part in range(2, parts + 1):
            rows = self._pages.rows(part)
            listed += [row.data() for row in rows][: LISTED - len(listed)]
            self._state.write(_list_name("index", part), self._pages.index_page(rows, part, parts))
        self._state.write("conversations.js", script([listed, conversations]))
        about = export_facts(self._out, self._index)

        def last_files(made: str) -> dict[str, str | bytes]:
            facts = [*about, ("Pages made", made)]
            index_page = self._pages.index_page(first_rows, 1, parts, facts)
            return {"about.js": script(facts), "index.html": index_page}

        made = self._pages.maker.zone.time_text(round(self._now.timestamp() * 1000))
        self._state.write_last(last_files, made)

    def _write_search(self) -> None:
        self._state.remove_gone_pages()
        if self._state.keep_search():
            return
        firsts, words = list[tuple[str, str]](), list[str]()
        with TemporaryDirectory(dir=state_folder(self._state.folder), prefix="work-") as scratch:
            index = TermIndex(Path(scratch))
            for number, packed in self._state.page_terms():
                index.add(number, zlib.decompress(packed).decode().splitlines())
            for shard in index.shards():
                self._state.write(f"search/w/{shard.name}.js", shard.script)
                firsts.append((shard.first, shard.name))
                self._progress("search", len(firsts), None)
                words.append(shard.words)
                if len(words) == WORDS_OF:
                    self._state.write(f"search/w/v{(len(firsts) - 1) // WORDS_OF}.js", script(words))
                    words.clear()
        if words:
            self._state.write(f"search/w/v{len(firsts) // WORDS_OF}.js", script(words))
        self._state.write("search/meta.js", meta_script(firsts, self._times))


def _search_texts(conversation: ConversationEntry, path: str, items: list[Item]) -> tuple[bytes, set[str]]:
    people: dict[int, int] = {}
    named, messages, all_flags = list[tuple[str, str]](), list[tuple[Any, ...]](), set[str]()
    for item in items:
        person = item.sender
        if person.number not in people:
            people[person.number] = len(people)
            named.append((person.uid, person.name))
        text, flags = item.search_text, item.flags
        all_flags.update(flags)
        row = (str(item.rank), people[person.number], item.time, text)
        messages.append((*row, sum(1 << FLAGS.index(flag) for flag in flags)) if flags else row)
    data = {"title": conversation.title, "path": path, "people": named, "messages": messages}
    return script(data), page_terms(
        conversation.title, named, [message[3] for message in messages], all_flags
    )


def _page_path(conversation: ConversationEntry, cut: PageCut) -> str:
    return f"c/{conversation.name}/{cut.page}.html"


def _list_name(name: str, part: int) -> str:
    return f"{name}.html" if part == 1 else f"{name}-{part}.html"
