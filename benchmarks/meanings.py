"""The meaning of the headlines to a user, and the reason where a goal is missed.

The headlines are found by the beginning of their case.
"""

from typing import Final, NamedTuple

from .comparison import Comparison


class Meaning(NamedTuple):
    """What the headlines with one beginning mean."""

    start: str
    text: str
    reason: str
    """The reason why the goal is or may be missed."""


MEANINGS: Final = (
    Meaning(
        "a page of all kinds", "CPU time to make typed messages of a reply",
        "",
    ),
    Meaning(
        "a typed walk", "CPU time per message when you iterate over a list",
        "Each page is compared with its query and with the items before it, and each item has a cursor. "
        "Code by hand does neither.",
    ),
    Meaning(
        "ahead(", "time per page when your work takes as long as a reply",
        "",
    ),
    Meaning(
        "split(16): replies after", "time per page of one list that is read from 16 positions",
        "The first requests, which find the ends of the list, are made one after another.",
    ),
    Meaning(
        "split(16): no latency", "CPU time of the same where replies are immediate",
        "",
    ),
    Meaning(
        "chatrest: a page each", "CPU time per item of a fan-out",
        "Each item has an outcome, and each call what a single call has.",
    ),
    Meaning(
        "session.request(…), 1000 at once", "CPU time per call when many calls wait",
        "The same as for one call: the other code has no limits but a semaphore.",
    ),
    Meaning(
        "session.request(…)", "CPU time of one call without types",
        "Each call has a deadline, a slot of the rate limit and a place in the pool.",
    ),
    Meaning(
        "messages.list_user(…)", "CPU time of the first page of a list",
        "A walk is made, and its first page is checked, for one item.",
    ),
    Meaning(
        "messages.send(…)", "CPU time of one send",
        "Each send has a random `muid`, and its reply is checked and typed.",
    ),
    Meaning(
        "an export of one user", "CPU time per message of an export",
        "The other code only receives the bytes, or writes them without ids. An export also reads every id, "
        "checks who owns the message, keeps a journal, and proves at the end that nothing is missing.",
    ),
    Meaning(
        "an export by chatrest", "exported messages per CPU second; more is better",
        "chatrest is faster, but not by as much as the goal demands: it also keeps a journal and checks that "
        "nothing is missing, which the other does not.",
    ),
    Meaning(
        "rate limits used", "how many kinds of limits a session uses to 90 %, with few refused calls",
        "A limit that the service does not announce has to be found by trying.",
    ),
    Meaning("memory of an idle session", "memory of a session without calls", ""),
    Meaning("memory of fan_out", "growth of memory with the number of items", ""),
    Meaning(
        "memory of an export", "growth of memory with the number of messages",
        "The ids of the messages that a run has seen are in memory.",
    ),
    Meaning("peak of an export", "the largest memory of an export to Parquet", ""),
    Meaning("`import chatrest`", "time of the import, before anything is used", ""),
)  # fmt: skip


def meaning_of(comparison: Comparison) -> Meaning:
    """Return the meaning of a comparison; an empty one for a case that is not a headline."""
    return next(
        (each for each in MEANINGS if comparison.case.startswith(each.start)),
        Meaning(comparison.case, "", ""),
    )
