"""The journal of an import: of one import, in one process, and right after every step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest import AsyncSession, RequestInvalidError
from chatrest.importing import LineNote, run
from chatrest.importing.import_journal import FileState, ImportJournal
from chatrest.importing.importer import batches
from chatrest.importing.input_lines import LinePosition, read_lines
from tests.importing.conftest import Write, message, user

APP = "app-1 at https://here.example/v3"
FILES: list[tuple[str, Any]] = [("users.ndjson", "users"), ("messages.ndjson", "messages")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def journal(path: Path) -> Iterator[ImportJournal]:
    journal = ImportJournal(path, APP, FILES)
    yield journal
    journal.close()


def at(line: int) -> LinePosition:
    return LinePosition(line, line * 10, bytes([line % 256]) * 20)


def note(line: int, code: str = "invalid") -> LineNote:
    return LineNote(file="users.ndjson", line=line, code=code, message="no", key="\ud800")


def test_a_journal_belongs_to_one_app_and_the_same_files(journal: ImportJournal, path: Path) -> None:
    journal.close()
    with pytest.raises(
        RequestInvalidError, match=r"of an import into app-1 at .*, and this one goes into app-2"
    ):
        ImportJournal(path, "app-2", FILES)
    with pytest.raises(RequestInvalidError, match=r"of an import of users\.ndjson \(users\), messages"):
        ImportJournal(path, APP, FILES[:1])


steps = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(1, 60), st.integers(0, 3), st.sampled_from(["begin", "finish", "open"])
    ),
    max_size=25,
)


@given(steps)
def test_the_state_equals_that_of_a_model(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[int, int, int, str]]
) -> None:
    path = tmp_path_factory.mktemp("model") / "journal"
    journal = ImportJournal(path, APP, FILES)
    settled, begun, counts, refused = [0, 0], [0, 0], [0, 0], [0, 0]
    for file, size, failures, action in actions:
        end = settled[file] + size
        if action == "begin":
            begun[file] = max(begun[file], end)
            journal.begin(file, at(end))
        elif action == "finish":
            lines = range(settled[file] + 1, min(settled[file] + failures, end) + 1)
            journal.finish(file, at(end), [*map(note, lines), note(end, "skipped")], imported=size)
            settled[file], counts[file] = end, counts[file] + size
            refused[file] += len(lines)
        else:
            journal.close()
            journal = ImportJournal(path, APP, FILES)
    for file in (0, 1):
        begun_position = at(begun[file]) if begun[file] > settled[file] else LinePosition()
        settled_position = at(settled[file]) if settled[file] else LinePosition()
        assert journal.state(file) == FileState(settled_position, begun_position)
        result = journal.results()[file]
        assert (result.lines, result.imported, result.refused) == (settled[file], counts[file], refused[file])
    assert len(journal.refused()) == sum(refused)
    journal.close()


async def test_a_file_that_has_changed_is_refused(session: AsyncSession, write: Write) -> None:
    lines = [user(n) for n in range(60)]
    await run(session, [write("users.ndjson", lines)])
    for changed in ([user(0, name="Eve"), *lines[1:]], lines[:59], lines[1:], []):
        with pytest.raises(RequestInvalidError, match=r"has changed: its first 60 lines|no record shows"):
            await run(session, [write("users.ndjson", changed)])


async def test_a_line_of_a_request_under_way_may_not_change_either(
    session: AsyncSession, write: Write
) -> None:
    lines = [user(n) for n in range(10)]
    path = write("users.ndjson", lines)
    app = f"{session.app.app_id} at {session.app.chat_url}"
    journal = ImportJournal(path.with_name("users.ndjson.import-journal"), app, FILES[:1])
    *_, last = read_lines(path)
    journal.begin(0, last.end)
    journal.close()
    write("users.ndjson", [*lines[:5], user(55), *lines[6:]])
    with pytest.raises(RequestInvalidError, match="has changed: its first 10 lines"):
        await run(session, [path])
    assert [each async for each in session.users.list()] == []
    write("users.ndjson", lines)
    assert (await run(session, [path])).imported == 10


@given(st.lists(st.integers(0, 30), max_size=200), st.data())
def test_batches_have_every_line_once_and_resume_at_any_line(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], data: st.DataObject
) -> None:
    import json

    path = tmp_path_factory.mktemp("lines") / "messages.ndjson"
    path.write_text("".join(f"{json.dumps(message(n)) if n else 'damaged'}\n" for n in numbers))
    whole = list(batches("f", "messages", read_lines(path)))
    lines = sorted(
        [entry.end.line for batch in whole for entry in batch.records]
        + [note.line for batch in whole for note in batch.notes]
    )
    assert lines == list(range(1, len(numbers) + 1))
    for batch in whole:
        keys = [entry.key for entry in batch.records]
        assert len(set(keys)) == len(keys) <= 50
    if whole:
        number = data.draw(st.integers(0, len(whole) - 1))
        rest = list(batches("f", "messages", read_lines(path, whole[number].end)))
        assert rest == whole[number + 1 :]
