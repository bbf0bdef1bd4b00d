"""Each advice of `verify` is followed: afterwards the export is complete, and has lost nothing."""

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from chatrest.errors import ChatRestError
from chatrest.export import Plan, Problem, Remedy, export, read_raw, verify
from chatrest.export.folder.journal import NAME as JOURNAL
from chatrest.export.folder.manifest import NAME as MANIFEST
from chatrest.export.plan.file_names import DAMAGED
from tests.support.cases import loop_over
from tests.support.damaged_exports import (
    COUNT,
    MIXED,
    change_journal,
    contents_of,
    largest_entry,
    rewrite,
    vouch_for_journal,
)
from tests.support.export_runs import Served, edit, files_of, hide, history_of, manifest_of, served

HIDDEN = 40
"""A message that the service has deleted since it was exported."""


def history_file(out: Path) -> Path:
    return next(out / entry.name for entry in manifest_of(out).files if entry.role == "history")


def damage(path: Path) -> None:
    """Break one record of a file, and leave its size."""
    data = path.read_bytes()
    *_, last = [line for line in data.splitlines() if b'id"' in line]
    path.write_bytes(data.replace(last, b"#" * len(last)))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def hidden(out: Path) -> Path:
    """The file with the message that is in it alone."""
    return next(path for path in files_of(out) if b'"%d"' % HIDDEN in path.read_bytes())


def copied(out: Path) -> None:
    path = out / largest_entry(out).name
    shutil.copy(path, path.with_name("messages-77.ndjson"))


def not_written(out: Path) -> None:
    """The journal has an id that no file has."""
    change_journal(out, "DELETE FROM covered WHERE source = 1")
    change_journal(out, "UPDATE sources SET proven = 0 WHERE number = 1")
    vouch_for_journal(out)


def contradicted(out: Path) -> None:
    """The journal has blocks of one file only."""
    change_journal(out, "DELETE FROM blocks WHERE file != (SELECT min(file) FROM blocks)")
    vouch_for_journal(out)


def doubled(out: Path) -> None:
    """One message is in two files, as a fault of an earlier run might leave it."""
    first, second, *_ = (out / entry.name for entry in manifest_of(out).files if entry.role == "part")
    line = second.read_bytes().splitlines(keepends=True)[0]
    rewrite(out, first.relative_to(out).as_posix(), first.read_bytes() + line)


def lengthen(out: Path) -> None:
    with hidden(out).open("ab") as file:
        file.write(b"torn")


def neither(out: Path) -> None:
    (out / JOURNAL).write_bytes(b"x")
    (out / MANIFEST).write_bytes(b"{}")


def linked(out: Path) -> None:
    (out / "messages" / "elsewhere").symlink_to(out.parent)


CASES: list[tuple[str, Callable[[Path], Any], Remedy]] = [
    ("a lost manifest", lambda out: (out / MANIFEST).unlink(), Remedy.RUN),
    ("a lost journal", lambda out: (out / JOURNAL).unlink(), Remedy.RUN),
    ("an empty journal", lambda out: (out / JOURNAL).write_bytes(b""), Remedy.RUN),
    ("an unknown file", copied, Remedy.RUN),
    ("a list that was not read", not_written, Remedy.RUN),
    ("a damaged table", lambda out: damage(out / "users" / "users.ndjson"), Remedy.RUN),
    ("a cut table", lambda out: cut(out / "users" / "users.ndjson"), Remedy.RUN),
    ("a lost table", lambda out: (out / "users" / "users.ndjson").unlink(), Remedy.RUN),
    ("a lost file", lambda out: hidden(out).unlink(), Remedy.READ_AGAIN),
    ("a damaged file", lambda out: damage(hidden(out)), Remedy.SET_ASIDE),
    ("a cut file", lambda out: cut(hidden(out)), Remedy.RUN_SETS_ASIDE),
    ("a file with more bytes", lengthen, Remedy.RUN_SETS_ASIDE),
    ("a damaged history", lambda out: damage(history_file(out)), Remedy.RESTORE),
    ("a lost history", lambda out: history_file(out).unlink(), Remedy.RESTORE),
    (
        "no database",
        lambda out: (out / JOURNAL).write_bytes(b"SQLite format 3\0" + b"x" * 5000),
        Remedy.REBUILD,
    ),
    ("a damaged journal", lambda out: (out / JOURNAL).write_bytes(b"x" * 5000), Remedy.REBUILD),
    ("other ids in the journal", contradicted, Remedy.REBUILD),
    ("a message in two files", doubled, Remedy.REBUILD),
    ("neither journal nor manifest", neither, Remedy.NEW_FOLDER),
    ("a link that leads out", linked, Remedy.KEEP_OUT),
    ("a file of somebody else", lambda out: (out / "messages" / "x.txt").write_bytes(b"x"), Remedy.MOVE),
]


def had(out: Path) -> tuple[Counter[bytes], Counter[bytes]]:
    """The messages and the older versions of an export."""
    return Counter(read_raw(out)), Counter(history_of(out))


def apply_remedy(problem: Problem, out: Path, backup: Path | None) -> None:
    """Do what the advice says before a run, with a backup or without."""
    advice = problem.advice
    path, set_aside = out / problem.subject, out.parent / "kept"
    match advice:
        case Remedy.RUN | Remedy.NOTHING:
            pass
        case Remedy.KEEP_OUT:
            (out / "messages" / "elsewhere").unlink()
        case Remedy.NEW_FOLDER | Remedy.RESTORE:
            assert backup is not None
            for name in (JOURNAL, MANIFEST) if advice is Remedy.NEW_FOLDER else (problem.subject,):
                shutil.copy(backup / name, out / name)
        case Remedy.READ_AGAIN | Remedy.RUN_SETS_ASIDE | Remedy.SET_ASIDE if backup is not None:
            shutil.copy(backup / problem.subject, path)
        case Remedy.READ_AGAIN | Remedy.RUN_SETS_ASIDE:
            pass
        case Remedy.SET_ASIDE:
            aside = out / DAMAGED / f"{problem.subject}.damaged-1"
            assert aside.relative_to(out).as_posix() in problem.remedy
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.rename(aside)
        case Remedy.REBUILD:
            set_aside.mkdir(exist_ok=True)
            (out / JOURNAL).rename(set_aside / JOURNAL)
        case Remedy.MOVE:
            set_aside.mkdir(exist_ok=True)
            path.rename(set_aside / path.name)


NEEDS_BACKUP = (Remedy.RESTORE, Remedy.NEW_FOLDER)
TAKES_BACKUP = (Remedy.READ_AGAIN, Remedy.RUN_SETS_ASIDE, Remedy.SET_ASIDE)
"""The remedy with a backup, and without one."""


@pytest.fixture
async def exported(tmp_path: Path, small_pages: None) -> AsyncIterator[tuple[Served, Path]]:
    """A service, and an export of it that every case copies: with a history, and a message that is hidden."""
    out = tmp_path / "exported"
    async with served(COUNT, loose=False) as service:
        await export(service.session, out, Plan(**MIXED), tables=["users"])
        for number in (30, 32):
            edit(service.store, number, "edited")
        assert (await export(service.session, out, recheck=10**9)).changed == 2
        hide(service.store, [HIDDEN])
        yield service, out


@loop_over(
    ("case", "harm", "advice", "has_backup"),
    [
        (*case, has_backup)
        for case in CASES
        for has_backup in ((True, False) if case[2] in TAKES_BACKUP else (case[2] in NEEDS_BACKUP,))
    ],
)
async def test_an_advice_mends_and_loses_nothing(
    case: str,
    harm: Callable[[Path], Any],
    advice: Remedy,
    has_backup: bool,
    exported: tuple[Served, Path],
    tmp_path: Path,
) -> None:
    service, backup = exported
    folder = tmp_path / f"{case}, {has_backup}"
    out = folder / "out"
    shutil.copytree(backup, out)
    before = had(out)
    harm(out)
    damaged = contents_of(out)
    problems = verify(out).problems
    assert {problem.advice for problem in problems} == {advice}, problems
    if advice is Remedy.KEEP_OUT:
        with pytest.raises(ChatRestError):
            await export(service.session, out)
        assert contents_of(out) == damaged
    once = advice in (Remedy.REBUILD, Remedy.NEW_FOLDER, Remedy.KEEP_OUT)  # for the folder as a whole
    for problem in problems[:1] if once else problems:
        apply_remedy(problem, out, backup if has_backup else None)
    assert (await export(service.session, out, tables=["users"])).complete
    result = verify(out)
    assert (result.ok, result.problems) == (True, [])
    after = had(out)
    if advice is Remedy.READ_AGAIN and not has_backup:  # it was in that file alone, and is noted as gone
        assert [note.kind for note in result.notes] == ["missing"]
        assert (len(before[0] - after[0]), after[0] - before[0], after[1]) == (1, Counter(), before[1])
    else:
        assert after == before
