"""`guide`: print a page of the guide, or find the sections of it that have some words.

The pages are the Markdown files of `chatrest/guide`, in the order of its `README.md`, and the reference of
all operations.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from . import streams
from .call_parameters import nearest

FOLDER: Final = Path(__file__).parents[1] / "guide"
_REFERENCE: Final = Path(__file__).parents[1] / "resources" / "OPERATIONS.md"
_ENTRY: Final = re.compile(r"^- \[([\w-]+)\]\([^)]+\): (.+)$", re.MULTILINE)
_MOST_LINES: Final = 3
"""The lines of a section that a search shows."""


class Section(NamedTuple):
    """A part of a page: the lines from one heading to the next, that heading included."""

    page: str
    title: str
    lines: tuple[str, ...]


def contents() -> dict[str, str]:
    """Return the pages in their order, each with a line of what it is about."""
    return dict(_ENTRY.findall((FOLDER / "README.md").read_text(encoding="utf-8")))


def page_text(page: str) -> str:
    """Return a page as Markdown. The error of an unknown page names the nearest one."""
    pages = contents()
    if page not in pages:
        raise click.BadParameter(
            f"{page!r} is not a page{nearest(page, pages)}; expected {', '.join(pages)}", param_hint="PAGE"
        )
    file = _REFERENCE if page == "operations" else FOLDER / f"{page}.md"
    return file.read_text(encoding="utf-8")


def sections(page: str) -> Iterator[Section]:
    """Yield the sections of a page."""
    title, lines, is_code = page, list[str](), False
    for line in page_text(page).splitlines():
        is_code ^= line.startswith("```")
        if line.startswith("#") and not is_code:
            yield Section(page, title, tuple(lines))
            title, lines = line.lstrip("# "), []
        lines.append(line)
    yield Section(page, title, tuple(lines))


def search(words: Sequence[str]) -> list[Section]:
    """Return the sections that have all words, in any case; those whose title has one of them come first."""
    wanted = [word.lower() for word in words]
    matches = [
        section
        for page in contents()
        for section in sections(page)
        if all(word in "\n".join(section.lines).lower() for word in wanted)
    ]
    return sorted(matches, key=lambda each: -sum(word in each.title.lower() for word in wanted))


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the pages that begin so."""
    pages = contents().items()
    return [CompletionItem(page, help=line) for page, line in pages if page.startswith(incomplete)]


@click.command(short_help="Read the guide: a page for each task.")
@click.argument("page", required=False, shell_complete=_complete)
@click.option("--search", "words", metavar="WORDS", help="Show the sections that have all of these words.")
def guide(page: str | None, words: str | None) -> None:
    """Print PAGE of the guide, or the list of all pages.

    A terminal shows the page with its pager; a pipe gets Markdown. An error text can be searched for, too.

    \b
    Examples:
      chatrest guide
      chatrest guide exports
      chatrest guide --search 'rate limit'
      chatrest guide errors --search deadline
    """
    if words is not None:
        _show_matches(words, page)
    elif page is not None:
        _show_page(page_text(page))
    else:
        pages = contents()
        width = max(map(len, pages))
        streams.write_lines(f"{name:<{width}}  {line}" for name, line in pages.items())


def _show_page(text: str) -> None:
    if not streams.is_terminal("stdout"):
        streams.write(text.encode())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as capture:
        console.print(Markdown(text))
    click.echo_via_pager(capture.get())


def _show_matches(text: str, page: str | None) -> None:
    if page is not None:
        page_text(page)
    words = text.split()
    if not words:
        raise click.BadParameter("expected one word or more", param_hint="--search")
    matches = [each for each in search(words) if page in (None, each.page)]
    if not matches:
        raise click.ClickException(f"no section of the guide has {' and '.join(map(repr, words))}")
    streams.write_lines(line for each in matches for line in _match_lines(each, words))


def _match_lines(section: Section, words: Sequence[str]) -> Iterator[str]:
    yield f"{section.page}: {section.title}"
    hits = [line for line in section.lines[1:] if any(word.lower() in line.lower() for word in words)]
    yield from (f"    {line.strip()}" for line in hits[:_MOST_LINES])
