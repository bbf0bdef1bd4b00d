"""`doctor` and `limits` by their output: each fault is a line that says what to do, and the last one."""

import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme

from chatrest._cli.doctor import Check, examine
from tests.support.cases import loop_over
from tests.support.commands import MakeProxy, Run
from tests.support.scripted_server import FaultyServer, reply

from .conftest import SECRETS, EmulatorThread, error_line

NAMES = ("versions", "settings", "connection", "service", "key")
USERS: dict[str, Any] = {"data": [{"uid": "ann"}], "meta": {}}
YEAR = timedelta(days=365)
NOW = datetime.now(UTC)


async def examined(monkeypatch: pytest.MonkeyPatch, address: str, **options: Any) -> dict[str, Check]:
    for name, value in (("APP_ID", "app-1"), ("API_KEY", "k3y-0f-th3-app"), ("BASE_URL", address)):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    return {check.name: check for check in await examine(**options)}


def server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("name", "years", "is_trusted", "words"),
    [
        ("localhost", (-1, 1), True, ""),
        ("localhost", (-1, 1), False, "its issuer is not trusted here"),
        ("localhost", (-2, -1), True, "has expired: check this machine's clock"),
        ("localhost", (1, 2), True, "not valid yet: check this machine's clock"),
        ("other.example", (-1, 1), True, "another host's: check the address"),
    ],
)
async def test_a_certificate_is_judged_before_a_key_is_sent(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    years: tuple[int, int],
    is_trusted: bool,
    words: str,
) -> None:
    ca = trustme.CA()
    begin, end = (NOW + each * YEAR for each in years)
    leaf = ca.issue_cert(name, not_before=begin, not_after=end)
    (tmp_path / "ca.pem").write_bytes(ca.cert_pem.bytes() if is_trusted else trustme.CA().cert_pem.bytes())
    # What aiohttp makes of SSL_CERT_FILE when it is loaded.
    trusted = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusted)
    async with FaultyServer(reply(USERS), tls=server_context(leaf)) as server:
        results = await examined(monkeypatch, server.url.replace("127.0.0.1", "localhost"))
    assert results["connection"].state == ("failed" if words else "ok")
    assert words in results["connection"].advice
    if not words:
        assert results["service"].state == "ok"
    else:
        assert list(results)[-1] == "connection"
        assert server.requests == []


async def test_a_service_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(peer: Any) -> None:
        await peer.reader.read()

    async with FaultyServer(hang) as server:
        results = await examined(monkeypatch, server.url, patience=0.05)
    assert list(results)[-1] == "connection"
    assert "deadline" in results["connection"].text


def checks(command: Run, *, failed: str = "", **variables: str | None) -> dict[str, dict[str, str]]:
    """Return the checks by name; the last one has failed, or none."""
    result = command("doctor", "--json", **variables)
    members = json.loads(result.stdout)
    results = {each["name"]: each for each in members["checks"]}
    assert members["ok"] == (not failed)
    assert tuple(results) == (NAMES[: NAMES.index(failed) + 1] if failed else NAMES)
    assert [name for name, each in results.items() if each["state"] == "failed"] == [failed] * bool(failed)
    if failed:
        assert error_line(result) == f"the check of {failed} has failed"
        assert results[failed]["advice"]
    else:
        assert (result.exit_code, result.stderr) == (0, "")
    for secret in SECRETS:
        assert secret not in result.output
    return results


def test_all_is_well(command: Run, service: EmulatorThread) -> None:
    results = checks(command)
    assert {each["state"] for each in results.values()} == {"ok"}
    assert "aiohttp " in results["versions"]["text"]
    assert service.emulator.base_url in results["settings"]["text"]
    assert f"a key of {len(SECRETS[0])} characters" in results["settings"]["text"]
    assert "fullAccess" in results["key"]["text"]
    lines = command("doctor").stdout.splitlines()
    assert tuple(line.split()[1] for line in lines) == NAMES


@loop_over(
    ("variables", "words"),
    [
        ({"CHATREST_API_KEY": None}, "the environment lacks CHATREST_API_KEY"),
        (
            {"CHATREST_BASE_URL": "http://chat.example.com"},
            "CHATREST_BASE_URL = 'http://chat.example.com': expected",
        ),
        ({"CHATREST_HEADERS": "no colon"}, "CHATREST_HEADERS"),
        ({"CHATREST_PROXY": "nonsense"}, "CHATREST_PROXY (or --proxy) = [text of 8 characters]: expected"),
        ({"CHATREST_APP": "shop", "CHATREST_APPS_FILE": "/nowhere/apps.toml"}, "CHATREST_APPS_FILE = "),
    ],
)
def test_doctor_sends_nothing_with_wrong_settings(
    command: Run, variables: dict[str, str | None], words: str
) -> None:
    assert words in checks(command, failed="settings", **variables)["settings"]["text"]


CLOUD: dict[str, str | None] = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}
CLOSED = "http://127.0.0.1:1"


@loop_over(
    ("variables", "advice"),
    [
        (CLOUD, "check the network, then the app's id and region"),
        ({"CHATREST_BASE_URL": f"{CLOSED}/v3"}, "check the address, its port"),
        ({"CHATREST_PROXY": CLOSED}, "check the proxy"),
    ],
)
def test_a_way_to_the_service_that_ends(command: Run, variables: dict[str, str | None], advice: str) -> None:
    result = checks(command, failed="connection", **variables)["connection"]
    assert "nothing was sent" in result["text"]
    assert result["advice"].startswith(advice)


def test_a_proxy_that_refuses_the_host_and_https_where_no_tls_is(
    command: Run, proxy: MakeProxy, service: EmulatorThread
) -> None:
    with proxy(lambda *_: (403, b"no")) as url:  # it knows no CONNECT either
        results = checks(command, failed="connection", CHATREST_PROXY=url.removesuffix("/v3"), **CLOUD)
    assert results["connection"]["advice"].startswith("check the proxy")
    address = service.emulator.base_url.replace("http:", "https:")
    results = checks(command, failed="connection", CHATREST_BASE_URL=address)
    assert "is that an https address" in results["connection"]["advice"]


@loop_over(
    ("status", "body", "advice"),
    [
        (503, b"<h1>down</h1>", "the service fails: try it again later"),
        (404, b"<h1>no</h1>", "check that the address is the service's, with its version (/v3)"),
        (200, b"<h1>hello</h1>", "check that the address is the service's"),
    ],
)
def test_a_service_that_is_down_or_another_one(
    command: Run, proxy: MakeProxy, status: int, body: bytes, advice: str
) -> None:
    with proxy(lambda *_: (status, body)) as url:
        results = checks(command, failed="service", CHATREST_BASE_URL=url)
    assert str(status) in results["service"]["text"]
    assert results["service"]["advice"].startswith(advice)


def test_an_exhausted_rate_limit_is_not_reported_as_a_wrong_key(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"ERR_TOO_MANY_REQUESTS","message":"Slow."}}'
    with proxy(lambda *_: (429, body)) as url:
        lines = command("doctor", CHATREST_BASE_URL=url).stdout.splitlines()
    assert lines[-1].startswith("warning  service     429")


def test_a_key_that_may_only_create_users(command: Run) -> None:
    results = checks(command, failed="key", CHATREST_API_KEY="emulated-auth-only-key")
    assert "authOnly" in results["key"]["advice"]


def test_a_refused_key_is_hidden_if_the_reply_repeats_it(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"AUTH_ERR_APIKEY_NOT_FOUND","message":"k3y-th4t-is-wr0ng \\u001b[2J"}}'
    with proxy(lambda *_: (401, body)) as url:
        result = command("doctor", CHATREST_BASE_URL=url, CHATREST_API_KEY="k3y-th4t-is-wr0ng")
    line = result.stdout.splitlines()[-1]
    assert line.startswith("FAILED   key         refused: ")
    assert " → copy the REST API key" in line
    assert "k3y-th4t" not in result.output
    assert "\x1b" not in result.output


def test_limits_that_no_reply_states(command: Run) -> None:
    lines = command("limits", "--requests", "3").stdout.splitlines()
    assert lines[:2] == ["requests   3, 0 answered 429", "standard   no limit known"]
    assert "standard 333.3 a second (20,000 a minute)" in lines[2]


def test_the_first_429_is_the_last_request(command: Run, proxy: MakeProxy) -> None:
    slow = (429, b'{"error":{"code":"ERR_TOO_MANY_REQUESTS","message":"Slow."}}')
    limited = proxy(lambda number, _: None if number < 4 else slow)
    limited.reply_headers["Retry-After"] = "3600"
    with limited as url:
        lines = command("limits", "--requests", "50", CHATREST_BASE_URL=url).stdout.splitlines()
        error = error_line(command("users", CHATREST_BASE_URL=url))
    assert lines[0] == "requests   4, 1 answered 429"
    assert lines[1] == "wait       1:00:00, as the service asks to"
    assert error.endswith("; the service asks to wait 1:00:00")


def test_limits_of_a_wrong_key_are_an_error(command: Run) -> None:
    assert "401" in error_line(command("limits", CHATREST_API_KEY="wr0ng-k3y"))
