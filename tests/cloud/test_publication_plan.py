import pytest
from hypothesis import given, strategies as st

from chatrest.cloud.publication_plan import (
    EMPTY,
    LocalFile,
    Manifest,
    PublishedFile,
    Worklist,
    check_names,
    decode_manifest,
    decode_worklist,
    encoded,
    plan_publication,
    stored_name,
    unreferenced,
)
from chatrest.cloud.store_errors import ObjectStoreError
from chatrest.errors import RequestInvalidError

HASHES = [character * 64 for character in "abc"]
A, B = LocalFile("x/a.ndjson", 1, HASHES[0]), LocalFile("b", 2, HASHES[1])


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


def test_the_first_version_sends_everything() -> None:
    plan = plan_publication([A, B], EMPTY, Worklist())
    assert plan.manifest == Manifest(1, [published(B, 1), published(A, 1)])
    assert plan.send == plan.manifest.files
    assert plan.worklist == Worklist(1, sorted(plan.manifest.stored_names))
    assert not plan.is_current


def test_an_unchanged_file_keeps_its_object() -> None:
    plan = plan_publication([A, B], Manifest(4, [published(A, 2)]), Worklist(4))
    assert plan.send == [published(B, 5)]
    assert plan.manifest.files == [published(B, 5), published(A, 2)]


def test_a_changed_file_gets_another_object_and_the_old_one_is_unreferenced() -> None:
    plan = plan_publication(
        [LocalFile("b", 2, HASHES[2])], Manifest(1, [published(A, 1), published(B, 1)]), Worklist(1)
    )
    names = {published(A, 1).stored_as, published(B, 1).stored_as}
    assert plan.manifest.stored_names.isdisjoint(names)
    assert set(unreferenced(plan.manifest, plan.worklist)) == names


def test_the_same_files_need_no_new_version() -> None:
    current = Manifest(3, [published(B, 1), published(A, 3)])
    plan = plan_publication([A, B], current, Worklist(3))
    assert (plan.is_current, plan.manifest, plan.send) == (True, current, [])


def test_what_a_crashed_publication_sent_is_used() -> None:
    plan = plan_publication([A], EMPTY, Worklist(6, [published(A, 6).stored_as]))
    assert plan.send == [published(A, 6)]
    assert plan.leftovers == {published(A, 6).stored_as}
    assert plan.manifest.generation == 7


def test_what_may_be_under_deletion_is_not_used_again() -> None:
    name = published(A, 6).stored_as
    plan = plan_publication([A], EMPTY, Worklist(6, [name], [name]))
    assert plan.send == [published(A, 7)]
    assert name not in plan.worklist.known
    assert name in unreferenced(plan.manifest, plan.worklist)


file_names = st.sampled_from(["a", "b.x", "c/d-3-aaaaaaaaaaaaaaaa"])
files = st.lists(
    st.builds(LocalFile, file_names, st.just(1), st.sampled_from(HASHES)), unique_by=lambda file: file.name
)


@given(st.lists(st.tuples(files, st.sampled_from(["planned", "sent", "replaced", "deleting", "deleted"]))))
def test_no_plan_uses_a_name_again_or_deletes_a_file_that_readers_see(
    history: list[tuple[list[LocalFile], str]],
) -> None:
    """Publications that stop at any of their steps, one after the other."""
    current, worklist = EMPTY, Worklist()
    content: dict[str, str] = {}
    doomed: set[str] = set()
    for local, last_step in history:
        plan = plan_publication(local, current, worklist)
        assert {(file.name, file.sha256) for file in plan.manifest.files} == {
            (file.name, file.sha256) for file in local
        } or plan.is_current
        for file in plan.manifest.files:
            assert content.setdefault(file.stored_as, file.sha256) == file.sha256
            assert file.stored_as not in doomed
            assert plan.is_current or file.stored_as in plan.worklist.known
        if last_step == "planned":
            continue
        worklist = plan.worklist
        if last_step == "sent":
            continue
        current = plan.manifest
        if last_step == "replaced":
            continue
        names = unreferenced(current, worklist)
        assert current.stored_names.isdisjoint(names)
        doomed |= set(names)
        worklist = Worklist(worklist.number, [], names if last_step == "deleting" else [])


def test_manifest_and_worklist_are_read_back() -> None:
    manifest, worklist = Manifest(3, [published(A, 3)]), Worklist(3, ["a"], ["b"])
    assert decode_manifest(encoded(manifest), "s3://b/published.json") == manifest
    assert decode_worklist(encoded(worklist), "s3://b/publishing.json") == worklist


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"[]", b'{"generation": 1}', b'{"generation": 1, "files": [], "format": 2}',
        encoded(Manifest(1, [PublishedFile("../a", "a", 1, "")])),
        encoded(Manifest(1, [PublishedFile("a", "/a", 1, "")])),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_an_error(data: bytes) -> None:
    with pytest.raises(ObjectStoreError, match=r"^s3://b/published.json is damaged"):
        decode_manifest(data, "s3://b/published.json")


def test_a_damaged_worklist_is_an_error() -> None:
    with pytest.raises(ObjectStoreError, match="is damaged"):
        decode_worklist(encoded(Worklist(1, ["a/../../b"])), "s3://b/publishing.json")


@pytest.mark.parametrize("name", ["published.json", "publishing.json", "writer.json"])
def test_a_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(RequestInvalidError, match="is reserved"):
        check_names([name])
