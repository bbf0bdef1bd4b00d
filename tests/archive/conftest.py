"""An export and its site, made once for all tests that only read them."""

from pathlib import Path
from typing import Any

import pytest

from .chats import make_export, records


@pytest.fixture(scope="session")
def made() -> list[dict[str, Any]]:
    return records()


@pytest.fixture(scope="session")
def out(made: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an export."""
    return make_export(tmp_path_factory.mktemp("archive") / "out", made)


@pytest.fixture(scope="session")
def site(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its site."""
    pytest.importorskip("jinja2")
    from chatrest.archive import write_site

    folder = tmp_path_factory.mktemp("archive") / "site"
    write_site(out, folder, title="The archive")
    return folder
