"""The texts for users: the README and the pages of the guide, and their blocks of code."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
GUIDE: Final = ROOT / "chatrest" / "guide"
PAGES: Final = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(GUIDE.rglob("*.md")))
}
"""Each text by its path in the checkout."""
README: Final = PAGES["README.md"]
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str, pages: dict[str, str] = PAGES) -> list[tuple[str, str]]:
    """Return the blocks of code in a language, `""` for those without one, each with the path of its page."""
    return [
        (path, code)
        for path, text in pages.items()
        for name, code in _BLOCK.findall(text)
        if name == language
    ]
