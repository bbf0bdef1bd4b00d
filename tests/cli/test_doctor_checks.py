"""The checks of `doctor`: each fault has its line, with what to do; what follows is skipped."""

import asyncio
import json
import ssl
import time
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import trustme

from chatrest._cli import doctor_checks
from chatrest._cli.doctor_checks import NAMES, Check, examine, line_of
from chatrest.errors import AuthenticationError
from tests.cases import loop_over
from tests.commands import MakeProxy, Run
from tests.scripted_server import Faulty, reply

from .conftest import SECRETS, EmulatorThread, error_line

USERS: dict[str, Any] = {"data": [{"uid": "ann"}], "meta": {}}
YEAR = timedelta(days=365)
NOW = datetime.now(UTC)


async def examined(monkeypatch: pytest.MonkeyPatch, address: str, **options: Any) -> dict[str, Check]:
    for name, value in (("APP_ID", "app-1"), ("API_KEY", "k3y-0f-th3-app"), ("BASE_URL", address)):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    return {check.name: check async for check in examine(**options)}


def server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("name", "valid", "is_trusted", "state", "words"),
    [
        ("localhost", (NOW - YEAR, NOW + YEAR), True, "ok", ""),
        ("localhost", (NOW - YEAR, NOW + YEAR), False, "failed", "its issuer is not trusted here"),
        (
            "localhost",
            (NOW - 2 * YEAR, NOW - YEAR),
            True,
            "failed",
            "has expired: check this machine's clock",
        ),
        (
            "localhost",
            (NOW + YEAR, NOW + 2 * YEAR),
            True,
            "failed",
            "not valid yet: check this machine's clock",
        ),
        ("other.example", (NOW - YEAR, NOW + YEAR), True, "failed", "another host's: check the address"),
    ],
)
async def test_a_certificate_is_judged_before_a_key_is_sent(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    valid: tuple[datetime, datetime],
    is_trusted: bool,
    state: str,
    words: str,
) -> None:
    ca = trustme.CA()
    leaf = ca.issue_cert(name, not_before=valid[0], not_after=valid[1])
    (tmp_path / "ca.pem").write_bytes(ca.cert_pem.bytes() if is_trusted else trustme.CA().cert_pem.bytes())
    # What aiohttp makes of SSL_CERT_FILE when it is loaded.
    trusted = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    monkeypatch.setattr("aiohttp.connector._SSL_CONTEXT_VERIFIED", trusted)
    async with Faulty(reply(USERS), tls=server_context(leaf)) as server:
        results = await examined(monkeypatch, server.url.replace("127.0.0.1", "localhost"))
    assert results["tls"].state == state
    assert words in results["tls"].advice
    if state == "ok":
        assert results["service"].state == "ok"
    else:
        assert results["service"].text == "needs tls"
        assert server.requests == []


@pytest.mark.parametrize(
    ("skew", "state", "words"),
    [(0, "ok", "0 s from"), (3600, "warning", "3,600 s ahead of"), (-86_400, "warning", "86,400 s behind")],
)
async def test_the_clock_is_compared_with_the_replys_date(
    monkeypatch: pytest.MonkeyPatch, skew: float, state: str, words: str
) -> None:
    now = int(time.time())
    async with Faulty(reply(USERS, date=formatdate(now, usegmt=True))) as server:
        results = await examined(monkeypatch, server.url, now=lambda: now + skew)
    assert results["clock"].state == state
    assert words in results["clock"].text
    assert results["clock"].advice == ("" if state == "ok" else doctor_checks._ADVICE["clock"])


async def test_a_reply_without_a_date_tells_nothing_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Faulty(reply(USERS)) as server:
        assert (await examined(monkeypatch, server.url))["clock"].state == "skipped"


async def test_a_service_that_hangs_is_given_up() -> None:
    async def hang(peer: Any) -> None:
        await peer.reader.read()

    async with Faulty(hang) as server:
        answer = doctor_checks._Answer(server.app(), time.time, 0.05)
        results = {check.name: check async for check in answer.checks()}
    assert results["service"].state == "failed"
    assert "deadline" in results["service"].text
    assert list(results)[-1] == "service"


def test_a_line_cannot_steer_a_terminal_and_hides_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATREST_API_KEY", "k3y-0f-th3-app")
    line = line_of(Check("key", "failed", "k3y-0f-th3-app\x1b[2J\nx", "do"))
    assert line == "FAILED   key         [hidden]\\x1b[2J⏎x → do"
    assert line_of(Check("tls", "skipped", "needs dns")) == "-        tls         needs dns"


# ── through the command ──


def checks(command: Run, *, failed: str = "", **variables: str | None) -> dict[str, dict[str, str]]:
    """Return the checks by name; one of them has failed, or none."""
    result = command("doctor", "--json", **variables)
    members = json.loads(result.stdout)
    assert tuple(each["name"] for each in members["checks"]) == NAMES
    assert members["ok"] == (not failed)
    if failed:
        assert f"1 of 10 checks failed: {failed}" in error_line(result)
    else:
        assert (result.exit_code, result.stderr) == (0, "")
    for secret in SECRETS:
        assert secret not in result.output
    results = {each["name"]: each for each in members["checks"]}
    assert [name for name, each in results.items() if each["state"] == "failed"] == [failed] * bool(failed)
    if failed:
        assert results[failed]["advice"]
    return results


def skipped(results: dict[str, dict[str, str]]) -> list[str]:
    return [name for name, each in results.items() if each["state"] == "skipped"]


def test_all_is_well(command: Run, service: EmulatorThread) -> None:
    results = checks(command)
    assert {each["state"] for each in results.values()} == {"ok"}
    assert "aiohttp " in results["versions"]["text"]
    assert service.emulator.base_url in results["settings"]["text"]
    assert f"a key of {len(SECRETS[0])} characters" in results["settings"]["text"]
    assert "fullAccess" in results["key"]["text"]


@loop_over(
    ("variables", "words"),
    [
        ({"CHATREST_API_KEY": None}, "the environment lacks CHATREST_API_KEY"),
        ({"CHATREST_APP_ID": None, "CHATREST_BASE_URL": None}, "CHATREST_APP_ID, CHATREST_SERVICE_DOMAIN"),
        ({"CHATREST_API_KEY": "k3y with spaces"}, "CHATREST_API_KEY: "),
        ({"CHATREST_REGION": "mars"}, "region = 'mars'"),
        ({"CHATREST_BASE_URL": "http://chat.example.com"}, "base_url: expected https"),
        ({"CHATREST_HEADERS": "no colon"}, "CHATREST_HEADERS"),
        ({"CHATREST_PROXY": "nonsense"}, "proxy: expected"),
        ({"CHATREST_APP": "shop", "CHATREST_APPS_FILE": "/nowhere/apps.toml"}, "CHATREST_APPS_FILE = "),
    ],
)
def test_wrong_settings_stop_it_before_anything_is_sent(
    command: Run, variables: dict[str, str | None], words: str
) -> None:
    results = checks(command, failed="settings", **variables)
    assert words in results["settings"]["text"]
    assert tuple(skipped(results)) == NAMES[2:]


def test_no_network_is_a_name_that_is_not_found(command: Run) -> None:
    variables = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}
    results = checks(command, failed="dns", **variables)
    assert "emulated.api-us.service.invalid:443" in results["dns"]["text"]
    assert "the app's id and region" in results["dns"]["advice"]
    assert tuple(skipped(results)) == NAMES[4:]


def test_a_proxy_of_the_environment_that_is_not_read_is_a_warning(command: Run) -> None:
    results = checks(command, HTTPS_PROXY="http://10.0.0.1:3128", CHATREST_PROXY=None)
    assert results["proxy"]["state"] == "warning"
    assert results["proxy"]["text"] == "none; HTTPS_PROXY is set, and is not read"
    assert "set CHATREST_PROXY" in results["proxy"]["advice"]


def test_a_key_beside_a_login_token_is_not_called_accepted(command: Run, proxy: MakeProxy) -> None:
    token = "authToken: t0k3n-of-ann"
    with proxy(lambda *_: (200, b'{"data": [], "meta": {}}')) as url:  # it takes the token, whatever the key
        results = checks(command, CHATREST_BASE_URL=url, CHATREST_API_KEY="wr0ng-k3y", CHATREST_HEADERS=token)
    assert results["key"]["state"] == "warning"
    assert "login token" in results["key"]["text"]


def test_a_port_that_nobody_listens_at(command: Run) -> None:
    results = checks(command, failed="connection", CHATREST_BASE_URL="http://127.0.0.1:1/v3")
    assert results["connection"]["text"].endswith("127.0.0.1:1, nothing was sent: Connection refused")
    assert tuple(skipped(results)) == NAMES[5:]


def test_a_proxy_that_does_not_answer(command: Run) -> None:
    results = checks(command, failed="proxy", CHATREST_PROXY="http://127.0.0.1:1")
    assert results["proxy"]["text"].endswith("127.0.0.1:1, nothing was sent: Connection refused")
    assert tuple(skipped(results)) == NAMES[3:]


def test_a_proxy_that_refuses_the_host(command: Run, proxy: MakeProxy) -> None:
    variables = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}
    with proxy(lambda *_: (403, b"no")) as url:  # it knows no CONNECT either
        results = checks(command, failed="service", CHATREST_PROXY=url.removesuffix("/v3"), **variables)
    assert results["proxy"]["state"] == "ok"
    assert results["service"]["advice"].startswith("check the proxy")


def test_https_where_no_tls_is(command: Run, service: EmulatorThread) -> None:
    address = service.emulator.base_url.replace("http:", "https:")
    results = checks(command, failed="tls", CHATREST_BASE_URL=address)
    assert "is that an https address" in results["tls"]["advice"]
    assert tuple(skipped(results)) == NAMES[6:]


def test_an_address_without_its_version(command: Run, service: EmulatorThread) -> None:
    results = checks(
        command, failed="service", CHATREST_BASE_URL=service.emulator.base_url.removesuffix("/v3")
    )
    assert "404" in results["service"]["text"]
    assert "/v3" in results["service"]["advice"]
    assert results["clock"]["state"] == "ok"


@pytest.mark.parametrize(
    ("status", "body", "advice"),
    [
        (503, b"<h1>down</h1>", "the service fails: try it again later"),
        (200, b"<h1>hello</h1>", "check that the address is the service's"),
    ],
)
def test_a_service_that_is_down_or_another_one(
    command: Run, proxy: MakeProxy, status: int, body: bytes, advice: str
) -> None:
    with proxy(lambda *_: (status, body)) as url:
        results = checks(command, failed="service", CHATREST_BASE_URL=url)
    assert results["service"]["advice"].startswith(advice)
    assert results["key"]["state"] == "skipped"


def test_a_key_that_may_only_create_users(command: Run, service: EmulatorThread) -> None:
    results = checks(command, failed="key", CHATREST_API_KEY="emulated-auth-only-key")
    assert "authOnly" in results["key"]["advice"]
    assert results["service"]["state"] == "ok"


def test_a_key_that_the_reply_repeats_is_hidden(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"AUTH_ERR_APIKEY_NOT_FOUND","message":"k3y-th4t-is-wr0ng \\u001b[2J"}}'
    with proxy(lambda *_: (401, body)) as url:
        result = command("doctor", CHATREST_BASE_URL=url, CHATREST_API_KEY="k3y-th4t-is-wr0ng")
    assert "k3y-th4t" not in result.output
    assert "\x1b" not in result.output


def test_a_key_of_another_region_is_told(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def ask(self: Any, app: Any) -> AuthenticationError | None:
        asked.append(app.region)
        return None if app.region == "in" else AuthenticationError("refused", status=401)

    monkeypatch.setattr(doctor_checks._Answer, "_ask", ask)

    async def region() -> doctor_checks.Check:
        app = doctor_checks.App("app-1", "k3y", "us", service_domain="chat.example.com")
        answer = doctor_checks._Answer(app, lambda: 0.0)
        return await answer._region(await answer._ask(app))

    check = asyncio.run(region())
    assert (check.state, check.text) == ("failed", "us, and in takes the key")
    assert check.advice.startswith("set CHATREST_REGION=in")
    assert asked == ["us", "eu", "in"]
