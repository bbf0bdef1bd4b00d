"""Odd records, as services of this kind send them against their documents."""

import json
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, final

from msgspec import structs

from ...errors import RequestInvalidError
from ..service.request import Request
from .faults import Change, Outgoing

Oddity: TypeAlias = Literal[
    "integer-ids", "empty-lists", "unknown-category", "lone-surrogate", "nan", "byte-order-mark"
]


@final
class OddRecords(Change, frozen=True):
    """Odd records in the answer: every `step`-th of a page, counted from its first.

    - `integer-ids`: `id` is a number.
    - `empty-lists`: `data.metadata` is `[]`, and so is every empty object.
    - `unknown-category`: a category that no document names.
    - `lone-surrogate`: half of a surrogate pair, escaped, at the end of `data.text`.
    - `nan`: `data.score` is NaN, which is no JSON.
    - `byte-order-mark`: in front of the body.
    """

    oddity: Oddity
    step: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oddity not in _CHANGES:
            raise RequestInvalidError(f"oddity = {self.oddity!r}: allowed are {', '.join(_CHANGES)}")
        if type(self.step) is not int or self.step < 1:
            raise RequestInvalidError(f"odd_records.step = {self.step!r}: allowed is a whole number from 1")

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        """Return the answer with odd records; one without records stays as it is."""
        try:
            reply_json = json.loads(reply.body)
        except ValueError:
            return reply
        data = reply_json.get("data") if isinstance(reply_json, dict) else None
        records = data if isinstance(data, list) else [data] if isinstance(data, dict) else []
        if self.oddity == "byte-order-mark":
            return structs.replace(reply, body=b"\xef\xbb\xbf" + reply.body)
        odd = [record for record in records[:: self.step] if isinstance(record, dict)]
        for record in odd:
            _CHANGES[self.oddity](record)
        if not odd:
            return reply
        return structs.replace(reply, body=json.dumps(reply_json, separators=(",", ":")).encode())


def _integer_id(record: dict[str, Any]) -> None:
    if str(record.get("id", "")).isdigit():
        record["id"] = int(record["id"])


def _empty_lists(record: dict[str, Any]) -> None:
    _data(record)["metadata"] = []
    for name, value in record.items():
        record[name] = _with_lists(value)


def _with_lists(value: Any) -> Any:
    """Return `value` with every empty object in it as an empty list."""
    if isinstance(value, dict):
        return {name: _with_lists(part) for name, part in value.items()} or []
    return [_with_lists(part) for part in value] if isinstance(value, list) else value


def _unknown_category(record: dict[str, Any]) -> None:
    record["category"] = "unheard-of"


def _lone_surrogate(record: dict[str, Any]) -> None:
    data = _data(record)
    data["text"] = f"{data.get('text', '')}\ud83d"


def _nan(record: dict[str, Any]) -> None:
    _data(record)["score"] = float("nan")


def _unchanged(record: dict[str, Any]) -> None:
    return


def _data(record: dict[str, Any]) -> dict[str, Any]:
    data = record.get("data")
    if not isinstance(data, dict):
        data = record["data"] = {}
    return data


_CHANGES: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "integer-ids": _integer_id,
    "empty-lists": _empty_lists,
    "unknown-category": _unknown_category,
    "lone-surrogate": _lone_surrogate,
    "nan": _nan,
    "byte-order-mark": _unchanged,
}
