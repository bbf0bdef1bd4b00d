"""Credentials of workers: from their environment, or over a connection that nobody else can read."""

import pickle

import pytest

from chatrest import App
from chatrest.distributed.credentials import Credentials, environment_credentials, is_private
from chatrest.errors import RequestInvalidError

KEY = "k3y-0f-th3-app-9f2c"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("tls://scheduler:8786", True),
        ("wss://scheduler:8786", True),
        ("inproc://10.0.0.4/77/1", True),
        ("tcp://127.0.0.1:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://10.0.0.4:8786", False),
        ("tcp://localhost.evil.example:8786", False),
        ("tcp://scheduler:8786", False),
        ("ws://scheduler:8786", False),
        ("ucx://scheduler:8786", False),
    ],
)
def test_they_travel_where_nobody_can_read_them(address: str, expected: bool) -> None:
    assert is_private(address) is expected


def test_no_repr_shows_them_and_a_pickle_for_a_worker_has_them() -> None:
    credentials = Credentials(App("app-1", KEY, service_domain="chat.test"), {"X-Tenant": "t3nant"})
    for text in (repr(credentials), repr([credentials]), f"{credentials}"):
        assert KEY not in text
        assert "t3nant" not in text
    copy = pickle.loads(pickle.dumps(credentials))
    assert (copy.app.api_key, copy.headers) == (KEY, {"X-Tenant": "t3nant"})


def test_a_worker_takes_those_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("APP_ID", "API_KEY", "BASE_URL", "SERVICE_DOMAIN", "HEADERS"):
        monkeypatch.delenv(f"CHATREST_{name}", raising=False)
    assert environment_credentials("app-1") is None
    monkeypatch.setenv("CHATREST_APP_ID", "app-1")
    monkeypatch.setenv("CHATREST_API_KEY", KEY)
    monkeypatch.setenv("CHATREST_SERVICE_DOMAIN", "chat.test")
    monkeypatch.setenv("CHATREST_HEADERS", "X-Tenant: t3nant")
    credentials = environment_credentials("app-1")
    assert credentials is not None
    assert (credentials.app.api_key, credentials.headers) == (KEY, {"X-Tenant": "t3nant"})
    with pytest.raises(RequestInvalidError, match=r"^CHATREST_APP_ID = 'app-1' .* allowed is 'app-2'$"):
        environment_credentials("app-2")
