"""Shared parts of the tests of `verify`: plans, functions that damage an export, and its problems."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import structs

from chatrest.export import Problem, VerifyResult, verify
from chatrest.export.journal import NAME as JOURNAL, Journal
from chatrest.export.manifest import NAME as MANIFEST, FileEntry, encode
from tests.exporting import GROUPS, manifest_of

PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compress": "gzip"},
    "zstd": {"compress": "zstd", "partition": "month"},
    "parquet": {"format": "parquet"},
    "sqlite": {"format": "sqlite"},
}
GROWING = ["plain", "gzip", "zstd"]
"""The plans whose files grow by blocks."""
MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)}
"""Sources that overlap: a message may stand in three of them."""
COUNT = 280


# ── the result ──


def places_of(result: VerifyResult) -> list[tuple[str, str]]:
    """Return the kind and place of each problem."""
    assert result.ok == (not result.problems)
    return [(problem.kind, problem.place) for problem in result.problems]


def only_problem(out: Path) -> Problem:
    """Return the only problem of an export."""
    result = verify(out)
    [problem] = result.problems
    assert not result.ok
    return problem


# ── the manifest ──


def change_manifest(out: Path, **changes: Any) -> None:
    """Change the manifest, and give it the checksum of its content."""
    (out / MANIFEST).write_bytes(encode(structs.replace(manifest_of(out), **changes)))


def change_entry(out: Path, name: str, /, **changes: Any) -> None:
    """Change the entry of a file in the manifest."""
    files = [
        structs.replace(entry, **changes) if entry.name == name else entry for entry in manifest_of(out).files
    ]
    change_manifest(out, files=files)


def largest_entry(out: Path) -> FileEntry:
    """Return the entry of the file with messages that has most blocks, and of these most bytes."""
    entries = [entry for entry in manifest_of(out).files if entry.role == "part"]
    return max(entries, key=lambda entry: (len(entry.blocks), entry.bytes))


# ── the journal ──


def change_journal(out: Path, sql: str, *values: Any) -> int:
    """Execute a statement on the journal; returns how many rows it has changed."""
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        return db.execute(sql, values).rowcount


def vouch_for_journal(out: Path) -> None:
    """Give the manifest the hash of the journal's rows as they are."""
    with Journal(out / JOURNAL) as journal:
        change_manifest(out, journal_facts=journal.facts())


# ── files ──


def write_blocks(path: Path, blocks: list[bytes], messages: list[int]) -> dict[str, Any]:
    """Write blocks to `path`, and return matching members for its entry in the manifest."""
    path.write_bytes(b"".join(blocks))
    hashes = [hashlib.sha256(block) for block in blocks]
    return {
        "bytes": sum(map(len, blocks)),
        "messages": sum(messages),
        "sha256": hashlib.sha256(b"".join(each.digest() for each in hashes)).hexdigest(),
        "blocks": [
            (len(block), count, each.hexdigest())
            for block, count, each in zip(blocks, messages, hashes, strict=True)
        ],
    }


def blocks_of(out: Path, entry: FileEntry) -> list[bytes]:
    """Return the bytes of each block of a file."""
    data, blocks = (out / entry.name).read_bytes(), list[bytes]()
    for size, _, _ in entry.blocks:
        blocks.append(data[:size])
        data = data[size:]
    return blocks


def contents_of(out: Path) -> dict[str, bytes]:
    """Return the content of every file of the folder."""
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
