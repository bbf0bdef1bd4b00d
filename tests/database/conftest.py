"""Databases of two kinds, both real: a SQLite file, and a schema of a separate Postgres server."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path(shutil.which("postgres") or "").parent)
WITHOUT_ROOT = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
"""The server refuses to be started by root."""
_SCHEMAS = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a Postgres server; the kernel ends it with this process in every case."""
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
    def __init__(self, url: str) -> None:
        self.url = url
        self.is_sqlite = url.startswith("sqlite")

    def ask(self, sql: str) -> list[Any]:
        if self.is_sqlite:
            connection: Any = sqlite3.connect(self.url.removeprefix("sqlite:///"))
        else:
            import psycopg

            connection = psycopg.connect(self.url, autocommit=True)
        with closing(connection) as database:
            cursor = database.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def records(self) -> dict[str, Any]:
        rows = self.ask("SELECT id, raw FROM messages")
        assert len(rows) == len(dict(rows))
        return {key: json.loads(raw) if isinstance(raw, str) else raw for key, raw in rows}

    def texts(self) -> dict[str, str]:
        return dict(self.ask("SELECT id, text FROM messages"))

    def deleted(self) -> set[str]:
        return {key for (key,) in self.ask("SELECT id FROM messages WHERE deleted_reason IS NOT NULL")}

    def state(self) -> list[Any]:
        """Return all that is in it, or nothing where it has no tables."""
        try:
            names = ("messages", "versions", "users", "chatrest_load")
            return [sorted(map(str, self.ask(f"SELECT * FROM {name}"))) for name in names]
        except Exception as error:
            assert "no such table" in str(error) or "does not exist" in str(error)  # noqa: PT017
            return []


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path}/chat.sqlite")
    database = Database(request.getfixturevalue("server"))
    schema = f"test_{os.getpid()}_{next(_SCHEMAS)}"
    database.ask(f"CREATE SCHEMA {schema}")
    return Database(f"{database.url}&options=-csearch_path%3D{schema}")


@pytest.fixture
def chat(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path}/chat.sqlite")
