"""A change of a record: the members that a body has, without those that it takes away."""

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from .bodies import Body


def apply_changes(record: Mapping[str, Any], body: Body) -> dict[str, Any]:
    """Return `record` with the members of `body`, and without those that its member `unset` names."""
    members: dict[str, Any] = to_builtins(body)
    unset = members.pop("unset", ())
    return {name: value for name, value in {**record, **members}.items() if name not in unset}
