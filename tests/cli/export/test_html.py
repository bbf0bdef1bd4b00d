"""`html` and `view`: an export as pages, written to a folder or served until the command is stopped."""

import asyncio
import json
import re
import signal
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from chatrest._cli.root import root
from chatrest.export import Plan, export
from tests.support.commands import Start, finish
from tests.support.export_runs import served

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("html") / "out"

    async def make() -> None:
        async with served(60) as service:
            await export(service.session, folder, Plan(everything=True))

    asyncio.run(make())
    return folder


def test_the_summary_has_the_path_of_the_written_site(backup: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    args = ["html", str(backup), str(site), "--title", "My <chats>"]
    result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.stderr
    summary = r"60 messages in \d conversations on \d+ pages\n\d+ files written, 0 removed\nopen "
    assert re.fullmatch(rf"{summary}{site}/index.html\n", result.stdout)
    assert "<title>My &lt;chats&gt;</title>" in (site / "index.html").read_text()
    again = CliRunner().invoke(root, [*args, "--json"])
    assert json.loads(again.stdout) == {
        "site": str(site), "messages": 60, "written": 0, "removed": 0, "missing": 0, "hidden": {},
    } | {name: json.loads(again.stdout)[name] for name in ("conversations", "pages")}  # fmt: skip
    assert CliRunner().invoke(root, [*args, "-q"]).output == ""


def test_a_part_is_chosen(backup: Path, tmp_path: Path) -> None:
    args = ["--user", "ann", "--user", "bob", "--since", "2020-10-01", "--until", "2020-10-31", "--redact"]
    result = CliRunner().invoke(root, ["html", str(backup), str(tmp_path / "site"), *args, "--json"])
    assert result.exit_code == 0, result.stderr
    assert 0 < json.loads(result.stdout)["messages"] < 60


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["html", "{out}", "{out}"], "is in the folder of the export"),
        (["html", "{out}", "{new}", "--conversation", "no"], "no message is of conversation 'no'"),
        (["html", "{out}", "{new}", "--redact-pattern", "/dev/null"], "expected a pattern per line"),
        (
            ["html", "{out}", "{new}", "--zip", "{out}/a.zip"],
            "--zip '.*a.zip': expected a place outside",
        ),
        (
            ["html", "{out}", "{out}/a.html", "--print"],
            "a.html': expected a place outside",
        ),
        (
            ["html", "{out}", "{new}", "--zip", __file__],
            "exists and is not a ZIP: expected",
        ),
        (
            ["verify", "{out}", "--report", "{out}/r.html"],
            "--report '.*r.html': expected a place outside",
        ),
        (
            ["load", "{out}", "sqlite:///{out}/a.db"],
            "DATABASE '.*a.db': expected a place outside",
        ),
        (["html", "{out}", "s3://bucket/site"], "SITE 's3://bucket/site': expected a path"),
        (["seal", "{out}", "s3://bucket/bag"], "BAG 's3://bucket/bag': expected a path"),
        (["html", "{new}/nothing", "{new}/site"], "nothing"),
        (["view", "{new}/nothing"], "nothing"),
        (["verify", "{out}", "--report", "x.pdf"], "--report 'x.pdf': expected a name that ends with .html"),
        (["seal", "{out}", "/dev"], "BAG '/dev': expected the path of a new folder; it exists"),
        (["load", "{out}", "mysql://x"], "DATABASE mysql://…: expected a file"),
        (["load", "{out}", ""], "DATABASE '': expected a file, sqlite:///FILE or postgresql://"),
    ],
)
def test_a_folder_that_cannot_be_shown_is_one_line_and_status_2(
    args: list[str], expected: str, backup: Path, tmp_path: Path
) -> None:
    given = [each.format(out=backup, new=tmp_path / "new") for each in args]
    result = CliRunner().invoke(root, given)
    assert result.exit_code == 2
    assert re.fullmatch(f"chatrest: .*{expected}.*\n", result.stderr)
    assert not list(tmp_path.rglob("*.view"))


def test_a_site_is_packed_and_a_document_is_written(backup: Path, tmp_path: Path) -> None:
    args = ["html", str(backup), str(tmp_path / "site"), "--zip", str(tmp_path / "site.zip")]
    result = CliRunner().invoke(root, args)
    assert result.exit_code == 0, result.stderr
    with ZipFile(tmp_path / "site.zip") as packed:
        names = {Path(name) for name in packed.namelist()}
    files = (path for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert names == {path.relative_to(tmp_path) for path in files}
    args = ["html", str(backup), str(tmp_path / "case.html"), "--print", "--timezone", "Asia/Tokyo"]
    result = CliRunner().invoke(root, args)
    assert re.fullmatch(r"60 messages in \d conversations\nopen and print .*/case.html\n", result.stdout)
    assert "Asia/Tokyo" in (tmp_path / "case.html").read_text()


def test_a_viewer_prints_an_address_and_runs_until_a_signal(backup: Path, process: Start) -> None:
    started = process("view", str(backup), "--title", "Seen")
    assert started.stdout is not None
    address = started.stdout.readline().decode().strip()
    with urllib.request.urlopen(address) as response:
        assert b"<title>Seen</title>" in response.read()
    started.send_signal(signal.SIGTERM)
    status, _, error = finish(started)
    assert (status, "Traceback" in error) == (0, False)
