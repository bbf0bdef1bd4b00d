"""Shared parts of the tests of `verify`: plans, functions that damage an export, and its problems."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import structs

from chatrest.export import VerifyResult, verify
from chatrest.export.journal import NAME as JOURNAL
from chatrest.export.manifest import NAME as MANIFEST, PartEntry, _encoded
from chatrest.export.verify.verify_result import Problem
from tests.exporting import GROUPS, manifest_of

PLANS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gzip": {"compress": "gzip"},
    "zstd": {"compress": "zstd", "partition": "month"},
    "parquet": {"format": "parquet"},
    "sqlite": {"format": "sqlite"},
}
GROWN = ["plain", "gzip", "zstd"]
MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)}
COUNT = 280


def told(verdict: VerifyResult) -> list[tuple[str, str]]:
    """Return the kind and file of each problem."""
    assert verdict.ok == (not verdict.problems)
    return [(problem.kind, problem.where) for problem in verdict.problems]


def the_problem(out: Path) -> Problem:
    """Return the only problem of an export."""
    verdict = verify(out)
    [problem] = verdict.problems
    assert not verdict.ok
    return problem


def claim(out: Path, **changed: Any) -> None:
    """Change the manifest and update its checksum."""
    (out / MANIFEST).write_bytes(_encoded(structs.replace(manifest_of(out), **changed)))


def claim_part(out: Path, part: str, /, **changed: Any) -> None:
    """Change the entry of a part in the manifest."""
    parts = [
        structs.replace(entry, **changed) if entry.name == part else entry for entry in manifest_of(out).parts
    ]
    claim(out, parts=parts)


def rehashed(path: Path, blocks: list[bytes], rows: list[int]) -> dict[str, Any]:
    """Write blocks to `path`, and return matching members for its entry in the manifest."""
    path.write_bytes(b"".join(blocks))
    hashes = [hashlib.sha256(block) for block in blocks]
    return {
        "bytes": sum(map(len, blocks)),
        "messages": sum(rows),
        "sha256": hashlib.sha256(b"".join(each.digest() for each in hashes)).hexdigest(),
        "blocks": [(len(f), n, h.hexdigest()) for f, n, h in zip(blocks, rows, hashes, strict=True)],
    }


def frames_of(out: Path, entry: PartEntry) -> list[bytes]:
    data, blocks = (out / entry.name).read_bytes(), list[bytes]()
    for size, _, _ in entry.blocks:
        blocks.append(data[:size])
        data = data[size:]
    return blocks


def largest(out: Path) -> PartEntry:
    return max(
        (entry for entry in manifest_of(out).parts if entry.role == "part"), key=lambda e: len(e.blocks)
    )


def cut_journal(out: Path, sql: str, *values: Any) -> int:
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        return db.execute(sql, values).rowcount


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


def largest_file(out: Path) -> Path:
    return max(out.glob("*.ndjson"), key=lambda path: path.stat().st_size)
