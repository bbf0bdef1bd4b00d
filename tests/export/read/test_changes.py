"""The changes since a run: by run and kind, each message once, and after any kill as well."""

import json
import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from chatrest import ChatRestError, RequestInvalidError, TextMessage
from chatrest.export import ExportChange, Plan, changes, export
from chatrest.export.folder.journal import NAME
from tests.support.export_runs import edit, hide, put_record, served
from tests.support.simulated_crashes import Fate, dies
from tests.support.stored_exports import StoredExport, StoredRuns, record

FORMATS = [
    {"format": "ndjson", "compress": "none", "partition": "source"},
    {"format": "ndjson", "compress": "zstd", "partition": "day"},
    {"format": "parquet", "partition": "none"},
]
formats = pytest.mark.parametrize("shape", FORMATS, ids=str)


class Runs(StoredRuns):
    """Runs of an export by hand, and the changes that are listed."""

    def listed(self, after: int = 0) -> list[tuple[int, str, str, str | None, str | None]]:
        return [
            (each.run, each.kind, each.id, _text(each.raw_before), _text(each.raw_after))
            for each in changes(self.folder, after=after)
        ]


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else str(json.loads(raw)["data"]["text"])


@formats
def test_each_message_is_one_change_with_run_and_kind(shape: dict[str, Any], tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **shape)
    numbers = [export_runs.run([record(each, text="a") for each in (1, 2, 3, 4)])]
    numbers.append(export_runs.run([record(5, text="a")], changed=[record(2, text="b")], deleted=[3]))
    numbers.append(export_runs.run(changed=[record(2, text="c"), record(5, text="b")]))
    numbers.append(export_runs.run())
    assert numbers == [1, 2, 3, 4]
    assert export_runs.listed() == [
        (1, "new", "1", None, "a"), (1, "new", "2", None, "c"), (1, "new", "4", None, "a"),
        (1, "deleted", "3", "a", None), (2, "new", "5", None, "b"),
    ]  # fmt: skip
    assert export_runs.listed(1) == [
        (2, "new", "5", None, "b"), (2, "changed", "2", "a", "c"), (2, "deleted", "3", "a", None),
    ]  # fmt: skip
    assert export_runs.listed(2) == [(3, "changed", "2", "b", "c"), (3, "changed", "5", "a", "b")]
    assert export_runs.listed(3) == export_runs.listed(4) == []


def test_an_undeleted_message_is_new_and_a_reverted_edit_is_no_change(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(each, text="a") for each in (1, 2, 3)])
    export_runs.run(changed=[record(1, text="b")], deleted=[2, 3])
    read = changes(tmp_path / "out")
    assert ({each.run for each in read}, read.run) == ({1}, 2), "not the run that was told last"
    export_runs.run(changed=[record(1, text="a")], restored=[2])
    assert export_runs.listed(2) == [(3, "new", "2", None, "a"), (3, "changed", "1", "b", "a")]
    assert export_runs.listed(1) == [(2, "deleted", "3", "a", None)]
    export_runs.run(changed=[record(1, text="b")])
    assert export_runs.listed(3) == [(4, "changed", "1", "a", "b")], "the history keeps equal versions once"
    assert export_runs.listed(2) == [(3, "new", "2", None, "a")]


def test_ids_that_are_no_numbers(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    texts = [record(each, text="a", id=f"m-{each}") for each in (1, 2, 3)]
    export_runs.run([*texts, record(4, text="a")])
    changed = record(1, text="b", id="m-1")
    export_runs.run([record(5, text="a", id="m-5")], changed=[changed], deleted=["m-2"])
    assert {each[:3] for each in export_runs.listed()} == {
        (1, "new", "m-1"), (1, "deleted", "m-2"), (1, "new", "m-3"), (1, "new", "4"), (2, "new", "m-5"),
    }  # fmt: skip
    assert export_runs.listed(1) == [
        (2, "new", "m-5", None, "a"), (2, "changed", "m-1", "a", "b"), (2, "deleted", "m-2", "a", None),
    ]  # fmt: skip


def test_a_killed_run_has_a_number_and_its_committed_changes(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(1, text="a")])
    assert export_runs.run([record(2, text="a")], changed=[record(1, text="b")], is_killed=True) == 2
    assert export_runs.listed(1) == [(2, "new", "2", None, "a")], "before it is opened again"
    assert export_runs.run([record(3, text="a")]) == 3
    assert export_runs.listed(1) == [
        (2, "new", "2", None, "a"), (3, "new", "3", None, "a"), (3, "changed", "1", "a", "b"),
    ]  # fmt: skip


def test_bytes_that_no_commit_knew_are_new_in_the_run_that_found_them(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(1, text="a")])
    export_runs.run([record(2, text="a")], is_killed=True)
    listed = export_runs.listed(1)
    [segment] = (tmp_path / "out" / "spool").glob("*.segment")
    with segment.open("ab") as file:
        file.write(record(3, text="late") + b"\n")
    export_runs.run()
    assert export_runs.listed(1) == [*listed, (3, "new", "3", None, "late")]


def test_merged_files_tell_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0] | {"partition": "none"})
    for number in range(1, 5):
        export_runs.run([record(number, text="a")], changed=[record(1, text=f"v{number}")])
    listed = [export_runs.listed(after) for after in range(5)]
    before = list((tmp_path / "out").rglob("*.ndjson"))
    monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
    export_runs.run()
    assert len(list((tmp_path / "out").rglob("*.ndjson"))) < len(before)
    assert [export_runs.listed(after) for after in range(5)] == listed


def test_all_messages_are_new_after_a_lost_journal(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_runs = Runs(out, **FORMATS[0])
    export_runs.run([record(1, text="a")])
    line = {"run": 7, "started": 1, "finished": 2}
    (out / "runs.jsonl").write_text(json.dumps(line) + "\n")
    (out / NAME).unlink()
    with pytest.raises(ChatRestError, match=r"lost; .* with a new journal all of them are: export again"):
        changes(out)
    (out / NAME).write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(ChatRestError, match=r"damaged, .*: restore it from a backup; .* move it out of the"):
        changes(out)
    (out / NAME).rename(tmp_path / NAME)
    assert export_runs.run([record(2, text="a")]) == 8
    assert export_runs.listed(7) == [(8, "new", "1", None, "a"), (8, "new", "2", None, "a")]


def test_a_change_has_the_remaining_versions_if_older_ones_are_lost(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(1, text="a"), record(2, text="a")])
    export_runs.run(changed=[record(1, text="b"), record(2, text="b", deletedAt=1_700_000_000)])
    for path in (tmp_path / "out").glob("history*"):
        path.unlink()
    export_runs.run()
    assert export_runs.listed(1) == [(2, "changed", "1", None, "b"), (2, "deleted", "2", "b", None)]


def test_a_change_is_typed_and_a_line_of_json(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(1, text="a")])
    export_runs.run(changed=[record(1, text="b")])
    [change] = changes(tmp_path / "out", after=1)
    assert isinstance(change.before, TextMessage)
    assert isinstance(change.after, TextMessage)
    assert (change.before.text, change.after.text) == ("a", "b")
    assert json.loads(change.to_json()) == {
        "run": 2, "kind": "changed", "id": "1", "reason": None,
        "before": json.loads(record(1, text="a")), "after": json.loads(record(1, text="b")),
    }  # fmt: skip
    assert (
        ExportChange(1, "new", "1", None, b"{}").before
        is ExportChange(1, "deleted", "1", b"{}", None).after
        is None
    )


async def test_deleted_by_the_author_and_not_shown_are_both_deletions(tmp_path: Path) -> None:
    out, plan = tmp_path / "out", Plan(everything=True)
    async with served(20) as service:
        [text] = service.store.records([5])
        await export(service.session, out, plan)
        gone = json.dumps(json.loads(text) | {"deletedAt": 1_700_000_000, "data": {}}).encode()
        put_record(service.store, 5, gone)
        edit(service.store, 9, "edited")
        hide(service.store, [8], "*")
        second = await export(service.session, out, recheck=10**9)
        assert (second.changed, second.deleted, second.written) == (1, 2, 0)
        listed = [(each.kind, each.id, each.reason, each.raw_after is None) for each in changes(out, after=1)]
        assert sorted(listed, key=lambda each: each[1]) == [
            ("deleted", "5", "by_author", True),
            ("deleted", "8", "not_shown", True),
            ("changed", "9", None, False),
        ]
        [before] = [each.raw_before for each in changes(out, after=1) if each.id == "5"]
        assert before is not None
        assert json.loads(before) == json.loads(text)
        assert [each.kind for each in changes(out) if each.id == "5"] == ["deleted"]
        put_record(service.store, 5, text)
        third = await export(service.session, out, recheck=10**9)
        assert (third.changed, third.deleted) == (1, 0)
        assert [(each.kind, each.id) for each in changes(out, after=second.run)] == [("new", "5")]


def test_a_reader_gets_the_changes_of_a_run_once_after_the_end(tmp_path: Path) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    export_runs.run([record(1)])
    with StoredExport(tmp_path / "out", export_runs.plan) as running:
        running.commit({export_runs.source: [record(2)]})
        listed = changes(tmp_path / "out")
        assert [(each.kind, each.id) for each in listed] == [("new", "1")]
        later = changes(tmp_path / "out", after=listed.run)
        assert list(later) == []
        assert later.run == listed.run
        running.commit({export_runs.source: [record(3)]})
    rest = changes(tmp_path / "out", after=later.run)
    assert [(each.kind, each.id) for each in rest] == [("new", "2"), ("new", "3")]
    assert rest.run == listed.run + 1


def test_wrong_arguments_are_refused_at_once(tmp_path: Path) -> None:
    Runs(tmp_path / "out", **FORMATS[0]).run([record(1)])
    for wrong in (-1, "1", True, None):
        with pytest.raises(RequestInvalidError, match="after"):
            changes(tmp_path / "out", after=wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match=r"^after = 2: expected a run of .*, whose newest one is 1"):
        changes(tmp_path / "out", after=2)
    with pytest.raises(RequestInvalidError, match="is not an export"):
        changes(tmp_path)


@pytest.mark.parametrize("read", [0, 1, 2])
def test_a_merge_during_reading_repeats_and_loses_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    export_runs = Runs(tmp_path / "out", **FORMATS[0])
    for number in (1, 2, 3):
        export_runs.run([record(number)])
    listed = changes(tmp_path / "out")
    begun = list(islice(listed, read))
    monkeypatch.setattr("chatrest.export.folder.export_folder.MANY_SMALL_FILES", 2)
    export_runs.run([record(4)])
    assert [each.id for each in [*begun, *listed]] == ["1", "2", "3"]


@pytest.mark.usefixtures("small_pages")
async def test_each_message_is_one_change_whenever_a_run_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(60) as service:
        plan, out = Plan(everything=True), tmp_path / "out"
        for at in (3, 9, 14, 20, 27):
            shutil.rmtree(out, ignore_errors=True)
            fate = Fate(out, at)
            await dies(service.session, fate, plan, monkeypatch)
            if not (out / NAME).exists():
                continue
            before = [each.id for each in changes(out)] if (out / "manifest.json").exists() else []
            report = await export(service.session, out, plan)
            assert [each.id for each in changes(out) if each.run < report.run] == before
            listed = [each.raw_after for each in changes(out)]
            assert sorted(listed) == sorted(service.expected())  # type: ignore[type-var]
            assert list(changes(out, after=report.run)) == []
