"""The texts for users lead to each other, are complete, and show commands that exist and run."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import chatrest.errors
from chatrest._cli.root import root
from chatrest._cli.trial import contents, page_text
from chatrest._network import pool
from chatrest._resources import OPERATIONS
from tests.cli.conftest import EmulatorThread, no_waits
from tests.support.cases import loop_over
from tests.support.pages import GUIDE, PAGES, ROOT, blocks

__all__ = ["no_waits"]

LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`(chatrest [^`\n]+)`")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = {"completion", "emulator", "view"}
"""Commands that do not end, or print a script; those with an address of a store are not run either."""


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as hosts of Markdown make them."""
    titles = re.findall(r"^#+ (.+)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@loop_over("path", [*PAGES, "CHANGELOG.md"])
def test_every_link_leads_to_a_file_and_a_heading(path: str) -> None:
    wrong = []
    for link in LINK.findall(CODE.sub("", (ROOT / path).read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        file = (ROOT / path).parent / name if name else ROOT / path
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            wrong.append(link)
    assert not wrong


def test_errors_by_text_are_texts_of_the_library() -> None:
    section = PAGES["chatrest/guide/errors.md"].partition("## By text")[2].partition("\n## ")[0]
    texts = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "chatrest").rglob("*.py"))
    assert len(texts) > 15
    assert [text for text in texts if text not in code] == []


def test_the_guide_has_every_error_class() -> None:
    page = PAGES["chatrest/guide/errors.md"]
    bases = {"ChatRestError", "ApiError", "TransportError"}
    classes = {
        name
        for name in vars(chatrest)["__all__"]
        if name.endswith("Error") and isinstance(getattr(chatrest, name), type)
    }
    assert {name for name in classes - bases if f"`{name}`" not in page} == set()


def test_the_guide_has_every_variable() -> None:
    page = PAGES["chatrest/guide/environment.md"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "chatrest").rglob("*.py"))
    names = set(re.findall(r"\bCHATREST_[A-Z]+(?:_[A-Z]+)*\b", code))
    assert {
        name for name in names if f"`{name}`" not in page and not name.startswith("CHATREST_KEY_")
    } == set()


def test_the_files_that_the_architecture_names_are_there() -> None:
    map_of_package, _, way = PAGES["chatrest/guide/architecture.md"].partition("\n## The way of a message\n")
    for folder, text in ((ROOT / "chatrest", map_of_package), (ROOT / "chatrest" / "export", way)):
        rows = "\n".join(line for line in text.splitlines() if line.startswith("| "))
        names = re.findall(r"`(\w+/\w*(?:/\w+)*)`", rows)
        assert len(names) >= 12
        assert [
            name for name in names if not (folder / name).is_dir() and not (folder / f"{name}.py").exists()
        ] == []


def test_the_readme_of_a_package_has_each_of_its_files() -> None:
    readmes = [path for path in (ROOT / "chatrest").rglob("README.md") if path.parent.name != "guide"]
    missing = [
        str(file.relative_to(ROOT))
        for readme in readmes
        for file in readme.parent.glob("[!_]*.py")
        if f"`{file.stem}`" not in readme.read_text(encoding="utf-8")
    ]
    assert len(readmes) > 10
    assert missing == []


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the words of each `chatrest` in lines of a shell, without what their output goes to."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # an example that is no complete line of a shell
            words = shlex.split(line, comments=True)
            while "chatrest" in words:
                words = words[words.index("chatrest") + 1 :]
                ends = [index for index, word in enumerate(words) if word in {"|", ">", "&&", "&"}]
                yield words[: ends[0]] if ends else words


def check(words: list[str]) -> None:
    """Parse a command; a wrong name or option is an error. What has `COMMAND`, `OUT` or `…` is a form."""
    with CliRunner().isolation(), contextlib.suppress(click.exceptions.Exit):  # of --help
        context = root.make_context("chatrest", list(words))
        name, *rest = context._protected_args + context.args
        if not name.isupper():
            command = root.commands.get(name)
            assert command is not None, f"there is no command {name!r}"
            if rest and not any(word.isupper() or "…" in word for word in rest):
                command.make_context(name, rest, parent=context)


SHOWN = [
    (path, words)
    for language in ("", "sh")
    for path, code in blocks(language)
    for words in commands_of(code.replace('eval "$(chatrest', "chatrest").replace('&)"', ""))
] + [
    (path, words)
    for path, text in PAGES.items()
    for span in SPAN.findall(text)
    for words in commands_of(span)
]


def test_every_command_that_is_shown_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stems = ("users", "groups", "members", "bans")
    files = ["apps.toml", "uids.txt", "users.ndjson", "groups.ndjson", "messages.ndjson.gz"]
    for name in (*files, "messages.ndjson", *(f"OUT/{stem}/{stem}.ndjson" for stem in stems)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert len(SHOWN) > 100
    wrong = []
    for path, words in SHOWN:
        try:
            check(words)
        except (click.UsageError, AssertionError) as error:
            wrong.append(f"{path}: {shlex.join(words)}: {error}")
    assert wrong == []


@pytest.fixture
def apps() -> Iterator[tuple[EmulatorThread, EmulatorThread]]:
    """An app with messages, and an empty one for imports."""
    with (
        EmulatorThread(users=6, messages=60, groups=2) as full,
        EmulatorThread(users=0, messages=0, groups=0) as empty,
    ):
        yield full, empty


@pytest.mark.parametrize("path", dict.fromkeys(path for path, _ in blocks("sh")))
def test_the_commands_of_a_page_run(
    path: str, apps: tuple[EmulatorThread, EmulatorThread], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(pool, "DOCUMENTED_RATES", dict.fromkeys(pool.DOCUMENTED_RATES, 1000.0))
    lines = [line for each, code in blocks("sh") if each == path for line in code.splitlines()]
    for line in lines:
        words = shlex.split(line, comments=True)
        if words and words[0] == "chatrest" and words[1] not in NOT_RUN:
            _run(next(commands_of(line)), line, apps)
        elif words and words[0] in {"python", "duckdb"}:
            _query(*words)


def _run(words: list[str], line: str, apps: tuple[EmulatorThread, EmulatorThread]) -> None:
    done = CliRunner().invoke(root, words, env=apps[words[0] == "import"].env)
    assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"
    if ".ndjson" in line or ".json" in line:
        Path(shlex.split(line, comments=True)[-1]).write_bytes(done.stdout_bytes)
    elif "uids.txt" in line and ">" in line:
        uids = re.findall(r'"uid":"([^"]+)"', done.stdout)
        Path("uids.txt").write_text("\n".join(uids), encoding="utf-8")


def _query(program: str, option: str, code: str) -> None:
    """Run a line of Python, or of SQL, as the program would."""
    assert option == "-c"
    if program == "python":
        exec(code, {})
    else:
        duckdb = pytest.importorskip("duckdb")
        assert duckdb.sql(code).fetchall()


def test_the_reference_is_a_page_with_every_operation() -> None:
    text = (GUIDE / "operations.md").read_text(encoding="utf-8")
    assert all(f"### {name}\n" in text for name in OPERATIONS)


def test_docstrings_cite_sections_of_the_guide_that_exist() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "chatrest").rglob("*.py"))
    cited = set(re.findall(r'`chatrest guide ([\w-]+)`,\s+"([^"]+)"', code))
    assert len(cited) >= 3
    titles = {
        (page, title)
        for page in contents()
        for title in re.findall(r"^#+ (.+)$", CODE.sub("", page_text(page)), re.MULTILINE)
    }
    assert cited <= titles
