"""The reference of all operations: the file is what the table says."""

from pathlib import Path

import chatrest
from chatrest.cli.reference import reference
from chatrest.resources import OPERATIONS

FILE = Path(chatrest.__file__).parent / "resources" / "OPERATIONS.md"


def test_the_file_is_what_the_table_says() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text == reference(), "run: python -m chatrest.cli.reference > chatrest/resources/OPERATIONS.md"


def test_every_operation_has_an_entry_with_its_request() -> None:
    entries = FILE.read_text(encoding="utf-8").split("\n### ")[1:]
    requests = {entry.partition("\n")[0]: entry for entry in entries}
    assert list(requests) == list(OPERATIONS)
    for name, endpoint in OPERATIONS.items():
        assert f"`{endpoint.method} {endpoint.path}`" in requests[name]
