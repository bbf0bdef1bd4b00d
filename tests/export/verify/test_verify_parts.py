"""`verify` of a folder of exports: the proof of each part, and what only all of them together can show."""

import shutil
from pathlib import Path

import pytest

from chatrest.export import Plan, export, seal, verify
from chatrest.export.plan.parts import NAME as PARTS, Foreign
from chatrest.export.read.facts import facts_of
from tests.support.damaged_exports import contents_of, flipped, places_of
from tests.support.export_runs import served
from tests.support.stored_exports import StoredParts, StoredRuns, record


@pytest.fixture
def parts(tmp_path: Path) -> StoredParts:
    parts = StoredParts(tmp_path / "out")
    parts.run(range(1, 31))
    return parts


def test_all_parts_are_proven(parts: StoredParts) -> None:
    steps = list[tuple[int, int]]()
    result = verify(parts.folder, progress=lambda *step: steps.append(step))
    assert (result.ok, result.problems, result.exports, result.messages) == (True, [], 3, 30)
    assert (result.first, result.last, result.files) == (1, 30, 3)
    assert steps == sorted(steps)
    assert steps[-1] == (result.bytes, result.bytes)


def test_the_problem_of_a_part_names_the_part(parts: StoredParts) -> None:
    [file] = (parts.folder / "part=01" / "messages").rglob("*.ndjson")
    with flipped(file, 100):
        result = verify(parts.folder)
    name = file.relative_to(parts.folder).as_posix()
    assert (result.ok, result.messages, places_of(result)) == (False, 20, [("damaged", name)])
    [problem] = result.problems
    assert f"restore {name} from" in problem.remedy
    aside = parts.folder / "part=01" / "damaged" / f"{name.removeprefix('part=01/')}.damaged-1"
    assert f"`mkdir -p {aside.parent} && mv -i {file} {aside}`" in problem.remedy
    assert f"`chatrest export {parts.folder}` again" in problem.remedy


def test_a_part_that_has_not_begun_is_a_problem(parts: StoredParts) -> None:
    shutil.rmtree(parts.folder / "part=02")
    result = verify(parts.folder)
    assert (result.ok, places_of(result), result.until) == (False, [("incomplete", "part=02")], None)
    (parts.folder / PARTS).unlink()
    assert verify(parts.folder).ok, "nothing says that there is a third"


@pytest.mark.parametrize("id", ["4", "text-4"])
def test_a_message_in_two_parts_is_a_problem(parts: StoredParts, id: str) -> None:
    for part in parts.each[1:]:
        part.run([record(4, id=id)])
    result = verify(parts.folder)
    assert [(each.kind, each.subject) for each in result.problems] == [("duplicate", "part=02")]
    assert result.problems[0].text == f"1 message that another part has as well: {id}"


def test_apps_may_have_the_same_ids(tmp_path: Path) -> None:
    for app in ("one", "two"):
        StoredRuns(tmp_path / f"app={app}").run([record(1)])
    result = verify(tmp_path)
    assert (result.ok, result.messages, result.until) == (True, 2, None)


async def test_messages_that_a_part_did_not_take_in_are_a_problem(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(120, loose=False) as service:
        await export(service.session, out, Plan(all_users=True), parts=3, tables=["users"])
        result = verify(out)
        assert (result.ok, result.problems, result.notes, result.messages) == (True, [], [], 120)
        assert (result.until, result.plan) == (120, "all users")
        [left, *_] = out.glob("part=*/foreign/*.ids")
        content = left.read_bytes()
        left.write_bytes(Foreign(names=["m-1"]).encoded())
        [problem] = verify(out).problems
        part = left.parent.parent.name
        assert (problem.kind, problem.subject) == ("incomplete", part)
        assert problem.text == "what other parts have left in foreign/ was not taken in"
        left.write_bytes(content)
        service.emulator.store.add_message("ann", "bob", text="later")
        await export(service.session, out, part=0)
        assert [(each.subject, each.text) for each in verify(out).problems] == [
            (f"part=0{number}", "it was not read to its end since the users were listed last")
            for number in (1, 2)
        ]
        facts = facts_of(str(out))
        assert (facts.state, facts.until) == ("not complete", 120)
        assert [(each.export, each.state) for each in facts.parts] == [
            ("part=00", "complete"), ("part=01", "not complete"), ("part=02", "not complete"),
        ]  # fmt: skip
        await export(service.session, out)
        assert (verify(out).ok, verify(out).messages) == (True, 121)
        root = seal(out, tmp_path / "bag").root
        assert verify(tmp_path / "bag", root=root.upper()).ok
        assert set(contents_of(tmp_path / "bag" / "data")) == set(contents_of(out))
