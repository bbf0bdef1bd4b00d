"""An export and its site, made once for all tests that only read them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.media import PATH as MEDIA_PATH
from chatrest.export import Plan, export

from .chats import make_export, records


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the compiled templates between sites: to compile them takes longer than a small site."""
    jinja2 = pytest.importorskip("jinja2")
    from chatrest.site import pages

    make, cache = pages._environment, jinja2.FileSystemBytecodeCache(tmp_path_factory.mktemp("templates"))

    def make_with_cache(values: dict[str, Any]) -> Any:
        environment = make(values)
        environment.bytecode_cache = cache
        return environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_environment", make_with_cache)
        yield


@pytest.fixture(scope="session")
def made() -> list[dict[str, Any]]:
    return records()


@pytest.fixture(scope="session")
def out(made: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_export(tmp_path_factory.mktemp("site") / "out", made)


@pytest.fixture(scope="session")
def site(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("jinja2")
    from chatrest.site import write_site

    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(out, folder, title="The archive")
    return folder


@pytest.fixture(scope="session")
def with_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export with attachments: files of the emulator, and one that a browser would run."""
    out = tmp_path_factory.mktemp("files") / "out"

    async def run() -> None:
        async with (
            Emulator(users=3, messages=80, groups=1, seed=5) as emulator,
            AsyncSession(emulator.app) as session,
        ):
            page = f"http://127.0.0.1:{emulator.port}{MEDIA_PATH}000000000001.csv"
            file = {"url": page, "name": "a.html", "mimeType": "text/html", "extension": "html"}
            emulator.store.add_message("user-001", "user-002", type="file", data={"attachments": [file]})
            await export(session, out, Plan(everything=True), attachments=True)

    asyncio.run(run())
    return out
