"""`guide`: the pages of the guide, to read in a terminal."""

import re
from pathlib import Path
from typing import Final

import click

from .._parameters.fields import words_of
from .._texts import nearest
from . import streams

FOLDER: Final = Path(__file__).parents[1] / "guide"
_ENTRY: Final = re.compile(r"^- \[([\w-]+)\]\([^)]+\): (.+)$", re.MULTILINE)


def contents() -> dict[str, str]:
    return dict(_ENTRY.findall((FOLDER / "README.md").read_text(encoding="utf-8")))


def page_text(page: str) -> str:
    pages = contents()
    if page not in pages:
        raise click.BadParameter(
            f"{page!r}{nearest(page, pages)}: expected {words_of(pages)}", param_hint="PAGE"
        )
    folder, file = FOLDER / page, FOLDER / f"{page}.md"
    files = sorted(folder.glob("*.md")) if folder.is_dir() else [file]  # README.md is the first one
    return "\n".join(each.read_text(encoding="utf-8") for each in files)


@click.command(short_help="Read the guide: a page for each task.")
@click.argument("page", required=False)
def guide(page: str | None) -> None:
    """Print PAGE of the guide, or the list of all pages.

    A terminal shows the page with its pager; a pipe gets Markdown.

    \b
    Examples:
      chatrest guide
      chatrest guide exports
      chatrest guide errors | grep -i -A3 deadline
    """
    if page is not None:
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
