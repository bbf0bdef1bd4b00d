from chatrest.emulator.service.dispatch import rate_class
from tests.emulator.conftest import KEYS, ServiceClient
from tests.support.cases import loop_over


def test_an_error_has_the_form_of_the_service(ask: ServiceClient) -> None:
    answer = ask("/v3/users", headers={})
    assert (answer.status, answer.code) == (401, "AUTH_ERR_EMPTY_APIKEY")
    assert list(answer.json) == ["error"]
    assert list(answer.json["error"]) == ["message", "devMessage", "source", "details", "code"]


@loop_over(
    ("headers", "status", "code"),
    [
        ({"key": KEYS.management, "secret": KEYS.secret}, 200, ""),
        ({"key": KEYS.management, "secret": "x"}, 401, "AUTH_ERR_APIKEY_NOT_FOUND"),
        ({"key": "x", "secret": KEYS.secret}, 401, "AUTH_ERR_APIKEY_NOT_FOUND"),
        ({"key": KEYS.management}, 401, "AUTH_ERR_EMPTY_AUTH_HEADER"),
        ({}, 401, "AUTH_ERR_EMPTY_AUTH_HEADER"),
        ({"apikey": KEYS.full_access}, 401, "AUTH_ERR_EMPTY_AUTH_HEADER"),
    ],
)
def test_the_management_interface_needs_both_of_its_keys(
    ask: ServiceClient, headers: dict[str, str], status: int, code: str
) -> None:
    answer = ask("/management/apps", headers=headers)
    assert answer.status == status
    assert status == 200 or answer.code == code


@loop_over(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", "/v3"), ("GET", "/v3/"), ("GET", "/v2/users"), ("GET", "/users"),
        ("GET", "/v3/apps"), ("GET", "/v3/users/"), ("GET", "/v3/users/ann/"), ("GET", "/v3//users"),
        ("GET", "/v3/users/ann/messages/1"), ("GET", "/v3/users/ann/nothing"), ("PATCH", "/v3/users/ann"),
        ("DELETE", "/v3/messages"), ("POST", "/v3/users/ann"),
        ("HEAD", "/v3/users"), ("PATCH", "/v3/groups/den"), ("GET", "/v3/*/ann"),
    ],
)  # fmt: skip
def test_an_unknown_operation_is_a_404(ask: ServiceClient, method: str, path: str) -> None:
    answer = ask(path, method=method)
    assert answer.status == 404
    assert answer.code in ("ERR_API_NOT_FOUND", "ERR_UID_NOT_FOUND" if path == "/v3/users/" else "")
    management = {"key": KEYS.management, "secret": KEYS.secret}
    assert ask("/management/users", headers=management).code == "ERR_API_NOT_FOUND"


@loop_over(
    ("method", "path", "expected"),
    [
        ("POST", "/v3/users", "core"), ("GET", "/v3/users", "standard"), ("POST", "/v3/messages", "standard"),
        ("POST", "/v3/users/ann/auth_tokens", "standard"), ("POST", "/v3/data_import/users", "import"),
        ("GET", "/v3/", "standard"), ("GET", "/", "standard"), ("PUT", "/v3/nothing", "standard"),
    ],
)  # fmt: skip
def test_rate_classes(method: str, path: str, expected: str) -> None:
    assert rate_class(method, path) == expected
