"""The example that loads an export into SQLite or Postgres: both are real ones."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.examples import warehouse
from chatrest.examples.loads import exit_without, play_nights
from chatrest.examples.warehouse import LoadError, load, main
from chatrest.export import Plan, changes, export, read_raw, read_table
from tests.stored import START, StoredRuns, record

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path(shutil.which("postgres") or "").parent)
WITHOUT_ROOT = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
"""The server refuses to be started by root."""


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a Postgres server; the kernel ends it with this process, however that ends."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    setpriv = shutil.which("setpriv")
    if setpriv is None or not (POSTGRES / "initdb").exists():
        pytest.skip("Postgres (package postgresql) or setpriv (package util-linux) is not installed")
    account = [setpriv, "--pdeathsig=QUIT", *WITHOUT_ROOT]
    with TemporaryDirectory(prefix="pg") as folder:
        if WITHOUT_ROOT:
            shutil.chown(folder, "nobody", "nogroup")
        data, status = Path(folder, "data"), Path(folder, "data", "postmaster.pid")
        make = [*account, POSTGRES / "initdb", "-D", data, "-U", "chat", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*make, "--locale=C", "--no-sync"], check=True, capture_output=True, cwd="/")
        serve = [*account, POSTGRES / "postgres", "-D", data, "-k", folder]
        settings = ["-c", "listen_addresses=", "-c", "fsync=off"]
        with subprocess.Popen([*serve, *settings], stderr=subprocess.DEVNULL, cwd="/") as process:
            try:
                while not status.exists() or "ready" not in status.read_text():
                    assert process.poll() is None, "Postgres has ended"
                    time.sleep(0.01)
                yield f"postgresql:///postgres?user=chat&host={folder}"
            finally:
                process.send_signal(signal.SIGQUIT)


class Database:
    """A new and empty database."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, sql: str) -> list[Any]:
        if self.url.startswith("sqlite"):
            connection: Any = sqlite3.connect(self.url.removeprefix("sqlite:///"))
        else:
            import psycopg

            connection = psycopg.connect(self.url, autocommit=True)
        with closing(connection) as database:
            cursor = database.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def messages(self) -> dict[str, Any]:
        rows = self.ask("SELECT id, record FROM messages")
        assert len(rows) == len(dict(rows))
        return {key: record if isinstance(record, dict) else json.loads(record) for key, record in rows}

    def texts(self) -> dict[str, str]:
        return dict(self.ask("SELECT id, text FROM messages"))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path}/chat.sqlite")
    database = Database(request.getfixturevalue("server"))
    schema = f"test_{time.time_ns()}"
    database.ask(f"CREATE SCHEMA {schema}")
    return Database(f"{database.url}&options=-csearch_path%3D{schema}")


@pytest.mark.usefixtures("fast_ramp")
def test_night_after_night_the_database_holds_what_the_export_holds(
    database: Database, tmp_path: Path
) -> None:
    out, lines = str(tmp_path / "out"), list[str]()
    options: dict[str, Any] = {"tables": ("users", "members"), "recheck": 86_400}
    if database.url.startswith("sqlite"):
        out, options["journal"] = f"file://{out}", tmp_path / "journal"  # an object store

    async def night(session: AsyncSession) -> None:
        await export(session, out, Plan(all_users=True), **options)
        lines.append(load(out, database.url))
        deleted = {change.id for change in changes(out, after=len(lines) - 1) if change.kind == "deleted"}
        stored = {each["id"]: each for each in map(json.loads, read_raw(out)) if each["id"] not in deleted}
        assert database.messages() == stored
        assert len(deleted) == len(lines) - 1
        for table, key in (("users", "uid"), ("members", "uid, guid")):
            records = [json.loads(each) for each in read_table(out, table)]
            rows = sorted(tuple(each[name] for name in key.split(", ")) for each in records)
            assert [tuple(row) for row in database.ask(f"SELECT {key} FROM {table} ORDER BY {key}")] == rows
            assert rows

    play_nights(night)
    assert lines == ["run 1: 402 new", "run 2: 5 new, 1 changed, 1 deleted"]
    [[sent, edited]] = database.ask("SELECT sent_at, edited_at FROM messages WHERE text = 'good evening'")
    assert str(sent) <= str(edited)
    assert load(out, database.url) == "run 2: nothing new"


def test_what_no_database_takes_is_replaced_and_all_else_stays(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    odd = {
        1: record(1, text="a\0b \ud83d \\u0000 \\\\ud800 😀"),
        2: record(2, text="wrong").replace(b"wrong", b"\xff"),
        3: record(3, sent_at=START * 1000 + 5, sender=7, receiver=None, parentId=12, data=[1]),
        4: record(4, sentAt="soon", editedAt=10**30, deletedAt=-(10**15), updatedAt={}),
        5: record(5, id="five\0"),
    }  # fmt: skip
    runs.run(odd.values())
    load(str(runs.folder), database.url)
    texts = database.texts()
    assert texts == {
        "1": "a\ufffdb \ufffd \\u0000 \\\\ud800 😀", "2": "\ufffd", "3": None, "4": "message 4",
        "five\ufffd": "message 5",
    }  # fmt: skip
    rows = database.ask(
        "SELECT sender, receiver, parent_id, sent_at FROM messages WHERE id IN ('3', '4') ORDER BY id"
    )
    assert [row[:3] for row in rows] == [("7", None, "12"), ("ann", "bob", None)]
    assert str(rows[0][3]).replace("T", " ") == "2020-09-13 12:26:40.005000+00:00"
    assert rows[1][3] is None
    runs.run(deleted=["five\0"])
    load(str(runs.folder), database.url)
    assert database.texts().keys() == {"1", "2", "3", "4"}


DYING = """
import os, signal, sys
from chatrest.examples import warehouse
def dying(out, after, told=warehouse.changes):
    news = told(out, after=after)
    return type("Changes", (), {"run": news.run, "__iter__": lambda self: cut(news)})()
def cut(news):
    for number, change in enumerate(news):
        if number == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield change
warehouse.changes = dying
warehouse.load(*sys.argv[1:3])
"""


def test_a_load_that_is_killed_has_changed_nothing(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")

    def is_killed(at: int) -> None:
        command = [sys.executable, "-c", DYING, str(runs.folder), database.url, str(at)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL

    runs.run(record(number, text="a") for number in range(1, 3001))
    load(str(runs.folder), database.url)
    runs.run(
        (record(number, text="a") for number in range(3001, 6001)),
        changed=[record(number, text="b") for number in range(1, 1001)],
        deleted=range(2001, 3001),
    )
    is_killed(4500)
    assert database.texts() == {str(number): "a" for number in range(1, 3001)}
    runs.run(changed=[record(1, text="a")], restored=[2001])
    assert load(str(runs.folder), database.url) == "run 3: 3000 new, 999 changed, 999 deleted"
    kept = [*range(1, 2002), *range(3001, 6001)]
    assert database.texts() == {str(number): "b" if 1 < number <= 1000 else "a" for number in kept}


def test_another_export_is_refused_until_it_shall_replace_what_is_there(tmp_path: Path) -> None:
    first, second = StoredRuns(tmp_path / "first"), StoredRuns(tmp_path / "second", format="sqlite")
    database = Database(f"sqlite:///{tmp_path}/chat.sqlite")
    first.run([record(1, text="a"), record(2, text="a")])
    load(str(first.folder), database.url)
    shutil.move(first.folder, tmp_path / "moved")
    assert load(str(tmp_path / "moved"), database.url) == "run 1: nothing new"
    second.run([record(2, text="b")], is_killed=True)
    second.run()  # its run 2 is the first one that has ended
    with pytest.raises(LoadError, match=r"not the export that was loaded last.* no run 1 of "):
        load(str(second.folder), database.url)
    assert database.texts() == {"1": "a", "2": "a"}
    main([str(second.folder), database.url, "--replace"])
    assert database.texts() == {"2": "b"}


def test_tables_of_another_program_are_left_alone(database: Database, tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1)])
    database.ask("CREATE TABLE users(uid text, name text, role text, status text, record text)")
    with pytest.raises(LoadError, match=r"users.* already exists"):
        load(str(runs.folder), database.url)
    with pytest.raises(Exception, match="messages"):
        database.texts()


def test_an_export_without_a_finished_run_is_refused(tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([record(1)], is_killed=True)
    with pytest.raises(LoadError, match="no run of this export has ended yet"):
        load(str(runs.folder), f"sqlite:///{tmp_path}/chat.sqlite")


@pytest.mark.parametrize(
    ("out", "url", "said"),
    [
        ("out", "mysql://x", "URL: expected sqlite:///FILE or postgresql://"),
        ("out", "postgresql://u:pass%zz@h/d", "URL is not an address of Postgres: postgresql://user@host"),
        ("out", "postgresql://u:secret@127.0.0.1:1/d", "postgresql: connection failed: .* refused"),
        ("out", "sqlite:///no/such/folder.sqlite", "sqlite: unable to open database file"),
        ("nothing", "sqlite://///{}/x.sqlite", "is not an export"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(out: str, url: str, said: str, tmp_path: Path) -> None:
    if url.startswith("postgresql"):
        pytest.importorskip("psycopg", reason="psycopg is not installed")
    StoredRuns(tmp_path / "out").run([record(1)])
    with pytest.raises(SystemExit, match=said) as error:
        main([str(tmp_path / out), url.format(tmp_path)])
    assert "pass" not in str(error.value)
    assert "secret" not in str(error.value)


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "psycopg", None)
    with pytest.raises(SystemExit, match=r"pip install 'psycopg\[binary\]'$"):
        main(["out", "postgresql:///chat"])


def test_a_missing_target_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["out"])
    assert (end.value.code, capsys.readouterr().err) == (2, "the second argument is missing: see --help\n")


def test_without_its_package_an_example_still_shows_its_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["dlt_source", "--help"])
    with pytest.raises(SystemExit) as end:
        exit_without("dlt", "pip install dlt", "A dlt source.")
    expected = "A dlt source.\nThis example needs dlt: pip install dlt\n"
    assert (end.value.code, capsys.readouterr().out) == (0, expected)
    monkeypatch.setattr("sys.argv", ["dlt_source"])
    with pytest.raises(SystemExit, match=r"^This example needs dlt: pip install dlt$"):
        exit_without("dlt", "pip install dlt", "A dlt source.")
