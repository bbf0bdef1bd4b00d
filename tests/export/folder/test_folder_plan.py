"""The plan that a run continues with: another one is refused, or takes its place, before anything is read."""

from pathlib import Path

import pytest

from chatrest import RequestInvalidError
from chatrest.export import Plan
from chatrest.export.folder.export_folder import ExportFolder
from tests.support.stored_exports import StoredExport, record

ANN = Plan(users=["ann"])


def test_the_plan_of_a_run_killed_before_a_request_can_be_replaced(tmp_path: Path) -> None:
    ExportFolder(tmp_path, ANN, app_id="app-1").close()
    with ExportFolder(tmp_path, Plan(users=["bob"]), app_id="app-1") as export:
        assert (export.stored_plan, export.plan) == (Plan(users=["bob"]), Plan(users=["bob"]))


@pytest.mark.parametrize("change_plan", [False, True])
def test_files_that_were_written_keep_their_format(tmp_path: Path, change_plan: bool) -> None:
    with StoredExport(tmp_path, ANN) as stored:
        stored.commit({"user ann": [record(1)]})
    other = Plan(users=["ann"], format="parquet")
    with pytest.raises(
        RequestInvalidError, match="the format, the compression and the partition of a folder"
    ):
        ExportFolder(tmp_path, other, app_id="app-1", change_plan=change_plan)
