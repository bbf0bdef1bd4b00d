"""Exports of many apps in one run: folders, limits, failures and going on."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from chatrest import App, AuthenticationError, RequestInvalidError
from chatrest.emulator import Emulator
from chatrest.export import Plan, read
from chatrest.export.plan.app_file import AppExport
from chatrest.export.run.export import AppResult, export_apps
from tests.support.buckets import Buckets


async def started(stack: AsyncExitStack, count: int) -> list[Emulator]:
    emulators = [Emulator(app_id=f"app-{number}", users=3, messages=20 + number) for number in range(count)]
    for emulator in emulators:
        await stack.enter_async_context(emulator)
    return emulators


def numbers(out: Path, count: int) -> list[int]:
    return [sum(1 for _ in read(out / f"app=app-{number}")) for number in range(count)]


def parts_below(out: Path) -> list[str]:
    return sorted(path.relative_to(out).as_posix() for path in out.glob("*/part=*"))


async def test_each_app_has_a_folder_and_some_run_at_once(tmp_path: Path) -> None:
    running: set[str] = set()
    most = 0

    def watch(run: AppResult) -> None:
        nonlocal most
        (running.discard if run.report or run.error else running.add)(run.app_id)
        most = max(most, len(running))

    async with AsyncExitStack() as stack:
        apps = [AppExport(each.app) for each in await started(stack, 3)]
        plan = Plan(everything=True)
        report = await export_apps(apps, tmp_path, plan, at_once=2, watch=watch)
        for each in report:
            each.check()
        again = await export_apps(apps, tmp_path, at_once=2)
    assert most == 2
    assert numbers(tmp_path, 3) == [20, 21, 22]
    assert [run.report.written for run in again if run.report is not None] == [0, 0, 0]


async def test_several_claim_the_apps_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatrest.export.run.night.PAUSE", 0.0)
    async with AsyncExitStack() as stack:
        first, *others = [each.app for each in await started(stack, 3)]
        apps = [AppExport(first, name="shop"), *map(AppExport, others)]
        reports = await asyncio.gather(*(
            export_apps(apps, tmp_path, Plan(all_users=True), at_once=1, claim=True) for _ in range(3)
        ))  # fmt: skip
    assert all(each.report is not None and each.report.complete for report in reports for each in report)
    assert parts_below(tmp_path) == [f"app={name}/part=00" for name in ("app-1", "app-2", "shop")]
    written = sum(each.report.written for report in reports for each in report if each.report is not None)
    assert written == sum(1 for _ in read(tmp_path))


async def test_each_app_has_a_prefix_in_an_object_store(tmp_path: Path, buckets: Buckets) -> None:
    out, journals = "s3://bucket/backups/", tmp_path / "journals"
    async with AsyncExitStack() as stack:
        apps = [AppExport(each.app) for each in await started(stack, 2)]
        report = await export_apps(apps, out, Plan(everything=True), journal=journals)
    for each in report:
        each.check()
    assert [str(run.folder) for run in report] == [f"{out}app=app-0", f"{out}app=app-1"]
    assert [sum(1 for _ in read(str(run.folder))) for run in report] == [20, 21]
    assert sorted(path.name for path in journals.iterdir()) == ["app=app-0", "app=app-1"]


async def test_an_app_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        first, second, third = await started(stack, 3)
        wrong = App("app-1", "wr0ng-k3y", base_url=second.base_url)
        apps = [AppExport(first.app), AppExport(wrong), AppExport(third.app)]
        report = await export_apps(apps, tmp_path, Plan(everything=True), at_once=1)
        assert [run.report is not None and run.report.complete for run in report] == [True, False, True]
        with pytest.raises(AuthenticationError):
            report[1].check()
        fixed = [apps[0], AppExport(second.app), apps[2]]
        for each in await export_apps(fixed, tmp_path, Plan(everything=True)):
            each.check()
    assert numbers(tmp_path, 3) == [20, 21, 22]


async def test_a_cancelled_run_is_continued(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        apps = [AppExport(each.app) for each in await started(stack, 3)]
        ended: list[bool] = []
        task = asyncio.create_task(
            export_apps(
                apps, tmp_path, Plan(everything=True), at_once=1,
                watch=lambda run: task.cancel() if run.app_id == "app-1" else ended.append(bool(run.report)),
            )
        )  # fmt: skip
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [False, True]
        for each in await export_apps(apps, tmp_path, Plan(everything=True)):
            each.check()
    assert numbers(tmp_path, 3) == [20, 21, 22]


async def test_the_report_of_each_app_counts_the_sources_that_a_run_did_not_read(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        apps = [AppExport(each.app) for each in await started(stack, 2)]
        await export_apps(apps, tmp_path)
        for result in await export_apps(apps, tmp_path, Plan(users=["user-001"]), only=True):
            result.check()
            assert result.report is not None
            assert (result.report.complete, result.report.only) == (False, ["user user-001"])
            assert result.report.not_read > 0


async def test_wrong_arguments_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    app = AppExport(App("app-1", "k3y", base_url="https://chat.example.com"))
    for apps, at_once, expected in (([], 1, "apps"), ([app, app], 1, "also that of"), ([app], 0, "at_once")):
        with pytest.raises(RequestInvalidError, match=expected):
            await export_apps(apps, tmp_path / "out", at_once=at_once)
    assert not (tmp_path / "out").exists()
