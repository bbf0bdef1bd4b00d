"""An export of each kind, and copies of it that may be damaged."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest._resources import collection
from chatrest.export import Plan, export
from tests.support.damaged_exports import COUNT, MIXED, PLANS
from tests.support.export_runs import edit, served


async def _made(out: Path, **plan: Any) -> None:
    async with served(COUNT) as service:
        assert (await export(service.session, out, Plan(**MIXED, **plan))).complete
        for number in (30, 32, 100):
            edit(service.store, number, "edited")
        report = await export(service.session, out, recheck=10**9)
        assert (report.complete, report.changed) == (True, 3)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An export of each kind, with odd records and a history; made once, and not to be touched."""
    folder = tmp_path_factory.mktemp("made")

    def make(name: str) -> Path:
        out = folder / name
        if not out.exists():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(collection, "MAX_PAGE_SIZE", 25)
                asyncio.run(_made(out, **PLANS[name]))
        return out

    return make


@pytest.fixture
def copy(made: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of an export, to be damaged."""
    return lambda name: Path(shutil.copytree(made(name), tmp_path / "out"))


@pytest.fixture
def out(copy: Callable[[str], Path]) -> Path:
    """A copy of the plain one."""
    return copy("plain")
