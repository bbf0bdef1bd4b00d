"""The pictures of the README: `python -m benchmarks.pictures` draws them again, in `chatrest/guide/pictures`.

- `completion.svg`: what an editor offers for a message of a typed walk; the fields and their types are read
  from the class.
- `export.svg`: the display of an export that runs, against an emulator with slow replies.
- `archive.png`, `search.png` and `document.png`, with `--browser chromium` (or another one that knows the
  options of Chromium): a conversation, a search and a document of an export as `chatrest html` writes them,
  with letters of many scripts (the fonts of Noto have them).
"""

import asyncio
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import UnsetType
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from chatrest import AsyncSession, TextMessage
from chatrest.emulator import Emulator, Latency
from chatrest.emulator.store import Store
from chatrest.export import Plan, Progress, export
from chatrest.export.run.monitor import Monitor

FOLDER: Final = Path(__file__).parents[1] / "chatrest" / "guide" / "pictures"
WIDTH: Final = 92
_CODE: Final = """\
async for message in session.messages.list_user("alice", on_behalf_of="bob"):
    match message:
        case TextMessage():
            print(message."""
_SHOWN: Final = ("id", "sender", "receiver", "text", "data", "sent_at", "edited_at", "parent_id", "to_dict")
_REMOTE_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""A font that a reader's program would have to fetch."""
_SHARE: Final = 0.6
"""The part of an export at which its display is drawn."""
_BEGIN: Final = 1_780_300_000
_PEOPLE: Final = {
    "lena": "Lena Vogt", "tom": "Tom Baker", "omar": "عمر حدّاد", "misaki": "田中 美咲",
    "somchai": "สมชาย ใจดี", "ines": "Inês Araújo",
}  # fmt: skip
_POLL: Final = {
    "question": "Where do we celebrate?", "options": ["Rooftop bar", "The office", "Seaside"],
    "votes": {"lena": "1", "tom": "1", "omar": "3", "misaki": "1"},
}  # fmt: skip
_EDITED: Final = {"editedAt": _BEGIN + 2_000, "editedBy": "ines"}
_TALK: Final[Sequence[tuple[str, str | None, dict[str, Any]]]] = (
    ("lena", "Good morning! The printer has confirmed the posters for Thursday.", {}),
    ("lena", "They need the final file by noon, though.", {}),
    ("tom", "I can send it. Which poster is the final one?", {}),
    ("lena", "Number 7, in the shared folder: https://files.example.com/launch/poster-7.pdf", {}),
    ("omar", "صباح الخير، سأرسل الترجمة العربية غدًا.", {}),
    ("misaki", "おはようございます。日本語版の資料を確認してください。", {}),
    ("somchai", "ตรวจสอบเอกสารแล้ว ขอบคุณมากนะครับ", {}),
    (
        "ines",
        "Bom dia! Doors open at 18:30.",
        {**_EDITED, "data": {"reactions": [{"reaction": "👍", "count": 3}]}},
    ),
    ("tom", "Great, I print the poster with that time.", {"parentId": "4"}),
    ("ines", None, {"category": "custom", "type": "poll", "data": {"customData": _POLL}}),
    ("tom", "this was wrong", {"deletedAt": _BEGIN + 3_000, "deletedBy": "tom"}),
    ("lena", "The poster is on its way. Thank you, everyone!", {}),
)
_LAST_WORDS: Final = (
    ("lena", "tom", "Can you take one poster to the venue?"), ("omar", "lena", "شكرًا جزيلًا"),
    ("misaki", "lena", "了解しました、ありがとうございます。"), ("somchai", "ines", "เจอกันพรุ่งนี้นะครับ"),
)  # fmt: skip


def svg(picture: RenderableType, title: str) -> str:
    """Return a picture of a terminal that shows `picture`."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(picture)
    text = console.export_svg(title=title, unique_id=title.replace(" ", "-"))
    return _REMOTE_FONT.sub("", text)


def completion() -> RenderableType:
    """Return the code of a walk, and the members of a message with their types below it."""
    offered = Table(box=None, padding=(0, 2), style="on #25303b")
    offered.add_column(style="bold #9cdcfe")
    offered.add_column(style="#cccccc")
    offered.show_header = False
    for name in _SHOWN:
        offered.add_row(name, _type_of(name))
    code = Syntax(_CODE, "python", theme="monokai", background_color="default")
    return Group(code, Padding(offered, (0, 0, 1, 24)))


def _type_of(name: str) -> str:
    member = getattr(TextMessage, name)
    if callable(member):
        return f"() → {_plain(get_type_hints(member)['return'])}"
    if isinstance(member, property):
        return _plain(get_type_hints(member.fget)["return"])
    return _plain(get_type_hints(TextMessage)[name])


def _plain(kind: Any) -> str:
    """Return a type as an editor shows it, with the words of the code."""
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return " | ".join("UNSET" if each is UnsetType else _plain(each) for each in get_args(kind))
    if kind is type(None):
        return "None"
    return str(getattr(get_origin(kind) or kind, "__name__", kind))


async def running_export(*, users: int = 40, messages: int = 40_000, delay: float = 0.15) -> str:
    """Return the picture of an export that is more than half done."""
    progress = Progress()
    monitor = Monitor(progress)
    service = Emulator(users=users, messages=messages, weather=[Latency(delay)])
    with TemporaryDirectory() as folder:
        async with service as emulator, AsyncSession(emulator.app, telemetry=progress.heard) as session:
            run = asyncio.create_task(
                export(session, f"{folder}/backup", Plan(), progress=progress, workers=8)
            )
            while not run.done():
                await asyncio.sleep(0.02)
                snapshot = monitor.snapshot(session.pools.values())
                if progress.covered >= _SHARE * (progress.ids or 1):
                    break
            picture = svg(Text(snapshot.line), "chatrest export backup")  # before it changes
            await run
    return picture


def fill(store: Store) -> None:
    """Add a conversation of people who write in many scripts."""
    for uid, name in _PEOPLE.items():
        store.add_user(uid, name)
    store.add_group("launch", "Launch in Lisbon")
    at = _BEGIN
    for number, (sender, text, more) in enumerate(_TALK, 1):
        at += 40 * (number % 5 + 1)
        store.add_message(sender, "launch", text, receiver_type="group", sent_at=at, **more)
    for sender, receiver, text in _LAST_WORDS:
        at += 600
        store.add_message(sender, receiver, text, sent_at=at)


def photograph(browser: str, folder: Path) -> None:
    """Export the conversation, write its pages and its document, and store their pictures."""
    with TemporaryDirectory() as scratch:

        async def fill_and_export() -> None:
            service = Emulator(users=0, messages=0, groups=0)
            async with service as emulator, AsyncSession(emulator.app) as session:
                fill(emulator.store)
                await export(session, f"{scratch}/backup", Plan(everything=True), tables=["users", "groups"])

        asyncio.run(fill_and_export())
        site, document = Path(scratch, "site"), Path(scratch, "document.html")
        command = [sys.executable, "-m", "chatrest", "html", f"{scratch}/backup", "--quiet"]
        subprocess.run([*command, str(site)], check=True)
        only = ["--print", "--conversation", "group_launch", "--title", "Launch in Lisbon"]
        subprocess.run([*command, str(document), *only], check=True)
        [page] = [path for path in site.glob("c/*/1.html") if "Launch in Lisbon</h1>" in path.read_text()]
        shots = {
            "archive.png": (page.as_uri(), "1060,500"),
            "search.png": (f"{(site / 'index.html').as_uri()}#q=poster", "900,460"),
            "document.png": (document.as_uri(), "820,600"),
        }
        for name, (address, size) in shots.items():
            options = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--window-size={size}",
            ]
            wait = "--virtual-time-budget=5000"
            subprocess.run([browser, *options, wait, f"--screenshot={folder / name}", address], check=True)


def draw(folder: Path, **size: Any) -> None:
    """Write the pictures of terminals into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "completion.svg": svg(completion(), "a typed walk"),
        "export.svg": asyncio.run(running_export(**size)),
    }
    for name, text in pictures.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    """Draw the pictures."""
    parser = ArgumentParser(prog="python -m benchmarks.pictures", description="Draw the README's pictures.")
    parser.add_argument("--browser", help="also draw pages of an export, with this program")
    args = parser.parse_args(argv)
    draw(FOLDER)
    if args.browser:
        photograph(args.browser, FOLDER)
    print(f"drawn in {FOLDER}", file=sys.stderr)


if __name__ == "__main__":
    main()
