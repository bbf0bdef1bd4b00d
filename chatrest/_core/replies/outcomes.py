"""The outcome of each item of a batch, in the forms that services of this kind write.

| `data`                                                     | keys                                       |
|------------------------------------------------------------|--------------------------------------------|
| `{key: {success, …}, …}`                                   | as they are                                |
| `{group: {key: {success, …}, …}, …}`                       | `key`; the second of one name: `group:key` |
| `{success: {key: …}, failed: {key: …}}`, or arrays of them | as in a group                              |
| `{members: [{uid, …}], failed, success}`                   | each record's `uid`, `id`, `guid`, `muid`  |
| `[{uid, success, …}]`                                      | the same                                   |

The record of an item is in the outcome's `data`; some imports wrap it twice, in `data.data`.
"""

from collections.abc import Iterator
from typing import Any, Final

from ...errors import ReplyUnreadableError

_KEYS: Final = ("uid", "id", "guid", "muid")
_OUTCOME: Final = frozenset({"success", "message", "error", "data", "code"})


def outcomes_of(reply: Any) -> dict[str, dict[str, Any]]:
    """Return an outcome by the item's key, with a boolean `success`: False if the reply has none.

    Raises `ReplyUnreadableError` for a reply without outcomes of single items: a 200 alone does not mean that
    each of them succeeded.
    """
    data = reply.get("data", reply) if isinstance(reply, dict) else reply
    outcomes: dict[str, dict[str, Any]] = {}
    for group, key, outcome in _items(data):
        name = key if key not in outcomes else f"{group}:{key}"
        outcomes[name] = outcome
    if not outcomes:
        raise ReplyUnreadableError("data: expected an outcome per item, got none")
    return outcomes


def _items(data: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if isinstance(data, list):
        entries = [entry for entry in data if isinstance(entry, dict) and "success" in entry]
        return _entries("data", entries, succeeded=False)
    if not isinstance(data, dict):
        return iter(())
    return _of_verdicts(data) if _has_verdicts(data) else _of_groups(data)


def _has_verdicts(data: dict[str, Any]) -> bool:
    sorted_items = (data.get("success"), data.get("failed"))
    return isinstance(data.get("members"), list) or any(
        isinstance(items, list) or (isinstance(items, dict) and not _is_outcome(items))
        for items in sorted_items
    )


def _of_verdicts(data: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    success, failed = data.get("success"), data.get("failed")
    scalar = success if not isinstance(success, dict | list) else None
    failures = list(_entries("failed", failed, succeeded=False))
    if scalar is None or _is_true(scalar):
        yield from _entries("members", data.get("members"), succeeded=True)
    else:  # not all: where those that failed are named, the others did not
        named = {key for _, key, _ in failures}
        entries = _entries("members", data.get("members"), succeeded=bool(named))
        yield from (entry for entry in entries if entry[1] not in named)
    yield from _entries("success", success, succeeded=True)
    yield from failures
    if isinstance(failed, int) and failed > 0:  # how many, and not which
        yield "failed", "failed", {"success": False, "error": failed}


def _of_groups(data: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    groups = {name for name, value in data.items() if _is_group(value)}
    for name, value in data.items():
        if name in groups:
            yield from _entries(name, value, succeeded=False)
        elif isinstance(value, dict) and (value or not groups):
            if value and not _is_outcome(value) and not _OUTCOME & value.keys():
                raise ReplyUnreadableError(f"data.{name[:50]}: expected an outcome, got another object")
            yield "", name, _outcome(value, succeeded=False)
        elif isinstance(value, bool) and name not in _OUTCOME:
            yield "", name, _outcome(value, succeeded=False)


def _entries(group: str, items: Any, *, succeeded: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if isinstance(items, dict):
        for key, value in items.items():
            yield group, key, _outcome(value, succeeded=succeeded)
    elif isinstance(items, list):
        for index, value in enumerate(items):
            yield group, _key_of(value, index), _outcome(value, succeeded=succeeded)


def _key_of(value: Any, index: int) -> str:
    if isinstance(value, dict):
        value = next((value[name] for name in _KEYS if isinstance(value.get(name), str | int)), None)
    return str(value) if isinstance(value, str | int) else str(index)


def _outcome(value: Any, *, succeeded: bool) -> dict[str, Any]:
    """Return the outcome of an item; `succeeded` is its success if `value` has none itself."""
    if isinstance(value, bool):
        return {"success": value}
    if not isinstance(value, dict):
        return {"success": succeeded, "message": value} if isinstance(value, str) else {"success": succeeded}
    success = _is_true(value["success"]) if value.get("success") is not None else succeeded
    if _OUTCOME & value.keys():
        outcome = {**value, "success": success}
        while _is_wrapped_again(outcome.get("data")):
            outcome["data"] = outcome["data"]["data"]
        return outcome
    return {"success": success, "data": value} if value else {"success": success}


def _is_wrapped_again(data: Any) -> bool:
    """Return True if an item's `data` is not its record, but another outcome around it."""
    return isinstance(data, dict) and isinstance(data.get("data"), dict) and data.keys() <= _OUTCOME


def _is_group(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and not _is_outcome(value)
        and (isinstance(value.get("success"), dict) or not value.keys() <= _OUTCOME)
        and all(isinstance(each, dict | bool) for each in value.values())
    )


def _is_outcome(value: dict[str, Any]) -> bool:
    return isinstance(value.get("success"), bool | int | str)


def _is_true(success: Any) -> bool:
    return success in (True, "true")
