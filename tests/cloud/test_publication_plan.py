from pathlib import Path

import pytest
from chatrest.cloud.publication_plan import (
    EMPTY,
    LocalFile,
    PublishedFile,
    Version,
    decode_version,
    leftovers,
    plan_publication,
    stored_name,
    unreferenced,
    worklist,
)

from chatrest.cloud.store_errors import ObjectStoreError

HASHES = [character * 64 for character in "abc"]
A = LocalFile("x/a.ndjson", Path("a"), 1, HASHES[0])
B = LocalFile("b", Path("b"), 2, HASHES[1])


def published(file: LocalFile, number: int) -> PublishedFile:
    return PublishedFile(file.name, stored_name(file.name, number, file.sha256), file.size, file.sha256)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "a-7-aaaaaaaaaaaaaaaa"),
        ("x/month=1/a.ndjson.gz", "x/month=1/a-7-aaaaaaaaaaaaaaaa.ndjson.gz"),
        (".hidden", "-7-aaaaaaaaaaaaaaaa.hidden"),
    ],
)
def test_the_name_of_an_object_keeps_folder_and_suffixes(name: str, expected: str) -> None:
    assert stored_name(name, 7, HASHES[0]) == expected


def test_unchanged_and_kept_files_keep_their_objects_and_others_are_sent() -> None:
    kept = PublishedFile("runs", "runs-1-x", 3, "d")
    former = Version(4, [published(A, 2), kept, published(LocalFile("b", Path(), 2, HASHES[2]), 3)])
    plan = plan_publication([A, B], former, kept=["runs", "unknown"])
    assert plan.version.files == [published(B, 5), kept, published(A, 2)]
    assert plan.send == [(published(B, 5), B)]
    names = worklist(plan, former, ["b-5-leftover", "b-4-0123456789abcdef"])
    assert names == [
        "b-3-cccccccccccccccc",
        "b-4-0123456789abcdef",
        published(B, 5).stored_as,
        "b-5-leftover",
    ]
    assert unreferenced(plan.version, [*names, "b-6-0123456789abcdef"]) == [
        "b-3-cccccccccccccccc", "b-4-0123456789abcdef",
    ]  # fmt: skip


def test_the_same_files_need_no_new_version_and_other_facts_do() -> None:
    current = Version(3, [published(B, 1), published(A, 3)])
    plan = plan_publication([A, B], current)
    assert (plan.is_current, plan.version, plan.send) == (True, current, [])
    assert plan_publication([A, B], current, complete=False).version.number == 4
    assert not plan_publication([], EMPTY).is_current


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"[]", b'{"number": 1}', b'{"number": 1, "files": [], "format": 2}',
        Version(1, [PublishedFile("../a", "a", 1, "")]).encoded(),
        Version(1, [PublishedFile("a", "/a", 1, "")]).encoded(),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error(data: bytes) -> None:
    with pytest.raises(ObjectStoreError, match=r"^s3://b/manifest.json is damaged"):
        decode_version(data, "s3://b/manifest.json")


def test_a_worklist_forgets_what_is_not_stored_any_more() -> None:
    gone, stored, under_way = (f"a-{number}-0123456789abcdef.ndjson" for number in (3, 4, 6))
    assert leftovers([gone, stored, under_way], {stored}, Version(5, [])) == [stored, under_way]
