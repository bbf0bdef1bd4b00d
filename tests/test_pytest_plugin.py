"""The plugin as users have it: in a separate pytest, in both modes, and without pytest-asyncio."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ASYNCIO = ("-p", "pytest_asyncio.plugin")
LOOPS = "asyncio_default_fixture_loop_scope = function\n"
SUITE = """
import pytest
from aiohttp import ClientSession
from chatrest import DeadlineExceededError, NewMessage
from chatrest.emulator import First, Latency, RateLimit, Status
from chatrest.export import Plan, export

async def test_defaults(chatrest_emulator, chatrest_session):
    assert len(chatrest_emulator.store.ids()) == 100
    sent = await chatrest_session.messages.send(NewMessage.text("user-002", "hi"), on_behalf_of="user-001")
    assert chatrest_emulator.store.ids()[-1] == int(sent.id) == 101

@pytest.mark.chatrest(users=3, messages=7, groups=0, weather=[Latency(500.0), Status(503, when=First(2))])
async def test_marked(chatrest_session, chatrest_emulator, chatrest_time):
    assert len(await chatrest_session.messages.list().collect()) == 7
    assert chatrest_emulator.requests[0].fault == "latency+status"
    assert chatrest_time.slept.count(500.0) == len(chatrest_emulator.requests) == 4

@pytest.mark.chatrest(limit=RateLimit(per_window=2, window=60))
async def test_limited(chatrest_session, chatrest_emulator, chatrest_time):
    for _ in range(7):
        await chatrest_session.users.list().limit(1).collect()
    assert chatrest_emulator.limited.allowed == 7
    assert chatrest_time.now - 1_700_000_000 >= 120

@pytest.mark.chatrest(weather=[Latency(5.0)])
async def test_deadline(chatrest_session):
    with pytest.raises(DeadlineExceededError):
        await chatrest_session.with_options(deadline=2.0).users.get("user-001")
    await chatrest_session.with_options(deadline=6.0).users.get("user-001")

@pytest.mark.chatrest
async def test_the_mark_alone_is_enough():
    import asyncio
    assert asyncio.get_running_loop()

async def test_exports_have_the_same_time(chatrest_session, chatrest_time, tmp_path):
    chatrest_time.now += 3600.0
    report = await export(chatrest_session, tmp_path / "out", Plan(all_users=True))
    assert report.started == 1_700_003_600

@pytest.mark.chatrest(messages=9)
class TestNearest:
    async def test_of_the_class(self, chatrest_emulator):
        assert len(chatrest_emulator.store.ids()) == 9

    @pytest.mark.chatrest(messages=3)
    async def test_of_its_own(self, chatrest_emulator):
        assert len(chatrest_emulator.store.ids()) == 3

class TestOptions:
    @pytest.fixture
    def chatrest_emulator_options(self):
        return {"messages": 4, "users": 2}

    @pytest.fixture
    def chatrest_session_options(self):
        return {"concurrency": 3}

    async def test_options(self, chatrest_emulator, chatrest_session):
        await chatrest_session.users.list().collect()
        assert len(chatrest_emulator.store.ids()) == 4
        assert chatrest_session.pools["us"].concurrency == 3

async def test_a_mock_answers_whatever_aiohttp_is_there(chatrest_aioresponses):
    chatrest_aioresponses.get("https://chat.example.com/", payload={"data": []})
    async with ClientSession() as session, session.get("https://chat.example.com/") as response:
        assert await response.json() == {"data": []}

@pytest.mark.chatrest("users")
async def test_wrong_mark(chatrest_emulator):
    raise AssertionError
"""


def run(tmp_path: Path, suite: str, *options: str, lines: str = LOOPS) -> str:
    """Return the output of a pytest with this plugin, and none of those that are installed here."""
    (tmp_path / "test_suite.py").write_text(suite)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{lines}")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers"]
    done = subprocess.run(
        [*command, "-p", "chatrest.pytest_plugin", *options, str(tmp_path)],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("mode", "chosen", "counts"),
    [("strict", "", "10 passed, 1 error"),
     ("auto", "defaults or mock or wrong", "2 passed, 8 deselected, 1 error")],
    ids=["strict", "auto"],
)  # fmt: skip
def test_both_modes_need_no_mark_of_asyncio(tmp_path: Path, mode: str, chosen: str, counts: str) -> None:
    output = run(tmp_path, SUITE, *ASYNCIO, "-o", f"asyncio_mode={mode}", "-k", chosen)
    assert counts in output, output
    assert "expected only keyword arguments, those of Emulator" in output


WITHOUT = """
def test_of_something_else():
    import sys
    assert "aiohttp" not in sys.modules
    assert "chatrest.emulator" not in sys.modules

def test_of_time(chatrest_time, chatrest_emulator_options):
    assert chatrest_time.clock() == chatrest_time.now

def test_of_the_emulator(chatrest_session):
    raise AssertionError
"""


def test_without_pytest_asyncio(tmp_path: Path) -> None:
    output = run(tmp_path, WITHOUT, lines="")
    assert "2 passed, 1 error" in output, output
    assert "the fixture chatrest_session needs pytest-asyncio" in output


def test_pytest_lists_the_fixtures_with_their_descriptions(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    output = run(tmp_path, "", *ASYNCIO, "--fixtures")
    for line in ("A new running `chatrest.emulator.Emulator`", "An open `AsyncSession`", "`slept` lists"):
        assert line in output
    assert any(line.startswith("chatrest(**options)") for line in pytestconfig.getini("markers"))


def test_importing_the_plugin_imports_no_other_module() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import chatrest.pytest_plugin; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "['chatrest', 'chatrest.pytest_plugin']", done.stdout + done.stderr
