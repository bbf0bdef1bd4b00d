"""The README's list of the examples."""

import re
from pathlib import Path

from chatrest import examples

ROOT = Path(__file__).parents[2]


def test_the_readme_lists_every_example_with_one_line() -> None:
    [section] = re.findall(
        r"^## Examples\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    listed = [name for name, line in rows if line.strip() and name != "NAME"]
    [folder] = map(Path, examples.__path__)
    programs = [
        file.stem for file in folder.glob("*.py") if '__name__ == "__main__"' in file.read_text("utf-8")
    ]
    assert sorted(listed) == sorted(programs)
