"""Terms of texts, and their shards: complete, in order, stable, and the same for any size of memory."""

import json
from pathlib import Path
from random import Random

import pytest

from chatrest.site import search
from chatrest.site.search import Shard, TermIndex, base36, folded, meta_script, terms


def test_terms_are_words_and_pairs_of_letters_without_spaces() -> None:
    result = terms(folded("Hi 12:30, नमस्ते x_y 今天开 👍"))
    assert result == {"hi", "12", "30", "नमस्ते", "x_y", "今天", "天开", "开", "👍"}
    assert {"a", "b", "c"} < terms("a 今 b 天 c")
    assert terms("x" * 40 + "y" * 50) == {"x" * 40 + "y" * 40, "y" * 50}


def shards(folder: Path, pages: dict[int, list[str]]) -> list[Shard]:
    index = TermIndex(folder)
    for page, page_terms in pages.items():
        index.add(page, page_terms)
    return list(index.shards())


def read(script: bytes) -> dict[str, list[int]]:
    """Return what a shard says, as `site.js` reads it."""
    listed = {}
    for line in json.loads(script.removeprefix(b"chatrest(").removesuffix(b");\n")).split("\n"):
        term, _, gaps = line.partition(" ")
        page, pages = 0, list[int]()
        for gap in gaps.split(","):
            step, _, run = gap.partition("-")
            page += int(step, 36)
            pages += range(page, page + 1 + int(run or "0", 36))
            page = pages[-1]
        listed[term] = pages
    return listed


@pytest.fixture
def pages() -> dict[int, list[str]]:
    dice = Random(1)
    words = [f"{letter}{dice.randrange(10**6)}" for letter in "abcé好\U0001f642\uffee" for _ in range(1500)]
    return {page: dice.sample(words, 400) for page in [*range(1, 60), *range(900, 960)]}


def test_shards_have_each_term_with_its_pages_in_the_order_of_javascript(
    pages: dict[int, list[str]], tmp_path: Path
) -> None:
    parts = shards(tmp_path, pages)
    together = {term: listed for each in parts for term, listed in read(each.script).items()}
    expected: dict[str, list[int]] = {}
    for page in sorted(pages):
        for term in pages[page]:
            expected.setdefault(term, []).append(page)
    assert together == expected
    assert list(together) == sorted(together, key=lambda term: term.encode("utf-16-be"))
    assert [each.first for each in parts] == [next(iter(read(each.script))) for each in parts]
    assert len(parts) > 5
    assert all(len(each.script) < 70_000 for each in parts)
    words = [word for each in parts for word in each.words.split()]
    assert words == [term for term in together if term[0] in "abcé"]


def test_an_index_larger_than_memory_is_merged(
    pages: dict[int, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = shards(tmp_path, pages)
    monkeypatch.setattr(search, "_AT_ONCE", 30_000)
    assert shards(tmp_path, pages) == expected
    assert len(list(tmp_path.iterdir())) > 10


def test_new_terms_change_few_shards(pages: dict[int, list[str]], tmp_path: Path) -> None:
    before = {each.name: each.script for each in shards(tmp_path, pages)}
    after = {each.name: each.script for each in shards(tmp_path, pages | {961: ["anew", "a9", "bx"]})}
    changed = [name for name, script in after.items() if before.get(name) != script]
    assert 1 <= len(changed) <= 4
    assert len(after) - len(changed) >= len(before) / 2


def test_the_table_of_pages_has_the_newest_first() -> None:
    script = meta_script([("a", "x")], [(1, 5_000, 9_999), (40, 0, 0), (2, 1, 10_000)])
    assert json.loads(script[9:-3])["times"] == [[2, 1, 10_000], [1, 5_000, 9_999], [40, 0, 0]]
    assert [base36(number) for number in (0, 35, 36, 36**3)] == ["0", "z", "10", "1000"]
