"""A change of a record: the members that a body has, without those that it takes away."""

from collections.abc import Mapping
from typing import Any


def apply_changes(record: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `record` with the members of `changes`, and without those that its member `unset` names."""
    members = {**record, **changes}
    unset = members.pop("unset", ())
    return {name: value for name, value in members.items() if name not in unset}
