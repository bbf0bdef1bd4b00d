"""The reference of all operations: the file is what the table says."""

import re
from pathlib import Path

import chatrest
from chatrest._cli.call.help_text import BY_USE
from chatrest._resources import COLLECTIONS, OPERATIONS
from tests.reference import reference

FILE = Path(chatrest.__file__).parent / "guide" / "operations.md"


def test_the_file_is_what_the_table_says() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == reference(), "run: python -m tests.reference > chatrest/guide/operations.md"


def test_every_operation_has_an_entry_with_its_request() -> None:
    entries = FILE.read_text(encoding="utf-8").split("\n### ")[1:]
    assert sorted(BY_USE) == sorted(COLLECTIONS)
    requests = {entry.partition("\n")[0]: entry for entry in entries}
    assert sorted(requests) == sorted(OPERATIONS)
    assert next(iter(requests)) == "users.list"
    assert next(reversed(requests)).startswith("agents.")
    for name, endpoint in OPERATIONS.items():
        assert f"`{endpoint.method} {endpoint.path}`" in requests[name]


def test_the_first_page_leads_to_operations() -> None:
    page = FILE.read_text(encoding="utf-8").partition("## I want to")[2].partition("\n## ")[0]
    names = re.findall(r"\[([a-z_.]+)\]\(#([a-z_]+)\)", page)
    assert len(names) > 40
    assert {name for name, _ in names} <= set(OPERATIONS)
    assert all(anchor == name.replace(".", "") for name, anchor in names)


def test_the_filters_of_the_first_page_exist() -> None:
    page = FILE.read_text(encoding="utf-8").partition("## I want to")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)\((\w+)=([^)]+)\)`", page)
    assert len(named) > 3
    for kind, field, value in named:
        text = "text" if value == "…" else value.strip('"')
        assert getattr(getattr(chatrest, kind)(**{field: text}), field) == text
