"""`chatrest.otel` where OpenTelemetry is not installed."""

import sys
from importlib import import_module

import pytest

from chatrest._extras import missing_extra


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("chatrest.otel")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        import_module("chatrest.otel")
    assert str(caught.value) == missing_extra("chatrest.otel", "otel")
