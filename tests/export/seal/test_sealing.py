"""A bag: what it holds, who takes it, and that any other byte in it is found."""

import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest import ChatRestError, RequestInvalidError
from chatrest.export import Plan, changes, export, read_raw, read_table, runs, seal, verify
from chatrest.export.folder.folder_access import FolderLock
from chatrest.export.folder.tables import AttachmentRow
from chatrest.export.read.facts import facts_of
from chatrest.export.seal.bag import info_of
from chatrest.export.verify.audit_report import write_report
from tests.support.buckets import ADDRESS, Buckets
from tests.support.cases import loop_over
from tests.support.damaged_exports import MIXED, change_journal, contents_of, places_of, vouch_for_journal
from tests.support.export_runs import edit, served
from tests.support.stored_exports import StoredExport, StoredParts, StoredRuns, record


@pytest.fixture
async def out(tmp_path: Path) -> Path:
    """A complete export with older versions, a table, and a name that is percent-encoded."""
    async with served(40, loose=False) as service:
        service.store.add_user("dot/.")
        await export(service.session, tmp_path / "out", Plan(**MIXED), tables=["users"])
        edit(service.store, 20, "edited")
        await export(service.session, tmp_path / "out", recheck=10**9)
    (tmp_path / "out" / "damaged").mkdir()
    (tmp_path / "out" / "damaged" / "aside.damaged-1").write_text("no part of the export")
    return tmp_path / "out"


@pytest.fixture
def bag(out: Path) -> Path:
    bag = out.parent / "bag"
    seal(out, bag)
    return bag


def root_of(bag: Path) -> str:
    return hashlib.sha256((bag / "tagmanifest-sha256.txt").read_bytes()).hexdigest()


def test_the_bag_has_the_export_unchanged(out: Path, tmp_path: Path) -> None:
    steps = list[tuple[int, int]]()
    before = contents_of(out)
    result = seal(out, tmp_path / "bag", progress=lambda *step: steps.append(step))
    assert (result.complete, result.messages, result.root) == (True, 40, root_of(tmp_path / "bag"))
    assert steps[-1] == (result.bytes, result.bytes)
    assert contents_of(out) == before
    data = tmp_path / "bag" / "data"
    assert {path.name for path in data.iterdir()} == {
        "manifest.json", "journal.sqlite", "runs.jsonl", "messages", "users", *(path.name for path in
        out.glob("history*")),
    }  # fmt: skip
    for path in data.rglob("*.ndjson"):
        assert path.samefile(out / path.relative_to(data)), "a hard link"
    assert result.linked == len(list(data.rglob("*.ndjson")))
    with (out / "runs.jsonl").open("ab") as file:
        file.write(b"{}\n")
    assert verify(tmp_path / "bag", root=result.root).ok, "what is written later is not in it"


def test_bag_info_describes_the_export(bag: Path) -> None:
    info = info_of(bag)
    files = [path for path in (bag / "data").rglob("*") if path.is_file()]
    assert info["Payload-Oxum"] == f"{sum(path.stat().st_size for path in files)}.{len(files)}"
    assert (info["Chat-Messages"], info["Chat-First-Id"], info["Chat-Last-Id"]) == ("40", "1", "40")
    assert (info["Chat-State"], info["Chat-App"]) == ("complete", "emulated")
    assert info["Chat-Period"].startswith("2020-09-13T12:26:40+00:00 to 2020-12-")
    assert {"Chat-Plan", "Chat-Exported", "Chat-Sealed", "Bagging-Date"} <= info.keys()


@pytest.mark.parametrize("kind", ["one", "parts", "apps"])
def test_bagit_tools_and_all_readers_accept_a_bag(kind: str, tmp_path: Path) -> None:
    bagit, folder = pytest.importorskip("bagit"), tmp_path / "out"
    match kind:
        case "one":
            StoredRuns(folder, "a/b %").run([record(n) for n in range(1, 7)])
        case "parts":
            StoredParts(folder, 2).run(range(1, 7))
        case _:
            StoredRuns(folder / "app=one").run([record(1), record(2)])
            StoredParts(folder / "app=two", 2).run(range(1, 5))
    result = seal(folder, tmp_path / "bag")
    bagit.Bag(str(tmp_path / "bag")).validate()
    subprocess.run(
        ["sha256sum", "--check", "--strict", "--quiet", "manifest-sha256.txt"],
        cwd=tmp_path / "bag",
        check=True,
    )
    before = contents_of(tmp_path / "bag")
    assert list(read_raw(tmp_path / "bag")) == list(read_raw(folder))
    assert list(runs(tmp_path / "bag")) == list(runs(folder))
    assert list(changes(tmp_path / "bag")) == list(changes(folder))
    assert list(read_table(tmp_path / "bag", "users")) == []
    sealed, facts = facts_of(str(tmp_path / "bag")), facts_of(str(folder))
    assert (sealed.state, sealed.messages, sealed.plan) == ("complete", 6, facts.plan)
    checked = verify(tmp_path / "bag", root=result.root)
    assert (checked.ok, checked.problems, checked.root) == (True, [], result.root)
    assert contents_of(tmp_path / "bag") == before, "readers leave nothing in it"


async def test_a_bag_of_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    from chatrest._cloud.store import ObjectStore

    monkeypatch.setattr(ObjectStore, "open", Buckets().open)
    async with served(20) as service:
        await export(service.session, ADDRESS, Plan(users=["ann"]), journal=tmp_path / "j", tables=["users"])
    result = seal(ADDRESS, tmp_path / "bag")
    assert verify(tmp_path / "bag", root=result.root).ok
    assert sorted(read_raw(tmp_path / "bag")) == sorted(read_raw(ADDRESS))


def test_a_bag_in_an_object_store_is_refused_with_advice(bag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    from chatrest._cloud.store import ObjectStore

    buckets = Buckets()
    monkeypatch.setattr(ObjectStore, "open", buckets.open)
    for name, data in contents_of(bag).items():
        buckets.write(name, data)
    for read in (lambda: verify(ADDRESS), lambda: verify(ADDRESS, root="0" * 64), lambda: read_raw(ADDRESS)):
        with pytest.raises(RequestInvalidError, match=r"is a bag in an object store.*copy it to a disk"):
            read()


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def first(bag: Path, pattern: str) -> Path:
    return min(bag.glob(pattern))


HARM: dict[str, Callable[[Path], Any]] = {
    "a byte of messages": lambda bag: append(first(bag, "data/messages/**/*.ndjson")),
    "a file less": lambda bag: first(bag, "data/messages/**/*.ndjson").unlink(),
    "a file more": lambda bag: (bag / "data" / "messages" / "new.txt").write_text("x"),
    "a hidden file": lambda bag: (bag / "data" / ".hidden").write_text("x"),
    "a link": lambda bag: (bag / "data" / "link").symlink_to("/etc/passwd"),
    "the table": lambda bag: append(bag / "data" / "users" / "users.ndjson"),
    "the log of runs": lambda bag: append(bag / "data" / "runs.jsonl"),
    "the info": lambda bag: append(bag / "bag-info.txt"),
    "the manifest": lambda bag: append(bag / "manifest-sha256.txt"),
    "no text in the manifest": lambda bag: (bag / "manifest-sha256.txt").write_bytes(b"\xff"),
    "the tag manifest": lambda bag: append(bag / "tagmanifest-sha256.txt"),
    "no tag manifest": lambda bag: (bag / "tagmanifest-sha256.txt").unlink(),
    "no export in it": lambda bag: [path.unlink() for path in (bag / "data").glob("*.*")],
    "a manifest of another version": lambda bag: (bag / "data" / "manifest.json").write_text(
        '{"made_by": "chatrest export", "version": 9, "checksum": ""}'
    ),
    "a name that leads out": lambda bag: (bag / "manifest-sha256.txt").write_text(f"{'0' * 64}  ../x\n"),
}


@loop_over("change", HARM)
def test_any_difference_is_found(bag: Path, change: str) -> None:
    root, harmed = root_of(bag), bag.with_name(change)
    shutil.copytree(bag, harmed, symlinks=True)
    HARM[change](harmed)
    result = verify(harmed, root=root)
    assert not result.ok
    assert "seal" in [kind for kind, _ in places_of(result)], result.problems
    assert (result.root, {each.remedy for each in result.problems}) == ("", {""})


def test_hashes_that_were_made_to_fit_have_another_root(bag: Path, out: Path) -> None:
    root = root_of(bag)
    StoredRuns(out.parent / "other").run([record(1)])
    other = seal(out.parent / "other", out.parent / "other-bag")
    assert verify(out.parent / "other-bag").ok
    result = verify(out.parent / "other-bag", root=root)
    assert places_of(result) == [("seal", "tagmanifest-sha256.txt")]
    assert result.problems[0].text == f"the root hash is {other.root}, and {root} was expected"


@loop_over("root", ["", "xyz", "0" * 63])
def test_a_wrong_root_hash_is_refused(bag: Path, out: Path, root: str) -> None:
    with pytest.raises(RequestInvalidError, match=r"^root"):
        verify(bag, root=root)
    with pytest.raises(RequestInvalidError, match="is not a bag"):
        verify(out, root="0" * 64)


def test_where_no_bag_can_be_made(bag: Path, out: Path, tmp_path: Path) -> None:
    for target, words in ((bag, "it exists"), (out / "bag", "outside of the export"), (out, "it exists")):
        with pytest.raises(RequestInvalidError, match=words):
            seal(out, target)
    with pytest.raises(RequestInvalidError, match="a bag already"):
        seal(bag, tmp_path / "second")
    with pytest.raises(RequestInvalidError, match="is not an export"):
        seal(tmp_path / "nothing", tmp_path / "second")
    with pytest.raises(RequestInvalidError, match="no run has begun"):
        seal(StoredParts(tmp_path / "parts", begun=0).folder, tmp_path / "second")
    assert not list(tmp_path.glob("second*"))


def test_a_running_export_is_refused_and_a_finished_one_sealed(tmp_path: Path) -> None:
    with StoredExport(tmp_path / "out", Plan(users=["ann"])) as stored:
        stored.begin_manifest()
        stored.commit({"user ann": [record(number) for number in range(1, 6)]})
        with pytest.raises(ChatRestError, match="an export is running here"):
            seal(tmp_path / "out", tmp_path / "bag")
    assert not list(tmp_path.glob("bag*"))
    [segment] = (tmp_path / "out" / "spool").iterdir()
    data = segment.read_bytes()
    segment.write_bytes(data[:-1])
    with pytest.raises(ChatRestError, match=r"bytes, and .* were written; nothing was sealed"):
        seal(tmp_path / "out", tmp_path / "bag")
    assert not list(tmp_path.glob("bag*"))
    segment.write_bytes(data)
    append(segment)
    result = seal(tmp_path / "out", tmp_path / "bag")
    assert (result.complete, result.messages, result.linked) == (False, 5, 0)
    assert len(list(read_raw(tmp_path / "bag"))) == 5
    assert info_of(tmp_path / "bag")["Chat-State"] == "interrupted"
    checked = verify(tmp_path / "bag", root=result.root)
    assert (checked.ok, checked.root) == (False, result.root)
    assert "seal" not in [kind for kind, _ in places_of(checked)]


@pytest.mark.parametrize("where", ["", "part=00", "part=01"])
def test_parts_are_refused_while_one_is_written_or_users_are_listed(where: str, tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", 2, begun=1)
    parts.run([2, 4])
    (parts.folder / "part=01").mkdir()
    lock = FolderLock(parts.folder / where)
    with pytest.raises(ChatRestError, match="an export is running here"):
        seal(parts.folder, tmp_path / "bag")
    lock.release()
    assert not seal(parts.folder, tmp_path / "bag").complete
    assert len(list(read_raw(tmp_path / "bag"))) == 2


def test_a_full_disk_is_an_error_that_names_the_file_of_the_bag(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def fill_disk(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(source), None, str(target))

    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(shutil, "copyfile", fill_disk)
    with pytest.raises(OSError, match=r"No space left on device: '.*/bag\.sealing/data/[^']*'$"):
        seal(out, tmp_path / "bag")
    assert not list(tmp_path.glob("bag*"))


def test_a_name_that_leads_out_of_the_export_is_not_sealed(out: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.ndjson").write_bytes(b"{}\n")
    newest = "(SELECT max(number) FROM files WHERE state = 'sealed')"
    change_journal(out, f"UPDATE files SET name = '../secret.ndjson' WHERE number = {newest}")
    vouch_for_journal(out)
    with pytest.raises(ChatRestError, match=r"\.\./secret\.ndjson"):
        seal(out, tmp_path / "bag")
    assert not list(tmp_path.glob("bag*"))


def test_an_attachment_that_leads_out_of_the_export_is_not_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StoredRuns(tmp_path / "out").run([record(1)])
    (tmp_path / "out" / "attachments").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    row = AttachmentRow("stored", "../../secret", 6, hashlib.sha256(b"secret").hexdigest())
    monkeypatch.setattr(sys.modules[seal.__module__], "attachments_in", lambda *_: [row])
    with pytest.raises(ChatRestError, match="secret' is not the name of a file of an export"):
        seal(tmp_path / "out", tmp_path / "bag")
    assert {path.name for path in tmp_path.iterdir()} == {"out", "secret"}


def test_a_bag_of_parts_has_the_messages_left_for_other_parts(tmp_path: Path) -> None:
    parts = StoredParts(tmp_path / "out", 2)
    parts.run(range(1, 5))
    left = parts.folder / "part=00" / "foreign" / "1.ids"
    left.parent.mkdir()
    left.write_bytes(b"0" * 64)
    seal(parts.folder, tmp_path / "bag")
    assert (tmp_path / "bag" / "data" / left.relative_to(parts.folder)).read_bytes() == b"0" * 64


def test_a_failed_seal_leaves_no_file_and_removes_those_of_a_kill(out: Path, tmp_path: Path) -> None:
    lost = first(out, "messages/**/*.ndjson")
    lost.rename(tmp_path / "kept")
    with pytest.raises(ChatRestError, match="it is not there; nothing was sealed"):
        seal(out, tmp_path / "bag")
    assert not list(tmp_path.glob("bag*"))
    (tmp_path / "kept").rename(lost)
    (tmp_path / "bag.sealing").mkdir()
    with pytest.raises(RequestInvalidError, match="is in the way"):
        seal(out, tmp_path / "bag")
    (tmp_path / "bag.sealing" / "bagit.txt").touch()
    seal(out, tmp_path / "bag")
    assert [path.name for path in tmp_path.glob("bag*")] == ["bag"]


def replace_byte(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:30] + b"~" + data[31:])


@pytest.mark.parametrize("change", [append, replace_byte])
@loop_over("pattern", ["messages/**/*.ndjson", "history*.ndjson", "users/*.ndjson"])
def test_a_file_with_other_bytes_than_were_written_is_refused(
    pattern: str, change: Callable[[Path], None], out: Path, tmp_path: Path
) -> None:
    file = first(out, pattern)
    data = file.read_bytes()
    change(file)
    name = re.escape(f"{out}/{file.relative_to(out).as_posix()}: it")
    for has_journal in (True, False):  # else by what the manifest has noted
        if not has_journal:
            (out / "journal.sqlite").rename(tmp_path / "journal")
        with pytest.raises(ChatRestError, match=rf"{name}.*`chatrest verify {re.escape(str(out))}`"):
            seal(out, tmp_path / "bag")
        assert not list(tmp_path.glob("bag*"))
    (tmp_path / "journal").rename(out / "journal.sqlite")
    file.write_bytes(data)


def test_where_there_are_no_links_files_are_copied(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    result = seal(out, tmp_path / "bag")
    assert result.linked == 0
    assert verify(tmp_path / "bag", root=result.root).ok


def test_the_command_prints_the_root_hash(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from chatrest._cli.root import root

    StoredRuns(tmp_path / "out").run([record(1)])
    bag = tmp_path / "bag"
    sealed = CliRunner().invoke(root, ["seal", str(tmp_path / "out"), str(bag)])
    assert (sealed.exit_code, sealed.stdout.split()[-1]) == (0, root_of(bag))
    for code, words in enumerate(
        (f"as it was sealed: root hash {root_of(bag)}", "is not as it was sealed: 1 pro")
    ):
        checked = CliRunner().invoke(root, ["verify", str(bag), "--root", root_of(bag)])
        assert (checked.exit_code, words in checked.output) == (code, True)
        append(bag / "bag-info.txt")


@loop_over(
    ("times", "period"),
    [
        ([1_772_323_200, 1_782_907_200_000, 1_793_500_000],
         "2026-03-01T00:00:00+00:00 to 2026-11-01T02:26:40+00:00"),
        ([0, 1_772_323_200, 1_772_323_300], "2026-03-01T00:00:00+00:00 to 2026-03-01T00:01:40+00:00"),
    ],
)  # fmt: skip
def test_the_period_is_that_of_all_dated_messages(times: list[int], period: str, tmp_path: Path) -> None:
    folder = tmp_path / str(times[0])
    export = StoredRuns(folder)
    export.run([record(number, sent_at=time) for number, time in enumerate(times, 1)])
    seal(folder, folder.with_name(f"bag-{times[0]}"))
    assert dict(info_of(folder.with_name(f"bag-{times[0]}")))["Chat-Period"] == period
    report = folder.with_name("report.html")
    write_report(folder, report, verify(folder))
    assert period in report.read_text()
