"""All examples: the guide lists each, and each runs without arguments and without its own app."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from chatrest import examples
from tests.pages import GUIDE

pytestmark = pytest.mark.usefixtures("fast_ramp")

FOLDER = Path(examples.__path__[0])
PROGRAMS = sorted(file.stem for file in FOLDER.glob("*.py") if "__main__" in file.read_text(encoding="utf-8"))


def test_the_guide_lists_every_example_with_one_line() -> None:
    page = (GUIDE / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| \w.* \|$", page, re.MULTILINE)
    assert sorted(rows) == ["NAME", *PROGRAMS]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_runs_without_arguments(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CHATREST_APP_ID", "CHATREST_API_KEY", "WEBHOOK_USERNAME", "WEBHOOK_PASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out.count("\n") >= 1
    assert "Traceback" not in printed.out + printed.err
