"""Errors that name their file."""

from pathlib import Path

import pytest

from chatrest.export.store.disk import ErrorPath


def test_a_name_that_is_there_is_not_replaced() -> None:
    with pytest.raises(FileNotFoundError) as caught, ErrorPath(Path("/mine")):
        Path("/no/such").read_bytes()
    assert caught.value.filename == "/no/such"
    with pytest.raises(ValueError, match="other"), ErrorPath(Path("/mine")):
        raise ValueError("other")
