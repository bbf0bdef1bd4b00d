"""The commands take headers of a deployment from the environment."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatrest._cli import streams
from chatrest._core.pace.retry import RetryPolicy
from tests.support.cases import loop_over
from tests.support.commands import MakeProxy, Run

from .conftest import SECRETS, EmulatorThread, Proxy, error_line, rows


def test_headers_go_with_every_request(command: Run, proxy: MakeProxy) -> None:
    before = proxy(lambda number, path: None)
    with before as url:
        lines = "authtoken: of bob: 1\n\n  X-Trace:7  \n"
        assert len(rows(command("users", "--limit", "2", CHATREST_BASE_URL=url, CHATREST_HEADERS=lines))) == 2
    assert before.headers
    assert {(sent["authtoken"], sent["x-trace"]) for sent in before.headers} == {("of bob: 1", "7")}


@loop_over(
    ("command_name", "variable", "value"),
    [
        ("users", "REGION", "xx"),
        ("users", "HEADERS", "apikey: s3cret-value"),
        ("users", "HEADERS", "authtoken s3cret-value"),
        ("apps", "MANAGEMENT_URL", "nonsense"),
        ("apps", "MANAGEMENT_KEY", "a b"),
        ("apps", "PROXY", "nonsense"),
    ],
)
def test_a_wrong_variable_is_named(command: Run, command_name: str, variable: str, value: str) -> None:
    line = error_line(command(command_name, **{f"CHATREST_{variable}": value}), 2)
    assert line.startswith(f"CHATREST_{variable}")
    assert "s3cret" not in line


def test_the_value_of_a_header_is_a_secret(command: Run, proxy: MakeProxy) -> None:
    body = b'{"error":{"code":"ERR_NO_AUTH","message":"s3cret-value is not valid"}}'
    with proxy(lambda number, path: (401, body)) as url:
        result = command("users", CHATREST_BASE_URL=url, CHATREST_HEADERS="authtoken: s3cret-value")
    line = error_line(result)
    assert line.startswith("users.list: 401 ERR_NO_AUTH: [hidden] is not valid")
    assert line.endswith("; check CHATREST_APP_ID, CHATREST_API_KEY and CHATREST_REGION")
    assert "s3cret-value" not in result.stderr


def test_an_address_without_the_api_version_is_named(service: EmulatorThread, command: Run) -> None:
    address = service.env["CHATREST_BASE_URL"].removesuffix("/v3")
    line = error_line(command("users", CHATREST_BASE_URL=address))
    assert line.endswith(" does not exist; check that CHATREST_BASE_URL ends with the version (/v3)")


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
    assert command("users", CHATREST_PROXY="").stdout != ""  # an empty one is none
    assert [path.partition("?")[0] for path in paths] == [
        f"{service.emulator.base_url}/users", f"{service.emulator.management_url}/apps",
    ]  # fmt: skip


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


FILE_KEY = "k3y-0f-th3-f1le"


@pytest.fixture(scope="module")
def shop() -> Iterator[EmulatorThread]:
    with EmulatorThread(app_id="2087shop", users=2, messages=3) as service:
        yield service


@pytest.fixture
def file(
    tmp_path: Path, service: EmulatorThread, shop: EmulatorThread, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A file of two apps in the current folder, and nothing in the user's own configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SHOP_KEY", SECRETS[0])
    path = tmp_path / "apps.toml"
    path.write_text(
        f'[[app]]\nid = "{service.emulator.app.app_id}"\nkey_env = "FIRST_KEY"\n'
        f'base_url = "{service.emulator.base_url}"\n'
        '[[app]]\nname = "shop"\nid = "2087shop"\nkey_env = "SHOP_KEY"\n'
        f'base_url = "{shop.emulator.base_url}"\n'
    )
    return path


NO_ACCOUNT = {"CHATREST_BASE_URL": None, "CHATREST_APP_ID": None, "CHATREST_API_KEY": None}


@pytest.mark.parametrize("name", ["shop", "2087shop"])
def test_an_app_is_named_by_an_option_or_a_variable(command: Run, file: Path, name: str) -> None:
    assert len(rows(command("--app", name, "users", **NO_ACCOUNT))) == 2
    named = {"CHATREST_APP": name, "CHATREST_APPS_FILE": str(file)}
    assert len(rows(command("users", **NO_ACCOUNT, **named))) == 2
    assert len(rows(command("users", **named))) == 2  # it counts before the app of the environment
    assert len(rows(command("--app", name, "call", "users.list", **NO_ACCOUNT))) == 2


def test_a_file_in_the_current_folder_is_not_read_for_a_variable(command: Run, file: Path) -> None:
    line = error_line(command("users", CHATREST_APP="shop"), 2)
    assert line.startswith("CHATREST_APP needs a file of apps: set CHATREST_APPS_FILE, or write /")
    home = file.parent / "config" / "chatrest"
    home.mkdir(parents=True)
    file.rename(home / "apps.toml")
    assert len(rows(command("users", CHATREST_APP="shop"))) == 2
    assert len(rows(command("--app", "shop", "users"))) == 2


@pytest.mark.parametrize(
    ("args", "variables", "words"),
    [
        (("--app", "shoq", "users"), {}, "no app is called 'shoq': expected one such as shop"),
        (("--app", "emulated", "users"), {}, "app 1: the environment lacks FIRST_KEY"),
        (("--app", "x", "users"), {"CHATREST_APPS_FILE": "none.toml"}, "'none.toml': there is no such file"),
        (("--app", "shop", "export", "out", "--apps", "apps.toml"), {}, "--app names one app, and --apps"),
    ],
)
def test_a_wrong_name_or_file_is_wrong_usage(
    command: Run, file: Path, args: tuple[str, ...], variables: dict[str, str], words: str
) -> None:
    assert words in error_line(command(*args, **variables), 2)


def test_a_key_of_the_file_is_hidden_in_every_line(command: Run, file: Path, proxy: MakeProxy) -> None:
    result = command("--app", "shop", "users", SHOP_KEY=FILE_KEY)
    assert error_line(result).endswith("; check id, region and key of app 'shop' in the file of apps")
    assert FILE_KEY not in result.output
    assert FILE_KEY not in streams.without_keys(f"a {FILE_KEY} b")


def test_an_export_is_continued_with_the_stored_app(command: Run, file: Path, called: None) -> None:
    result = command("--app", "shop", "export", "out", "--quiet")
    assert result.exit_code == 0
    assert json.loads(Path("out/manifest.json").read_text())["app_id"] == "2087shop"
    line = error_line(command("--app", "shop", "export", "out", "--quiet", SHOP_KEY=FILE_KEY))
    assert line.endswith("continue with: /of/a/venv/bin/chatrest --app shop export out")
