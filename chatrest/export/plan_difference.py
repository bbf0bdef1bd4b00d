"""The settings of a plan in words, as its user would type them, and how those of two plans differ. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import UNSET, structs

from ..secrets import shown
from ..times import timestamp_words
from .plan import DEFAULTS, SOURCES, Plan

_SHOWN: Final = 5
"""Names of a list that are written out."""


class Setting(NamedTuple):
    """One setting of a plan that is not its default."""

    value: Any
    words: str


def difference(plan: Plan, other: Plan) -> tuple[str, str]:
    """Return the settings in which two plans differ: as the first has them, and as the other has them.

    Such as `("since=2020-01-01", "no since")`; two empty texts where the plans are equal.
    """
    mine, others = dict(_settings(plan)), dict(_settings(other))
    names = [name for name in sorted({**mine, **others}) if _value(mine, name) != _value(others, name)]
    return _joined(mine, names), _joined(others, names)


def growth_fault(stored: Plan, plan: Plan) -> tuple[str, str]:
    """Return the settings for which an export by `stored` cannot be continued by `plan`, in both's words.

    Two empty texts where it can. Sources may differ, and the window may become wider; format, compression,
    partition and filters stay as they are.
    """
    sources = {name: getattr(stored, name) for name in SOURCES}
    window = dict(zip(("since", "until"), stored.window, strict=True)) if is_within(stored, plan) else {}
    return difference(stored, structs.replace(plan, **sources, **window))


def is_within(stored: Plan, plan: Plan) -> bool:
    """Return whether the window of `plan` has all times of the window of `stored`."""
    (since, until), (new_since, new_until) = stored.window, plan.window
    return (new_since or 0) <= (since or 0) and (
        new_until is None or (until is not None and new_until >= until)
    )


def _settings(plan: Plan) -> Iterator[tuple[str, Setting]]:
    names = {"users": plan.users, "groups": plan.groups, "pairs": ["+".join(pair) for pair in plan.pairs]}
    for name, value in names.items():
        yield from [(name, Setting(value, _listed(value)))] if value else []
    for name in ("all_users", "everything"):
        yield from [(name, Setting(True, "True"))] if getattr(plan, name) else []
    for name, time in zip(("since", "until"), plan.window, strict=True):
        yield from [(name, Setting(time, timestamp_words(time)))] if time is not None else []
    for name, value in structs.asdict(plan.query).items():
        yield from [(f"query.{name}", Setting(value, shown(value)))] if value not in (None, UNSET) else []
    yield "format", Setting(plan.format, plan.format)
    for name, default in zip(("compress", "partition"), DEFAULTS[plan.format], strict=True):
        value = getattr(plan, name)
        yield from [(name, Setting(value, value))] if value != default else []


def _value(settings: Mapping[str, Setting], name: str) -> Any:
    return settings[name].value if name in settings else None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _joined(settings: Mapping[str, Setting], names: Sequence[str]) -> str:
    parts = [f"{name}={settings[name].words}" if name in settings else f"no {name}" for name in names]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
