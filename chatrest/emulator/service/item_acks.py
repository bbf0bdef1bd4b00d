"""Batches: an acknowledgement for each item of a body."""

from collections.abc import Callable, Iterable
from typing import Any

from .refusals import Refusal


def item_acks(keys: Iterable[str], act: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Do `act` for each of the keys, once; return the message that it gave, or the error, by key."""
    return {key: _ack(key, act) for key in dict.fromkeys(keys)}


def _ack(key: str, act: Callable[[str], str]) -> dict[str, Any]:
    try:
        return {"success": True, "message": act(key)}
    except Refusal as refusal:
        return {"success": False, "error": refusal.error}
