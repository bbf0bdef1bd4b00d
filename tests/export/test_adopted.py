"""A message that one source wrote in the place of another is rechecked like any other."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator.weather.faults import Status
from chatrest.export import Plan, export
from tests.exporting import (
    Served,
    assert_whole,
    edit,
    fast_disk as fast_disk,
    forget_user,
    hide,
    history_of,
    manifest_of,
    raws_of,
    served,
    small_pages as small_pages,
)

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")

ALL = 10**9
"""A recheck of everything."""
formats = pytest.mark.parametrize("format", ["ndjson", "parquet", "sqlite"])


async def adopted(service: Served, out: Path, format: Any = "ndjson") -> int:
    """An export in which bob has written what ann lacks; the id of such a message."""
    lacking = service.store.ids(conversation="ann_user_bob")[1:4]
    hide(service.store, lacking, "u:ann")
    assert (await export(service.session, out, Plan(all_users=True, format=format))).complete
    return lacking[1]


@formats
async def test_an_edit_of_an_adopted_message_is_found_by_a_recheck(format: Any, tmp_path: Path) -> None:
    async with served(50, loose=False) as service:
        number = await adopted(service, tmp_path / "out", format)
        [older] = service.expected([number])
        edit(service.store, number, "edited")
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert report.complete
        assert (report.changed, report.written, report.vanished) == (1, 0, 0)
        assert_whole(tmp_path / "out", service.expected())
        if format == "ndjson":
            assert history_of(tmp_path / "out") == [older]
        assert (await export(service.session, tmp_path / "out", recheck=ALL)).changed == 0


@formats
async def test_an_adopted_message_that_vanishes_is_told_and_kept(format: Any, tmp_path: Path) -> None:
    async with served(50, loose=False) as service:
        expected = service.expected()
        number = await adopted(service, tmp_path / "out", format)
        hide(service.store, [number])
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert report.vanished == 1
        assert manifest_of(tmp_path / "out").vanished == [str(number)]
        assert_whole(tmp_path / "out", expected)


@formats
async def test_an_edit_is_found_of_what_a_user_that_is_gone_has_left(format: Any, tmp_path: Path) -> None:
    async with served(50, loose=False) as service:
        number = service.store.ids(conversation="ann_user_bob")[1]
        service.emulator.weather.add(Status(404, route="/users/ann/messages"))
        report = await export(service.session, tmp_path / "out", Plan(all_users=True, format=format))
        assert [failure.source for failure in report.failed] == ["user ann"]
        forget_user(service.store, "ann")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.gone == ["user ann"]
        new = edit(service.store, number, "edited")
        report = await export(service.session, tmp_path / "out", recheck=ALL)
        assert report.complete
        assert report.changed == 1
        assert new in raws_of(tmp_path / "out")
        assert len(raws_of(tmp_path / "out")) == manifest_of(tmp_path / "out").messages
