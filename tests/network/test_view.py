"""Views of a client: what they refuse when they are made."""

import pytest

from chatrest import App, AsyncManagement, AsyncSession, RequestInvalidError

PROXY = "http://proxy.example.com:3128"
SAFE = App("app-1", "k3y-of-the-app", base_url="https://chat.example.com/v3")
OPEN = App("app-2", "k3y-of-the-app", base_url="http://chat.example.com", allow_http=True)


def test_a_proxy_of_a_company_is_taken_for_https_addresses_only() -> None:
    session = AsyncSession(SAFE, proxy=PROXY)
    assert session.as_user("ann").app is SAFE
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        session.for_app(OPEN)
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        AsyncSession(OPEN, proxy=PROXY)
    with pytest.raises(RequestInvalidError, match="the proxy would read the key"):
        AsyncManagement("http://127.0.0.1:1", key="k", secret="s", proxy=PROXY)
    assert AsyncSession(OPEN, proxy="http://127.0.0.1:3128").app is OPEN
