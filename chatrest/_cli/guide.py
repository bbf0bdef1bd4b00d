"""`guide`: print a page of the guide, or find the sections of it that have some words.

The pages are the Markdown files of `chatrest/guide`, in the order of its `README.md`; a folder of them is one
page.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from .._names import nearest
from . import streams

FOLDER: Final = Path(__file__).parents[1] / "guide"
_ENTRY: Final = re.compile(r"^- \[([\w-]+)\]\([^)]+\): (.+)$", re.MULTILINE)
_SMALL: Final = """
    a all an and are be by can do does for from get has have how i if in into is it its many me my not of on
    one or out so than that the this to use want we what when where which who why with you your
"""
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")
_MOST_LINES: Final = 3
"""The lines of a section that a search shows."""
_MOST_SECTIONS: Final = 12


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
    folder, file = FOLDER / page, FOLDER / f"{page}.md"
    files = sorted(folder.glob("*.md")) if folder.is_dir() else [file]  # README.md is the first one
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


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
    """Return the sections that have at least half of the words, small ones such as `the` left out.

    A word is found at the beginning of another, in any case and without its ending: `sending` finds `sends`.
    First come the sections with the most words in their text, their title, and one of their lines; those of
    the reference after others.
    """
    patterns = patterns_of(words)
    ranked = []
    for page in contents():
        for section in sections(page):
            count = _count(patterns, "\n".join(section.lines))
            if count * 2 >= len(patterns) and count:
                line = max(_count(patterns, line) for line in section.lines)
                title = _count(patterns, f"{page} {section.title}") - (page == "operations")
                ranked.append((2 * count + line + title, section))
    return [section for _, section in sorted(ranked, key=lambda each: -each[0])]


def patterns_of(words: Sequence[str]) -> list[re.Pattern[str]]:
    """Return what a search looks for: all words but the small ones, or these where there are no others."""
    lowered = [word for word in re.findall(r"[\w-]+", " ".join(words).lower()) if word]
    small = _SMALL.split()
    wanted = [word for word in lowered if word not in small] or lowered
    stems = [re.escape(_ENDING.sub("", word)) for word in dict.fromkeys(wanted)]
    return [re.compile(rf"\b{stem}", re.IGNORECASE) for stem in stems]


def _count(patterns: Sequence[re.Pattern[str]], text: str) -> int:
    return sum(pattern.search(text) is not None for pattern in patterns)


@click.command(short_help="Read the guide: a page for each task.")
@click.argument("page", required=False)
@click.option(
    "--search", "words", metavar="WORDS", help="Show the sections that have these words, or most of them."
)
def guide(page: str | None, words: str | None) -> None:
    """Print PAGE of the guide, or the list of all pages.

    A terminal shows the page with its pager; a pipe gets Markdown. An error text can be searched for, too.

    \b
    Examples:
      chatrest guide
      chatrest guide exports
      chatrest guide --search 'how do I send a message to a group'
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
    patterns = patterns_of([text])
    if not patterns:
        raise click.BadParameter("expected one word or more", param_hint="--search")
    matches = [each for each in search([text]) if page in (None, each.page)]
    if not matches:
        raise click.ClickException(f"no section of the guide has half of these words: {text}")
    streams.write_lines(line for each in matches[:_MOST_SECTIONS] for line in _match_lines(each, patterns))
    if (more := len(matches) - _MOST_SECTIONS) > 0:
        streams.warn(f"{more:,} more sections have fewer of the words: give others, or a PAGE")


def _match_lines(section: Section, patterns: Sequence[re.Pattern[str]]) -> Iterator[str]:
    yield f"{section.page}: {section.title}"
    hits = [(_count(patterns, line), line.strip()) for line in section.lines[1:]]
    best = sorted((hit for hit in hits if hit[0]), key=lambda hit: -hit[0])[:_MOST_LINES]
    yield from (f"    {line}" for _, line in best)
