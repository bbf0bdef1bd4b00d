"""Plain English: the twists that texts for users must not have, each with what to say in its place."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import click
from click.testing import CliRunner

from chatrest._cli.root import root
from tests.support.cases import loop_over
from tests.support.pages import PAGES, ROOT
from tests.support.sources import all_facts, docstrings_of, docstrings_of_variables, given_names

TWISTS = {
    r"gone on with|go(?:es)? on with|goes on|taken up again": "continued, continues, resumed",
    r"(?<!there )(?:is|are) none(?! of)|is nobody|are nobody|brings? nothing": (
        "is not, exports no user, returns nothing"
    ),
    r"behind (?:it|them|that|a|the)(?! proxy)": "after, older than, newer than",
    r"tells|told(?! apart)": "shows, reports",
    r"of (?:ours|its own(?! because)|their own|your own|the caller's own)": "our, its, their, your",
    r"what is whole|wholly|as a whole(?! number)|(?:is|are|it|them) whole": "complete, completely",
    r"anew|once more": "again",
    r"in the midst|onward": "in the middle, next",
    r"allowed (?:is|are)": "expected",
    r"comes(?! (?:after|before|first|last|from))|stands(?! (?:for|alone))|lies": "is returned, is stored, is",
    r"mostly": "usually",
    r"an? (?:line|record|row|file|request|minute) (?:a|each)|request an? (?:page|call|user)": "one per …",
}
"""Patterns of words, and plain ones for them."""
TWIST = re.compile(rf"\b(?:{'|'.join(TWISTS)})\b", re.IGNORECASE)
NAME_TWIST = re.compile(rf"{TWIST.pattern}|\b(?:behind|go on|gone on|held|kept|nobody|whole)\b")
"""Words that are not in the name of a test, nor in the comment above a group of tests."""
LONGEST_NAME: Final = 76
SECTION = re.compile(r"^ *# ── (.*?) ──", re.MULTILINE)
NAMES = re.compile(r"```.*?^```$|`[^`\n]*`|\"[^\"\n]*\"", re.DOTALL | re.MULTILINE)
"""Code and quotations, which are not our words."""

VAGUE: Final = {"found", "its", "said", "some", "told"}
"""Words that are no name: they do not say what a variable, a member, a function or a class is."""
VAGUE_VARIABLES: Final = VAGUE | {"kept", "one", "seen"}
"""Those that are no name of a variable or a parameter.

They are terms of tables elsewhere: `seen` is the ids that a list has shown (a table of the journal), `kept`
the sources of earlier runs in a report, and `one(Message)` the envelope of a record.
"""
QUESTION_WORDS: Final = {"How", "What", "Where", "Whether", "Which", "Who", "Whose", "Why"}
"""Words that begin a question, and no docstring."""


def twists(text: str) -> list[str]:
    """Return the twists of a text, each with the line that it is in."""
    text = NAMES.sub("", text)
    return [
        f"{match[0]!r} in: {line.strip()}"
        for line in text.splitlines()
        for match in TWIST.finditer(line)
        if not match[0].endswith("None")
    ]


@loop_over("path", [*PAGES, "CHANGELOG.md"])
def test_a_page_is_in_plain_words(path: str) -> None:
    assert twists((ROOT / path).read_text(encoding="utf-8")) == []


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    yield from ((*names, name) for name in group.commands)


def test_the_help_of_the_command_is_in_plain_words() -> None:
    texts = {names: CliRunner().invoke(root, [*names, "--help"]).stdout for names in commands(root)}
    assert all(texts.values())
    assert {names: matches for names, text in texts.items() if (matches := twists(text))} == {}


@cache
def trees_of_tests() -> dict[str, ast.Module]:
    files = sorted((ROOT / "tests").rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def test_docstrings_and_texts_are_in_plain_words() -> None:
    matches = [
        f"{module}:{line}: {twist}"
        for module, each in all_facts().items()
        for line, text in each.texts
        for twist in twists(text)
    ]
    matches += [
        f"{file}: {twist}"
        for file, tree in trees_of_tests().items()
        for kind in (docstrings_of, docstrings_of_variables)
        for _, docstring in kind(ast.walk(tree))
        for twist in twists(docstring)
    ]
    assert matches == []


def test_names_of_tests_are_in_plain_words() -> None:
    matches = []
    for file, tree in trees_of_tests().items():
        sections = SECTION.findall((ROOT / file).read_text(encoding="utf-8"))
        names = [name for _, name, _ in given_names(ast.walk(tree)) if name.startswith("test_")]
        matches += [f"{file}: {name}" for name in names if len(name) > LONGEST_NAME]
        words = [*sections, *(name.replace("_", " ") for name in names)]
        matches += [f"{file}: {text}" for text in words if NAME_TWIST.search(text)]
    assert matches == []


def test_names_are_not_vague() -> None:
    names = [(module, *each) for module, facts in all_facts().items() for each in facts.names]
    for file, tree in trees_of_tests().items():
        names += [(file, *each) for each in given_names(ast.walk(tree))]
    vague = [
        f"{place}:{line}: {name}"
        for place, line, name, is_variable in names
        if name.strip("_").lower() in (VAGUE_VARIABLES if is_variable else VAGUE)
    ]
    assert vague == []


def test_a_docstring_begins_with_a_noun_or_an_imperative() -> None:
    docstrings = [(module, *each) for module, facts in all_facts().items() for each in facts.docstrings]
    for file, tree in trees_of_tests().items():
        for kind in (docstrings_of, docstrings_of_variables):
            docstrings += [(file, *each) for each in kind(ast.walk(tree))]
    questions = [
        f"{place}: {name}: {text.splitlines()[0]}"
        for place, name, text in docstrings
        if text.partition(" ")[0] in QUESTION_WORDS
    ]
    assert questions == []
