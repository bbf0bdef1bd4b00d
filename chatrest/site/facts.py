"""The facts that a site and a document state: of which export they are, and what they show of it.

Where anything is hidden, the app, its sources and the chosen ids are not named: sources and ids are counted.
So are the sources where a part is chosen, and many apps are not named: the others are not for its reader.
"""

import os
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Final

from .._cloud.address import is_address
from .._texts import plural
from ..export import Plan
from ..export.read.facts import facts_of
from .choice import Choice
from .contents import visible
from .index import Index
from .zone import Zone

_REDACTED: Final = "e-mail addresses, numbers of phones, cards and accounts that were found"


def export_name(out: str | PathLike[str]) -> str:
    """Return the name of an export's folder, or the last part of its address; NAME of `app=NAME`."""
    if isinstance(out, str) and is_address(out):
        return out.rstrip("/").rpartition("/")[2].removeprefix("app=")
    return Path(out).resolve().name.removeprefix("app=")


def title_of(out: str | PathLike[str], title: str | None, choice: Choice) -> str:
    """Return the title that was given, else the name of the export; `Messages` where anything is hidden."""
    return title or ("" if choice.hides else visible(export_name(out))) or "Messages"


def export_facts(out: str | PathLike[str], index: Index) -> list[tuple[str, str]]:
    """Return (name, text) of the export's app, plan and time, of the period, and of the choice."""
    choice, zone, export = index.choice, Zone(index.choice.timezone), facts_of(os.fspath(out))
    sql = "SELECT min(nullif(time, 0)), max(nullif(time, 0)) FROM posts"
    [(first, last)] = index.db.execute(sql).fetchall()
    run, plan = export.last_run, export.plan_value
    patterns = ", and own patterns" if choice.patterns else ""
    facts = [
        ("App", "" if choice.hides or (_is_part(choice) and ", " in export.app) else export.app),
        ("Export of", "" if plan is None else _plan_words(plan, hides=choice.hides or _is_part(choice))),
        ("Period", f"{zone.time_text(first)} to {zone.time_text(last)}" if first else "no dated message"),
        ("Exported", zone.time_text(run.finished * 1000) if run is not None and run.finished else ""),
        ("Selected", _selection(choice)),
        ("Names", "people have pseudonyms" if choice.pseudonyms else ""),
        ("Redacted", f"{_REDACTED}{patterns}" if choice.redact else ""),
    ]
    return [(name, visible(text)) for name, text in facts if text]


def _is_part(choice: Choice) -> bool:
    return bool(choice.conversations or choice.users or choice.since or choice.until)


def _plan_words(plan: Plan, *, hides: bool) -> str:
    counts = Counter(source.kind for source in plan.sources if source.names)
    if not hides or not counts:
        return plan.full_words
    everyone = ["all users"] if plan.all_users else []
    window = plan.full_words.removeprefix(plan.words)
    return "; ".join(everyone + [plural(count, kind) for kind, count in counts.items()]) + window


def _selection(choice: Choice) -> str:
    if choice.hides:
        counts = ((len(choice.conversations), "conversation"), (len(choice.users), "user"))
        return ", ".join(plural(count, kind) for count, kind in counts if count)
    return ", ".join(sorted({*choice.conversations, *choice.users}))
