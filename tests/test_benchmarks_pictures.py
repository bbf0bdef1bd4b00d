"""The pictures of the README: made by a script, of what the library really shows."""

from pathlib import Path

import pytest

pytest.importorskip("httpx")

from benchmarks import pictures
from tests.pages import README


def test_the_stored_completion_is_that_of_the_class() -> None:
    stored = (pictures.FOLDER / "completion.svg").read_text(encoding="utf-8")
    assert stored == pictures.svg(pictures.completion(), "a typed walk")


def test_the_script_draws_every_picture_of_the_readme_without_remote_fonts(
    tmp_path: Path, fast_ramp: None
) -> None:
    pictures.draw(tmp_path, users=3, messages=200, delay=0.0)
    names = {path.name for path in tmp_path.iterdir()}
    assert {name for name in names if f"chatrest/guide/pictures/{name}" in README} == names
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "url(http" not in text
        assert text.startswith("<svg")
    assert "backup" in (tmp_path / "export.svg").read_text(encoding="utf-8")
