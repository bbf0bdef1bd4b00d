"""`messages`, `users`, `apps`, `send` and `token`: their output, their errors, and how to continue."""

import pytest
from msgspec.json import encode

from tests.support.cases import loop_over
from tests.support.commands import MakeProxy, Run

from .conftest import SECRETS, EmulatorThread, error_line, rows

TALK = ("messages", "user-002", "--on-behalf-of", "user-001")


def talk_ids(service: EmulatorThread) -> list[str]:
    ids = service.ask(lambda emulator: emulator.store.ids(conversation="user-001_user_user-002"))
    return [str(number) for number in ids]


def test_messages_are_printed_as_served_one_line_each(service: EmulatorThread, command: Run) -> None:
    result = command(*TALK, "--affix", "append")
    ids = talk_ids(service)
    served = service.ask(lambda emulator: emulator.store.records([int(number) for number in ids]))
    printed = result.stdout_bytes.replace(b',"reactedByMe":true', b"")
    assert printed == b"".join(record + b"\n" for record in served)
    assert len(served) > 50


def test_limit_and_page_limit_are_independent(
    service: EmulatorThread, command: Run, proxy: MakeProxy
) -> None:
    paths: list[str] = []
    with proxy(lambda number, path: paths.append(path)) as url:
        records = rows(command(*TALK, "--limit", "5", "--page-limit", "2", CHATREST_BASE_URL=url))
    assert len(records) == 5
    assert len(paths) == 3
    assert all("limit=2" in path for path in paths)


@loop_over(
    ("args", "status", "words"),
    [
        (("messages", "nobody"), 1, "nobody"),
        (("messages", "user-001", "--on-behalf-of", "nobody"), 1, "nobody"),
        (("messages", ".."), 2, "UID '..'"),
        (("messages", "\udcff"), 2, "surrogate"),
        (("messages", "bob", "--on-behalf-of", "a\r\nx: y"), 2, "--on-behalf-of 'a"),
        (
            ("messages", "bob", "--since", "@5", "--until", "@2"),
            2,
            "--until 2: the window ends before it begins; expected 5 or later",
        ),
        (
            ("messages", "bob", "--since", "2026-02-01", "--until", "2026-01-01"),
            2,
            "--until 2026-01-01: the window ends before it begins; expected 2026-02-01 or later",
        ),
        (("users", "--tags", ""), 2, "--tags '': expected a non-empty text"),
        (("messages", "bob", "--limt", "3"), 2, "'--limt' (did you mean '--limit'?)"),
        (("call", "users.list", "--cursor", "AAAA"), 2, "cursor token is damaged"),
        (("messages", "bob", "--cursor", SECRETS[0]), 2, "cursor token is damaged"),
        (
            ("users", "--search-key", SECRETS[0], "--search-in", "uid", "--tags", f"{SECRETS[0]},x"),
            2,
            "comma",
        ),
    ],
)
def test_a_wrong_argument_is_one_error_line(
    command: Run, args: tuple[str, ...], status: int, words: str
) -> None:
    result = command(*args)
    assert words in error_line(result, status)
    assert result.stdout == ""


def test_keys_and_control_characters_of_a_reply_are_removed(command: Run, proxy: MakeProxy) -> None:
    message = f"bad \x1b[2J\nkey {SECRETS[0]}".encode().replace(b"\x1b", b"\\u001b").replace(b"\n", b"\\n")
    with proxy(lambda *_: (401, b'{"error": {"message": "%b"}}' % message)) as url:
        error = error_line(command("users", CHATREST_BASE_URL=url))
    assert "bad \\x1b[2J key [hidden]" in error


def test_users_are_printed_as_served(service: EmulatorThread, command: Run) -> None:
    result = command("users")
    uids = service.ask(lambda emulator: emulator.store.people.uids())
    served = service.ask(lambda emulator: [encode(emulator.store.people.user(uid)) for uid in uids])
    assert result.stdout_bytes == b"".join(record + b"\n" for record in served)


def test_apps_are_listed_without_their_keys(command: Run, proxy: MakeProxy) -> None:
    assert [row["id"] for row in rows(command("apps"))] == ["emulated"]
    body = b'{"data":[{"id":"a1","name":"A","apiKeys":[{"apiKey":"deep-secret"}],"accessKey":"deep-secret"}]}'
    with proxy(lambda *_: (200, body)) as url:
        [row] = rows(command("apps", CHATREST_MANAGEMENT_URL=url))
    assert row == {"id": "a1", "name": "A", "apiKeys": "[hidden]", "accessKey": "[hidden]"}


def test_send_prints_the_stored_message(service: EmulatorThread, command: Run) -> None:
    [row] = rows(command("send", "user-002", "hé ☃", "--on-behalf-of", "user-001"))
    assert (row["sender"], row["receiver"], row["data"]["text"]) == ("user-001", "user-002", "hé ☃")
    stored = service.ask(lambda emulator: emulator.store.message(int(row["id"])))
    assert command("messages", "user-002", "--on-behalf-of", "user-001", "--limit", "1").stdout_bytes == (
        (stored or b"") + b"\n"
    )


@loop_over(
    ("args", "status", "words"),
    [
        (("nobody", "x"), 1, "nobody"),
        (("user-001", ""), 2, "TEXT ''"),
        (("user-001", "x", "--receiver-type", "herd"), 2, "herd"),
        (("user-001",), 2, "Missing argument 'TEXT'"),
    ],
)
def test_an_invalid_message_is_one_error_line(
    command: Run, args: tuple[str, ...], status: int, words: str
) -> None:
    result = command("send", *args)
    assert words in error_line(result, status)
    assert result.stdout == ""


def test_send_is_not_repeated_if_the_outcome_is_unknown(command: Run, proxy: MakeProxy) -> None:
    failing = proxy(lambda *_: (500, b"{}"))
    with failing as url:
        error = error_line(command("send", "b", "x", CHATREST_BASE_URL=url))
    [sent] = failing.bodies
    assert "may or may not have been applied" in error
    assert error.endswith(f"the message's muid is {sent['muid']}: look for it before you send it again")


def test_send_and_call_add_a_fresh_muid(command: Run) -> None:
    first, second = (rows(command("send", "user-002", "x", "--on-behalf-of", "user-001")) for _ in range(2))
    assert len(first[0]["muid"]) == 32
    assert first[0]["muid"] != second[0]["muid"]
    body = 'body={"receiver": "user-002", "type": "text", "data": {"text": "x"}}'
    assert len(rows(command("call", "messages.send", body))[0]["muid"]) == 32
    assert rows(command("call", "messages.send", body, "muid=mine"))[0]["muid"] == "mine"


SENT = b'{"data": {"id": "1", "sender": "app_system", "receiver": "bob", "data": {}}}'
SENDING = [
    ["send", "bob", "x", "--on-behalf-of", "alice"],
    ["call", "messages.send", "receiver=bob", "type=text", 'data={"text": "x"}', "on_behalf_of=alice"],
]


@pytest.mark.parametrize("args", SENDING, ids=["send", "call"])
def test_an_acting_user_that_the_service_ignored_is_one_warning(
    command: Run, proxy: MakeProxy, args: list[str]
) -> None:
    with proxy(lambda *_: (200, SENT)) as url:
        result = command(*args, CHATREST_BASE_URL=url)
    assert (result.exit_code, result.stdout_bytes) == (0, SENT[9:-1] + b"\n")
    [warning] = result.stderr.splitlines()
    assert warning.startswith("chatrest: warning: messages.send: the service ignored the acting user")


def test_token_prints_the_token_and_nothing_else(service: EmulatorThread, command: Run) -> None:
    first = command("token", "user-001")
    assert first.exit_code == 0
    assert first.stdout.startswith("user-001_")
    assert first.stdout == command("token", "user-001").stdout
    assert first.stdout != command("token", "user-001", "--force").stdout
    [row] = rows(command("token", "user-001", "--json"))
    assert f"{row['authToken']}\n" == command("token", "user-001").stdout
