"""The environment of workers that are in this process."""

import pytest


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.distributed import clusters  # Dask, imported this early, would silence the log of the tests

    for name, value in (("APP_ID", "app"), ("API_KEY", "k3y"), ("BASE_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"CHATREST_{name}", value)
    clusters.runs.clear()
