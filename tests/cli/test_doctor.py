"""`doctor` and `limits` by their output: each fault has its line, with what to do."""

import json
from typing import Any

import pytest

from chatrest.cli import doctor_checks
from chatrest.errors import AuthenticationError
from tests.commands import MakeProxy, Run

from .conftest import SECRETS, EmulatorThread, error_line

NAMES = [
    "versions", "extras", "settings", "proxy", "dns", "connection", "tls", "service", "clock", "key",
    "region", "limits",
]  # fmt: skip


def checks(command: Run, *, failed: str = "", **variables: str | None) -> dict[str, dict[str, str]]:
    """Return the checks by name; one of them has failed, or none."""
    result = command("doctor", "--json", **variables)
    members = json.loads(result.stdout)
    assert [each["name"] for each in members["checks"]] == NAMES
    assert members["ok"] == (not failed)
    if failed:
        assert f"1 of 12 checks failed: {failed}" in error_line(result)
    else:
        assert (result.exit_code, result.stderr) == (0, "")
    for secret in SECRETS:
        assert secret not in result.output
    found = {each["name"]: each for each in members["checks"]}
    assert [name for name, each in found.items() if each["state"] == "failed"] == [failed] * bool(failed)
    if failed:
        assert found[failed]["advice"]
    return found


def skipped(found: dict[str, dict[str, str]]) -> list[str]:
    return [name for name, each in found.items() if each["state"] == "skipped"]


def test_all_is_well(command: Run, service: EmulatorThread) -> None:
    found = checks(command)
    assert skipped(found) == []
    assert "aiohttp " in found["versions"]["text"]
    assert service.emulator.base_url in found["settings"]["text"]
    assert f"a key of {len(SECRETS[0])} characters" in found["settings"]["text"]
    assert "fullAccess" in found["key"]["text"]


def test_a_person_gets_a_line_each(command: Run) -> None:
    lines = command("doctor").stdout.splitlines()
    assert [line.split()[1] for line in lines] == NAMES
    result = command("doctor", CHATREST_API_KEY="wr0ng-k3y")
    [line] = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert line.startswith("FAILED   key         refused: ")
    assert " → copy the REST API key" in line
    assert error_line(result) == "1 of 12 checks failed: key"
    assert "wr0ng" not in result.output


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"CHATREST_API_KEY": None}, "the environment lacks CHATREST_API_KEY"),
        ({"CHATREST_APP_ID": None, "CHATREST_BASE_URL": None}, "CHATREST_APP_ID, CHATREST_SERVICE_DOMAIN"),
        ({"CHATREST_REGION": "mars"}, "region = 'mars'"),
        ({"CHATREST_BASE_URL": "http://chat.example.com"}, "base_url: allowed is https"),
        ({"CHATREST_HEADERS": "no colon"}, "CHATREST_HEADERS"),
        ({"CHATREST_PROXY": "nonsense"}, "proxy: allowed is"),
        ({"CHATREST_APP": "shop", "CHATREST_APPS_FILE": "/nowhere/apps.toml"}, "CHATREST_APPS_FILE = "),
    ],
)
def test_wrong_settings_stop_it_before_anything_is_sent(
    command: Run, variables: dict[str, str | None], words: str
) -> None:
    found = checks(command, failed="settings", **variables)
    assert words in found["settings"]["text"]
    assert skipped(found) == NAMES[3:]


def test_no_network_is_a_name_that_is_not_found(command: Run) -> None:
    variables = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}
    found = checks(command, failed="dns", **variables)
    assert found["dns"]["text"].startswith("emulated.api-us.service.invalid: ")
    assert "the app's id and region" in found["dns"]["advice"]
    assert skipped(found) == NAMES[5:]


def test_a_port_that_nobody_listens_at(command: Run) -> None:
    found = checks(command, failed="connection", CHATREST_BASE_URL="http://127.0.0.1:1/v3")
    assert found["connection"]["text"] == "127.0.0.1:1: Connection refused"
    assert skipped(found) == NAMES[6:]


def test_a_proxy_that_does_not_answer(command: Run) -> None:
    found = checks(command, failed="proxy", CHATREST_PROXY="http://127.0.0.1:1")
    assert found["proxy"]["text"] == "http://127.0.0.1:1: Connection refused"
    assert found["dns"]["text"] == "left to the proxy"
    assert skipped(found) == NAMES[4:]


def test_a_proxy_that_refuses_the_host(command: Run, proxy: MakeProxy) -> None:
    variables = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}
    with proxy(lambda *_: (403, b"no")) as url:  # it knows no CONNECT either
        found = checks(command, failed="service", CHATREST_PROXY=url.removesuffix("/v3"), **variables)
    assert found["proxy"]["state"] == "ok"
    assert found["service"]["advice"].startswith("check the proxy")


def test_https_where_no_tls_is(command: Run, service: EmulatorThread) -> None:
    address = service.emulator.base_url.replace("http:", "https:")
    found = checks(command, failed="tls", CHATREST_BASE_URL=address)
    assert "is that an https address" in found["tls"]["advice"]
    assert skipped(found) == NAMES[7:]


def test_an_address_without_its_version(command: Run, service: EmulatorThread) -> None:
    found = checks(command, failed="service", CHATREST_BASE_URL=service.emulator.base_url.removesuffix("/v3"))
    assert "404" in found["service"]["text"]
    assert "/v3" in found["service"]["advice"]
    assert found["clock"]["state"] == "ok"


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
        found = checks(command, failed="service", CHATREST_BASE_URL=url)
    assert found["service"]["advice"].startswith(advice)
    assert found["key"]["state"] == "skipped"


def test_a_key_that_may_only_create_users(command: Run, service: EmulatorThread) -> None:
    found = checks(command, failed="key", CHATREST_API_KEY=service.emulator.auth_only_app.api_key)
    assert "authOnly" in found["key"]["advice"]
    assert found["service"]["state"] == "ok"


def test_a_key_that_the_reply_repeats_is_hidden(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"AUTH_ERR_APIKEY_NOT_FOUND","message":"k3y-th4t-is-wr0ng \\u001b[2J"}}'
    with proxy(lambda *_: (401, body)) as url:
        result = command("doctor", CHATREST_BASE_URL=url, CHATREST_API_KEY="k3y-th4t-is-wr0ng")
    assert "k3y-th4t" not in result.output
    assert "\x1b" not in result.output


@pytest.mark.parametrize("timeout", ["0", "-1", "x"])
def test_a_wrong_timeout_is_wrong_usage(command: Run, timeout: str) -> None:
    assert "--timeout" in error_line(command("doctor", "--timeout", timeout), 2)


# ── limits ──


def test_limits_that_no_reply_states(command: Run) -> None:
    lines = command("limits", "--requests", "3").stdout.splitlines()
    assert lines[:4] == [
        "app        emulated, region us",
        "requests   3, 0 answered 429",
        "stated     none",
        "standard   no limit known",
    ]
    assert "standard 333.3 a second (20,000 a minute)" in lines[4]


def test_limits_as_json(command: Run) -> None:
    found: dict[str, Any] = json.loads(command("limits", "--json").stdout)
    [known] = found["limits"]
    assert (known["rate_class"], known["source"], known["limit"]) == ("standard", "none", None)
    assert (found["requests"], found["limited"], found["stated"]) == (1, 0, None)


def test_the_first_429_is_the_last_request(command: Run, proxy: MakeProxy) -> None:
    def answer(number: int, _: str) -> tuple[int, bytes] | None:
        return None if number < 4 else (429, b'{"error":{"code":"ERR_TOO_MANY_REQUESTS","message":"Slow."}}')

    with proxy(answer) as url:
        lines = command("limits", "--requests", "50", CHATREST_BASE_URL=url).stdout.splitlines()
    assert lines[1] == "requests   4, 1 answered 429"
    assert "the next request may go in " in lines[3]


def test_limits_of_a_wrong_key_are_an_error(command: Run) -> None:
    assert "401" in error_line(command("limits", CHATREST_API_KEY="wr0ng-k3y"))


# ── the region ──


def test_a_key_of_another_region_is_told(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def ask(self: Any, app: Any) -> AuthenticationError | None:
        asked.append(app.region)
        return None if app.region == "in" else AuthenticationError("refused", status=401)

    monkeypatch.setattr(doctor_checks._Answer, "_ask", ask)

    async def region() -> doctor_checks.Check:
        app = doctor_checks.App("app-1", "k3y", "us", service_domain="chat.example.com")
        answer = doctor_checks._Answer(app, 5.0, lambda: 0.0)
        return await answer._region(await answer._ask(app))

    check = doctor_checks.asyncio.run(region())
    assert (check.state, check.text) == ("failed", "us, and in takes the key")
    assert check.advice.startswith("set CHATREST_REGION=in")
    assert asked == ["us", "eu", "in"]
