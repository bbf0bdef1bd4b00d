"""The session for code without asyncio: threads, forks, errors, and the end of the process."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chatrest import App, AsyncSession, NotFoundError, RequestInvalidError
from chatrest.examples.blocking import BlockingSession
from tests.cli.conftest import EmulatorThread

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def emulator() -> Iterator[EmulatorThread]:
    with EmulatorThread(users=3, messages=300) as emulator:
        yield emulator


@pytest.fixture
def chat(emulator: EmulatorThread) -> Iterator[BlockingSession]:
    app = emulator.emulator.app
    chat = BlockingSession(lambda: AsyncSession(app))
    yield chat
    chat.close()


def name(chat: BlockingSession) -> str:
    return chat.run(lambda session: session.users.get("user-001")).name


def test_threads_share_one_session(chat: BlockingSession) -> None:
    with ThreadPoolExecutor(8) as threads:
        sessions = list(threads.map(lambda _: chat.run(_itself), range(40)))
        assert len({id(session) for session in sessions}) == 1
        assert set(threads.map(lambda _: name(chat), range(40))) == {name(chat)}


async def _itself(session: AsyncSession) -> AsyncSession:
    return session


def test_the_items_of_a_list_come_page_by_page(chat: BlockingSession) -> None:
    def ids() -> Iterator[str]:
        return (message.id for message in chat.items(lambda session: session.messages.list_user("user-001")))

    assert next(ids())  # the rest is not asked for
    assert len(set(ids())) > 100


def test_an_error_is_that_of_the_call_and_the_next_call_works(chat: BlockingSession) -> None:
    with pytest.raises(NotFoundError):
        chat.run(lambda session: session.users.get("nobody"))
    assert name(chat)


def test_after_close_a_call_opens_another_session(chat: BlockingSession) -> None:
    first = chat.run(_itself)
    chat.close()
    chat.close()
    assert chat.run(_itself) is not first


def test_the_error_of_opening_the_session_is_raised_at_each_call() -> None:
    chat = BlockingSession(lambda: AsyncSession(App("a", "k")))  # an app without an address
    for _ in range(2):
        with pytest.raises(RequestInvalidError, match="no address"):
            name(chat)


@pytest.mark.parametrize("is_used_before", [False, True])
def test_each_forked_worker_has_a_session(chat: BlockingSession, is_used_before: bool) -> None:
    """As a server that preloads, and as Celery: the parent may have used it."""
    if is_used_before:
        assert name(chat)
    context = multiprocessing.get_context("fork")
    answers: Any = context.SimpleQueue()

    def work(ask: Callable[[BlockingSession], str]) -> None:
        answers.put((os.getpid(), ask(chat), ask(chat)))
        chat.close()

    workers = [context.Process(target=work, args=(name,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    received = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len({pid for pid, *_ in received}) == 3
    assert {text for _, *texts in received for text in texts} == {name(chat)}


def test_the_end_of_the_process_closes_the_session_without_a_warning(emulator: EmulatorThread) -> None:
    code = (
        "from chatrest import App, AsyncSession\n"
        "from chatrest.examples.blocking import BlockingSession\n"
        "chat = BlockingSession(lambda: AsyncSession(App.from_env()))\n"
        "print(chat.run(lambda session: session.users.get('user-001')).uid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | emulator.env, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("user-001\n", "", 0)
