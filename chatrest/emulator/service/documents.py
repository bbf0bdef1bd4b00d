"""JSON objects that are made of others: some members of one, two merged, one changed."""

from collections.abc import Mapping
from typing import Any

from ..store.documents import Document


def selected(document: Mapping[str, Any], names: Mapping[str, Any] | tuple[str, ...]) -> Document:
    return {name: document[name] for name in names if name in document}


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> Document:
    """Return `old` with the members of `new`; objects that both have are merged likewise."""
    both = {
        name: merged(old[name], value)
        for name, value in new.items()
        if isinstance(value, dict) and isinstance(old.get(name), dict)
    }
    return {**old, **new, **both}


def apply_changes(record: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """Return `record` with the members of `changes`, and without those that its member `unset` names."""
    members = {**record, **changes}
    unset = members.pop("unset", ())
    return {name: value for name, value in members.items() if name not in unset}
