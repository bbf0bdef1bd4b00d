"""The table of triggers, against the checked-in table of the service."""

import json
from pathlib import Path

from chatrest.webhooks.event import EVENT_CLASSES


def test_every_trigger_has_a_class_and_no_other() -> None:
    table = json.loads((Path(__file__).parent.parent / "operations.json").read_text(encoding="utf-8"))
    assert sorted(EVENT_CLASSES) == table["triggers"]
