"""The class of rate limits that a request belongs to."""

from chatrest.emulator.service.router import rate_class
from tests.cases import loop_over


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
