"""What the commands take from the environment beside the app: headers that a deployment wants."""

import pytest

from chatrest.core.pace.retry import RetryPolicy
from tests.commands import MakeProxy, Run

from .conftest import EmulatorThread, Proxy, error_line, rows


def test_headers_go_with_every_request(command: Run, proxy: MakeProxy) -> None:
    before = proxy(lambda number, path: None)
    with before as url:
        lines = "authtoken: of bob: 1\n\n  X-Trace:7  \n"
        assert len(rows(command("users", "--limit", "2", CHATREST_BASE_URL=url, CHATREST_HEADERS=lines))) == 2
    assert before.headers
    assert {(sent["authtoken"], sent["x-trace"]) for sent in before.headers} == {("of bob: 1", "7")}


@pytest.mark.parametrize("lines", ["authtoken s3cret-value", ": s3cret-value", "a: 1\ns3cret-value"])
def test_headers_that_cannot_be_read_are_refused_and_not_shown(command: Run, lines: str) -> None:
    line = error_line(command("users", CHATREST_HEADERS=lines), 2)
    assert line == "CHATREST_HEADERS: allowed are lines of the form `name: value`"


def test_the_value_of_a_header_is_a_secret(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"ERR_NO_AUTH","message":"s3cret-value is not valid"}}'
    with proxy(lambda number, path: (401, body)) as url:
        result = command("users", CHATREST_BASE_URL=url, CHATREST_HEADERS="authtoken: s3cret-value")
    line = error_line(result)
    assert line.startswith("users.list: 401 ERR_NO_AUTH: [hidden] is not valid")
    assert line.endswith("; check CHATREST_APP_ID, CHATREST_API_KEY and CHATREST_REGION")
    assert "s3cret-value" not in result.stderr


@pytest.mark.parametrize("is_option", [True, False])
def test_the_proxy_gets_all_requests(service: EmulatorThread, command: Run, is_option: bool) -> None:
    paths: list[str] = []

    def answer(_: int, path: str) -> tuple[int, bytes]:
        paths.append(path)
        return 200, b'{"data": []}'

    between = Proxy(service.emulator.port, answer)
    with between as url:
        address = url.removesuffix("/v3")
        options, variables = (["--proxy", address], {}) if is_option else ([], {"CHATREST_PROXY": address})
        for name in ("users", "apps"):
            assert command(*options, name, **variables).stdout == ""
    assert [path.partition("?")[0] for path in paths] == [
        f"{service.emulator.base_url}/users", f"{service.emulator.management_url}/apps",
    ]  # fmt: skip


def test_a_wrong_proxy_is_wrong_usage(command: Run) -> None:
    assert error_line(command("--proxy", "nonsense", "users"), 2).startswith("proxy: ")


NOT_SERVED = "http://127.0.0.1:1/v3"
CLOUD = {"CHATREST_BASE_URL": None, "CHATREST_SERVICE_DOMAIN": "service.invalid"}


@pytest.mark.parametrize(
    ("args", "variables", "names"),
    [
        (["users"], {"CHATREST_BASE_URL": NOT_SERVED}, "CHATREST_BASE_URL"),
        (["users"], CLOUD, "CHATREST_APP_ID, CHATREST_REGION and CHATREST_SERVICE_DOMAIN"),
        (["apps"], {"CHATREST_MANAGEMENT_URL": NOT_SERVED}, "CHATREST_MANAGEMENT_URL"),
        (
            ["users"], {"CHATREST_PROXY": "http://127.0.0.1:1"},
            "CHATREST_BASE_URL and CHATREST_PROXY (or --proxy)",
        ),
        (["users"], {"CHATREST_API_KEY": "wrong"}, "CHATREST_APP_ID, CHATREST_API_KEY and CHATREST_REGION"),
        (
            ["apps"], {"CHATREST_MANAGEMENT_KEY": "wrong"},
            "CHATREST_MANAGEMENT_URL, CHATREST_MANAGEMENT_KEY and CHATREST_MANAGEMENT_SECRET",
        ),
    ],
)  # fmt: skip
def test_a_refused_key_and_a_failed_connection_name_the_variables(
    command: Run, monkeypatch: pytest.MonkeyPatch, args: list[str], variables: dict[str, str], names: str
) -> None:
    monkeypatch.setattr(RetryPolicy, "repeats", lambda *_: False)
    assert error_line(command(*args, **variables)).endswith(f"; check {names}")


def test_other_errors_name_no_variables(command: Run) -> None:
    assert "CHATREST_" not in error_line(command("call", "users.get", "uid=nobody"))
