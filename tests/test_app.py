"""An app's address: what is built of it, and what is refused."""

import copy
import pickle
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest.app import (
    App,
    check_key,
    check_proxy,
    check_proxy_use,
    check_url,
    headers_from_env,
    is_loopback,
)
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

DOMAIN = "chat.example.com"


@pytest.mark.parametrize("region", ["us", "eu", "in"])
def test_the_addresses_are_those_of_the_specification(region: str) -> None:
    app = App("12ab", "k", region, service_domain=DOMAIN)
    assert app.chat_url == f"https://12ab.api-{region}.chat.example.com/v3"
    assert app.calls_url == f"https://12ab.call-{region}.chat.example.com/v3"


def test_a_base_address_is_used_for_both_interfaces() -> None:
    app = App("a", "k", base_url="https://proxy.example.com:8443/chat/v3/")
    assert app.chat_url == app.calls_url == "https://proxy.example.com:8443/chat/v3"


def test_an_app_is_a_value() -> None:
    app = App("a", "k", "eu", service_domain=DOMAIN)
    assert app == App("a", "k", "eu", service_domain=DOMAIN) == copy.copy(app)
    assert {app: 1}[copy.deepcopy(app)] == 1
    assert app != App("a", "other", "eu", service_domain=DOMAIN)
    with pytest.raises(AttributeError):
        app.region = "us"  # type: ignore[misc]


@loop_over(
    ("name", "values", "error"),
    [
        ("region", ["", "US", "uk", "us ", None, 1, ["us"]], r"^region = .*: expected us, eu or in$"),
        ("app_id", ["", "a.b", "-a", "a-", "a_b", "a" * 64, "a b", "ä", "a/b", "a@b", "a\n", "a#", None, 5,
                    "a:1"], "^app_id"),
        ("api_key", ["", " ", "k ", "k\n", "k\r\nx: y", "k\x00", "ké", None, 5, b"k", "a b", "\x7f"],
         r"^api_key = \[?\w.*: expected 1 or more printable"),
        ("service_domain", ["", "x..com", "-x.com", "x.com/", "u@x.com", "x.com:", "x .com", "x.com\n", 5],
         "^service_domain"),
    ],
)  # fmt: skip
def test_a_member_of_another_form_is_refused_and_a_key_not_repeated(
    name: str, values: list[Any], error: str
) -> None:
    for value in values:
        with pytest.raises(RequestInvalidError, match=error) as caught:
            App(**{"app_id": "a", "api_key": "k", "service_domain": DOMAIN, name: value})
        is_secret = name == "api_key" and isinstance(value, str) and len(value) > 3
        assert not is_secret or str(value) not in str(caught.value)


def test_a_text_as_long_as_a_key_in_the_place_of_the_region_is_not_repeated() -> None:
    with pytest.raises(RequestInvalidError, match=r"^region = \[text of 16 characters\]: expected us"):
        App("a", "us", "0123456789abcdef")


@loop_over("app_id", ["a", "A1", "a-b", "a" * 63, "0"])
def test_an_app_id_of_one_dns_label_is_taken(app_id: str) -> None:
    assert App(app_id, "k", service_domain=DOMAIN).chat_url.startswith(f"https://{app_id}.api-us.")


def test_an_app_without_an_address_raises_at_first_use() -> None:
    with pytest.raises(RequestInvalidError, match="give service_domain or base_url"):
        _ = App("a", "k").chat_url


@loop_over(
    "url",
    [
        "", "x.com", "ftp://x.com", "http://x.com", "http://127.0.0.1.x.com", "http://10.0.0.1",
        "https://", "https://u:p@x.com", "https://x.com?a=b", "https://x.com/#f", "https://x.com:0",
        "https://x.com:a", "https://x.com\\@evil.com", "https://x.com/a b", "https://x.com\n",
        "https://[::1", "//x.com", 5, None, "http://[::2]", "https://ä.com", "http://2130706433",
    ],
)  # fmt: skip
def test_an_address_that_is_neither_https_nor_loopback_is_refused(url: object) -> None:
    with pytest.raises(RequestInvalidError, match="base_url"):
        check_url("base_url", url)


@loop_over(
    "url",
    [
        "https://x.com", "https://x.com:8443/v3", "http://127.0.0.1:8080", "http://127.9.9.9", "http://localhost/v3",
        "http://[::1]:80/v3", "http://LOCALHOST:1", "HTTPS://x.com", "https://10.0.0.1/v3",
    ],
)  # fmt: skip
def test_https_anywhere_and_http_to_loopback_are_taken(url: str) -> None:
    assert check_url("base_url", url) == url
    assert check_url("base_url", f"{url}/") == url


@pytest.mark.parametrize(
    "url", ["http://proxy.example.com:3128", "https://proxy.example.com", "http://10.0.0.1:80"]
)
def test_a_proxy_is_https_or_http_on_any_host(url: str) -> None:
    assert check_proxy(f"{url}/") == url


@pytest.mark.parametrize(
    "url", ["proxy.example.com:3128", "socks5://proxy.example.com", "http://u:pa55@p.example.com"]
)
def test_a_proxy_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(RequestInvalidError, match=r"proxy = .*: expected https:// or http://host") as caught:
        check_proxy(url)
    assert "pa55" not in str(caught.value)


def test_a_proxy_for_an_http_address_must_be_on_loopback() -> None:
    check_proxy_use("http://proxy.example.com:3128", ["https://x.com"])
    check_proxy_use("http://127.0.0.1:3128", ["http://x.com"])
    for address in ("http://127.0.0.1:80", "HTTP://x.com"):
        with pytest.raises(RequestInvalidError, match=r"proxy: .* is http, and the proxy would read the key"):
            check_proxy_use("http://proxy.example.com:3128", ["https://x.com", address])


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_our_error(text: str) -> None:
    for url in (text, f"https://{text}", f"http://{text}"):
        with suppress(RequestInvalidError):
            assert check_url("u", url).startswith(("https://", "HTTPS://", "http://"))
    try:
        assert check_key("k", text) == text
    except RequestInvalidError as error:
        allowed = "expected 1 or more printable ASCII characters without spaces"
        assert str(error) == f"k = [text of {len(text)} characters]: {allowed}"  # noqa: PT017


@loop_over(
    ("host", "is_local"),
    [*((host, True) for host in ("localhost", "127.0.0.1", "127.255.0.3", "::1")),
     *((host, False) for host in ("", "example.com", "128.0.0.1", "::2", "localhost.", "127.1"))],
)  # fmt: skip
def test_loopback_is_this_machine(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


@loop_over(
    ("url", "given"),
    [
        ("http://chat.example.com/v3", "'http://chat.example.com/v3'"), ("x.com", "'x.com'"),
        ("127.0.0.1:8080/v3", "'127.0.0.1:8080/v3'"), ("ftp://x.com", "'ftp://x.com'"), (5, "5"),
        ("https://u:pa55@x.com", "'https://…'"), ("https://x.com?a=pa55", "'https://…'"),
        ("http://pa55k3y.com", "'http://…'"), ("u:pa55@x.com", "[text of 12 characters]"),
        ("c2VjcmV0/a2V5", "[text of 13 characters]"), (["pa55"], "[list]"),
        ("http://x.com/c2VjcmV0a2V5c2VjcmV0", "'http://…'"),
    ],
)  # fmt: skip
def test_the_error_of_an_address_hides_possible_secrets(url: object, given: str) -> None:
    with pytest.raises(RequestInvalidError) as caught:
        check_url("base_url", url, secrets=("pa55k3y",))
    assert str(caught.value).startswith(f"base_url = {given}: expected https://host")


def test_a_wrong_line_of_headers_is_named_and_not_shown() -> None:
    assert headers_from_env({"CHATREST_HEADERS": "A: 1\n\n b :c:d \n"}) == {"A": "1", "b": "c:d"}
    for line in ("s3cr3t", ": s3cr3t"):
        with pytest.raises(RequestInvalidError, match=r"^CHATREST_HEADERS: line 3: expected `name: value`$"):
            headers_from_env({"CHATREST_HEADERS": f"A: 1\n\n{line}"})


def env(**names: str) -> dict[str, str]:
    return {f"CHATREST_{name}": value for name, value in names.items()}


def test_the_environment_names_an_app() -> None:
    app = App.from_env(env(APP_ID="a", API_KEY="k", REGION="eu", SERVICE_DOMAIN=DOMAIN))
    assert app == App("a", "k", "eu", service_domain=DOMAIN)
    app = App.from_env(env(APP_ID="a", API_KEY="k", REGION="", BASE_URL="http://127.0.0.1:1"))
    assert app == App("a", "k", base_url="http://127.0.0.1:1")


def test_the_processs_own_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in env(APP_ID="a", API_KEY="k", SERVICE_DOMAIN=DOMAIN).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CHATREST_REGION", raising=False)
    monkeypatch.delenv("CHATREST_BASE_URL", raising=False)
    assert App.from_env() == App("a", "k", service_domain=DOMAIN)


def test_all_that_is_missing_is_named_in_one_error() -> None:
    with pytest.raises(RequestInvalidError) as caught:
        App.from_env({"CHATREST_API_KEY": ""})
    for name in ("CHATREST_APP_ID", "CHATREST_API_KEY", "CHATREST_SERVICE_DOMAIN", "CHATREST_BASE_URL"):
        assert name in str(caught.value)
    with pytest.raises(RequestInvalidError) as caught:
        App.from_env(env(API_KEY="s3cr3t", APP_ID="a"))
    assert "API_KEY" not in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


@loop_over(
    ("name", "value", "given"),
    [
        ("APP_ID", "a.b", "'a.b'"), ("API_KEY", "a b", r"\[text of 3 characters\]"), ("REGION", "xx", "'xx'"),
        ("SERVICE_DOMAIN", "a b", "'a b'"), ("BASE_URL", "x", r"\[text of 1 characters\]"),
    ],
)  # fmt: skip
def test_a_wrong_variable_is_named(name: str, value: str, given: str) -> None:
    environ = env(API_KEY="k", APP_ID="a", SERVICE_DOMAIN=DOMAIN) | env(**{name: value})
    with pytest.raises(RequestInvalidError, match=rf"^CHATREST_{name} = {given}: expected "):
        App.from_env(environ)


def test_a_service_domain_may_have_a_port() -> None:
    for port in (1, 8443, 65535):
        assert App("a", "k", service_domain=f"x.com:{port}").chat_url == f"https://a.api-us.x.com:{port}/v3"
    for port in (0, 65536, 99999):
        with pytest.raises(
            RequestInvalidError, match=r"service_domain = .*: expected .*port from 1 to 65535"
        ):
            App("a", "k", service_domain=f"x.com:{port}")


def test_http_to_any_host_where_the_app_allows_it() -> None:
    url = "http://emulator:8080/v3"
    assert App("a", "k", base_url=url, allow_http=True).chat_url == url
    environ = {"CHATREST_APP_ID": "a", "CHATREST_API_KEY": "k", "CHATREST_BASE_URL": url}
    assert App.from_env({**environ, "CHATREST_ALLOW_HTTP": "1"}).chat_url == url
    for allowed in ({}, {"CHATREST_ALLOW_HTTP": "0"}):
        with pytest.raises(RequestInvalidError, match="CHATREST_ALLOW_HTTP=1"):
            App.from_env({**environ, **allowed})
    with pytest.raises(RequestInvalidError, match="CHATREST_ALLOW_HTTP = 'yes': expected 0 or 1"):
        App.from_env({**environ, "CHATREST_ALLOW_HTTP": "yes"})
    with pytest.raises(RequestInvalidError, match="base_url = 'ftp://emulator/v3': expected"):
        App("a", "k", base_url="ftp://emulator/v3", allow_http=True)


def test_an_app_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match=r"holds a key and cannot be pickled: .* App\.from_env"):
        pickle.dumps(App("a", "k", service_domain=DOMAIN))
