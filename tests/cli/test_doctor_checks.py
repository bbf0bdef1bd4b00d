"""The checks of `doctor` that need a server of their own: certificates, clocks, stated limits."""

import ssl
import time
import tomllib
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import trustme

import chatrest
from chatrest.cli import doctor_checks
from chatrest.cli.doctor_checks import EXTRAS, NEEDED, Check, examine, line_of
from tests.faulty import Faulty, reply

USERS: dict[str, Any] = {"data": [{"uid": "ann"}], "meta": {}}
YEAR = timedelta(days=365)
NOW = datetime.now(UTC)


async def checks(monkeypatch: pytest.MonkeyPatch, address: str, **options: Any) -> dict[str, Check]:
    for name, value in (("APP_ID", "app-1"), ("API_KEY", "k3y-0f-th3-app"), ("BASE_URL", address)):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    return {check.name: check async for check in examine(5.0, **options)}


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
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with Faulty(reply(USERS), tls=server_context(leaf)) as server:
        found = await checks(monkeypatch, server.url.replace("127.0.0.1", "localhost"))
    assert found["tls"].state == state
    assert words in found["tls"].advice
    if state == "ok":
        assert found["tls"].text.startswith("TLSv1.")
    else:
        assert found["service"].text == "needs tls"
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
        found = await checks(monkeypatch, server.url, now=lambda: now + skew)
    assert found["clock"].state == state
    assert words in found["clock"].text
    assert found["clock"].advice == ("" if state == "ok" else doctor_checks._ADVICE["clock"])


async def test_a_reply_without_a_date_tells_nothing_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Faulty(reply(USERS)) as server:
        assert (await checks(monkeypatch, server.url))["clock"].state == "skipped"


@pytest.mark.parametrize(
    ("status", "left", "state"), [(200, "499", "ok"), (200, "0", "warning"), (429, "0", "warning")]
)
async def test_stated_limits_are_shown(
    monkeypatch: pytest.MonkeyPatch, status: int, left: str, state: str
) -> None:
    headers = {"x_rate_limit": "500", "x_rate_limit_remaining": left, "x_request_id": "abc-7"}
    async with Faulty(reply(USERS, status, **headers)) as server:
        found = await checks(monkeypatch, server.url)
        assert len(server.requests) == 1
    assert found["limits"].state == state
    assert found["limits"].text == f"500 requests a window are stated, {left} of them left"
    assert "request id abc-7" in found["service"].text
    assert found["service"].state == "ok"


async def test_a_service_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(peer: Any) -> None:
        await peer.reader.read()

    async with Faulty(hang) as server:
        for name, value in (("APP_ID", "a"), ("API_KEY", "k"), ("BASE_URL", server.url)):
            monkeypatch.setenv(f"CHATREST_{name}", value)
        found = {check.name: check async for check in examine(0.05)}
    assert found["service"].state == "failed"
    assert "deadline" in found["service"].text
    assert found["key"].text == "needs service"


def test_an_old_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "version", {"chatrest-client": "1", "aiohttp": "3.9"}.__getitem__)
    monkeypatch.setattr(doctor_checks, "PackageNotFoundError", KeyError)
    check = doctor_checks._versions()
    assert check.state == "failed"
    assert check.advice == "pip install --upgrade chatrest-client aiohttp msgspec tenacity"
    assert "aiohttp 3.9, msgspec not installed" in check.text


def test_an_extra_that_is_not_there_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "find_spec", lambda name: None if name == "distributed" else object())
    check = doctor_checks._extras()
    assert check.state == "ok"
    assert check.text.endswith("; not installed: dask")
    assert check.advice == "where you need them: pip install 'chatrest-client[dask]'"


def test_the_least_versions_and_the_extras_are_those_of_the_distribution() -> None:
    path = Path(chatrest.__file__).parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text())["project"]
    assert [f"{name}>={least}" for name, least in NEEDED.items()] == project["dependencies"]
    assert project["optional-dependencies"].keys() - {"bench", "compare", "dev", "test"} <= EXTRAS.keys()


def test_a_line_cannot_steer_a_terminal_and_hides_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATREST_API_KEY", "k3y-0f-th3-app")
    line = line_of(Check("key", "failed", "k3y-0f-th3-app\x1b[2J\nx", "do"))
    assert line == "FAILED   key         [hidden]\\x1b[2J⏎x → do"
