"""Shared parts of the tests of `verify`: plans, functions that damage an export, and its problems."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import structs

from chatrest.export import Problem, VerifyResult, verify
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.folder.manifest import NAME as MANIFEST, FileEntry, encode
from tests.support.export_runs import GROUPS, manifest_of

PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compress": "gzip"},
    "zstd": {"compress": "zstd", "partition": "month"},
    "parquet": {"format": "parquet"},
}
MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)}
"""Sources that overlap: a message may stand in three of them."""
COUNT = 140


def places_of(result: VerifyResult) -> list[tuple[str, str]]:
    assert result.ok == (not result.problems)
    return [(problem.kind, problem.subject) for problem in result.problems]


def only_problem(out: Path) -> Problem:
    result = verify(out)
    [problem] = result.problems
    assert not result.ok
    return problem


def change_manifest(out: Path, **changes: Any) -> None:
    (out / MANIFEST).write_bytes(encode(structs.replace(manifest_of(out), **changes)))


def change_entry(out: Path, name: str, /, **changes: Any) -> None:
    files = [
        structs.replace(entry, **changes) if entry.name == name else entry for entry in manifest_of(out).files
    ]
    change_manifest(out, files=files)


def largest_entry(out: Path) -> FileEntry:
    return max((each for each in manifest_of(out).files if each.role == "part"), key=lambda each: each.bytes)


def change_journal(out: Path, sql: str, *values: Any) -> int:
    """Execute a statement on the journal; returns how many rows it has changed."""
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        return db.execute(sql, values).rowcount


def vouch_for_journal(out: Path) -> None:
    """Give the manifest the hash of the journal's rows as they are."""
    with Journal(out / JOURNAL) as journal:
        change_manifest(out, journal_facts=journal.rows_sha256())


def change_vouched(out: Path, sql: str, *values: Any) -> None:
    """Change the journal, and let the manifest vouch for it."""
    assert change_journal(out, sql, *values)
    vouch_for_journal(out)


def rewrite(out: Path, name: str, data: bytes, **changes: Any) -> None:
    """Give a file another content, for which manifest and journal vouch."""
    (out / name).write_bytes(data)
    digest = hashlib.sha256(data)
    change_entry(out, name, bytes=len(data), sha256=digest.hexdigest(), **changes)
    if (out / JOURNAL).exists():
        sql = "UPDATE files SET size = ?, sha256 = ? WHERE name = ?"
        assert change_journal(out, sql, len(data), digest.digest(), name) == 1
        vouch_for_journal(out)


def contents_of(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


class flipped:  # noqa: N801
    """Invert one bit of a file during the block."""

    def __init__(self, path: Path, bit: int) -> None:
        self.path, self.bit = path, bit

    def __enter__(self) -> None:
        with self.path.open("r+b") as file:
            file.seek(self.bit // 8)
            [byte] = file.read(1)
            file.seek(self.bit // 8)
            file.write(bytes([byte ^ (1 << self.bit % 8)]))

    def __exit__(self, *exc: object) -> None:
        self.__enter__()
