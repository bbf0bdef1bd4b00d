"""Mutants: which are made of a file, which are chosen, and which of them the tests kill."""

import ast
from pathlib import Path

import pytest

from benchmarks import mutants

SOURCE = '''
"""A docstring is no code."""
MOST: Final = 5

def least(first: int, second: int) -> int:
    """Another one."""
    if first < second and not MOST == 0:
        return first
    raise ValueError("no message is changed")

class Box:
    def fill(self, name: str) -> None:
        self.held = {"a": name}
        self.held.clear()
'''
SMALL = """
def least(first, second):
    if first < second:
        return first
    return second
"""
TEST = """
from small.code import least

def test_least():
    assert (least(1, 2), least(2, 1)) == (1, 1)
"""


def changes(source: str) -> set[tuple[str, str]]:
    return {(each.function, each.after) for each in mutants.mutants_of("file.py", source)}


def test_each_kind_of_change_is_made_and_nothing_else() -> None:
    assert changes(SOURCE) == {
        ("module", "MOST: Final = 6"),
        ("module", "MOST: Final = 4"),
        ("least", "if first >= second and (not MOST == 0):"),
        ("least", "if first <= second and (not MOST == 0):"),
        ("least", "if first < second or not MOST == 0:"),
        ("least", "if first < second and (not MOST != 0):"),
        ("least", "if first < second and (not MOST == 1):"),
        ("least", "if first < second and (not MOST == -1):"),
        ("least", "if not (first < second and (not MOST == 0)):"),
        ("least", "return None"),
        ("least", "pass"),
        ("Box.fill", "self.held = {'ax': name}"),
        ("Box.fill", "pass"),
    }


def test_a_mutant_has_one_change_and_a_name_that_is_its_own() -> None:
    made = list(mutants.mutants_of("file.py", SOURCE.replace("MOST == 0", "MOST == 0 == 0")))
    assert len({each.name for each in made}) == len(made)
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    for each in mutants.mutants_of("file.py", SOURCE):
        lines = mutants.mutated(SOURCE, each.site).splitlines()
        [changed] = [line.strip() for line, old in zip(lines, whole, strict=True) if line != old]
        assert changed == each.after


def test_the_choice_is_spread_over_the_files_and_survives_moved_lines() -> None:
    one, other = (list(mutants.mutants_of(f"{name}.py", SOURCE)) for name in ("one", "other"))
    few = mutants.chosen([*one, *other], 6, seed=1)
    assert [each.path for each in few] == ["one.py", "other.py"] * 3
    assert few != mutants.chosen([*one, *other], 6, seed=2)
    moved = list(mutants.mutants_of("one.py", "\n\n" + SOURCE))
    assert [each.name for each in mutants.chosen([*moved, *other], 6, seed=1)] == [each.name for each in few]


def test_the_mutants_that_no_test_sees_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"small/__init__.py": "", "small/code.py": SMALL, "tests/test_code.py": TEST}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "COPIED", ("small", "tests"))
    names = tmp_path / "names"
    mutants.main(["small/code.py", "--save", str(names)])
    assert sorted(line.split("  ", 1)[0] for line in names.read_text().splitlines()) == [
        *["killed"] * 3, "survived"
    ]  # fmt: skip
    printed = capsys.readouterr().out
    assert "small/code.py:3  least\n    if first < second:\n  → if first <= second:\n" in printed
    assert "   3 of   4  are killed\n" in printed
    assert {name: (tmp_path / name).read_text() for name in files} == files
