"""`verify` says of a damaged file which messages are damaged, and what can safely be done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest.export import verify
from tests.damaged_exports import PLANS, flipped, largest_entry, only_problem, places_of


@pytest.mark.parametrize("name", PLANS)
def test_a_damaged_file_has_its_messages(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    with flipped(out / entry.name, 4 * entry.bytes):
        problem = only_problem(out)
    assert (problem.kind, problem.place) == ("damaged", entry.name)
    assert f": {entry.messages} messages of " in problem.text
    assert problem.text.endswith(f", ids {entry.first_id} to {entry.last_id}")


@pytest.mark.parametrize("name", PLANS)
def test_a_file_of_another_size_and_none(copy: Callable[[str], Path], name: str) -> None:
    out = copy(name)
    entry = largest_entry(out)
    path, size = out / entry.name, entry.bytes
    data = path.read_bytes()
    for content, kind, words in (
        (data[:-10], "size", f"it ends after {size - 10:,} of {size:,} bytes: {entry.messages}"),
        (data + b"torn", "size", f"it has 4 bytes more than the {size:,}"),
        (None, "missing", f"it is not there: {entry.messages} messages"),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        problem = only_problem(out)
        assert (problem.kind, problem.place) == (kind, entry.name)
        assert problem.text.startswith(words)
        assert problem.remedy.startswith(f"restore {entry.name} from a backup")


def test_a_folder_in_the_place_of_a_file(out: Path) -> None:
    entry = largest_entry(out)
    (out / entry.name).unlink()
    (out / entry.name).mkdir()
    assert places_of(verify(out)) == [("damaged", entry.name)]
