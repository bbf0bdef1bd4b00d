"""The choice of what is written for people: which messages, in which zone, and what is hidden in them.

`SiteOptions` is what a caller gives, and `Choice` what is left after it was checked.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple, TypedDict

from ..errors import RequestInvalidError
from ..times import Time
from .zone import Zone


class SiteOptions(TypedDict, total=False):
    """The options of `write_site` and `write_document`: which messages, in which zone, and what is hidden."""

    conversations: Iterable[str]
    """Only those of these ids."""
    users: Iterable[str]
    """Only conversations that one of these uids takes part in."""
    since: Time | None
    """Only messages sent then or later, and those without a time.

    A date is a day of `timezone`, and a time without a zone is of that zone, too.
    """
    until: Time | None
    """Only messages sent then or earlier, and those without a time; a date is its whole day."""
    title: str | None
    """The title of all pages; without it the name of the export, or `Messages` where anything is hidden."""
    timezone: str
    """The name of the zone of all days and times, such as `Europe/Berlin`."""
    redact: bool
    """Hide e-mail addresses and numbers of phones, cards and accounts, in the names of files, too."""
    patterns: Iterable[str]
    """Regular expressions of what `redact` hides, too; it is implied."""
    pseudonyms: bool
    """Replace the names and uids of people by names such as `Person 1`, in texts, too."""


class Choice(NamedTuple):
    """The part of an export that a site has."""

    conversations: Collection[str] = frozenset()
    users: Collection[str] = frozenset()
    """Only conversations that one of these takes part in, or has written in.

    Of many apps both may be written as `shop/ann`, of that app alone.
    """
    redact: bool = False
    since: int | None = None
    until: int | None = None
    timezone: str = "UTC"
    """In which days begin."""
    pseudonyms: bool = False
    patterns: tuple[str, ...] = ()
    """Regular expressions of what is hidden, too."""

    @property
    def hides(self) -> bool:
        """True if records are not shown as they are."""
        return self.redact or self.pseudonyms


def choice_of(options: SiteOptions) -> Choice:
    """Return the part of an export that is chosen; raises `RequestInvalidError` for a wrong value."""
    zone = Zone(options.get("timezone", "UTC"))
    since = None if (time := options.get("since")) is None else zone.milliseconds_of("since", time, end=False)
    until = None if (time := options.get("until")) is None else zone.milliseconds_of("until", time, end=True)
    if since is not None and until is not None and until < since:
        raise RequestInvalidError(
            f"until = {options['until']}: the window ends before it begins: expected a time after since = "
            f"{options['since']}",
            name="until",
        )
    if unknown := options.keys() - SiteOptions.__optional_keys__:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    for name in ("conversations", "users", "patterns"):
        if isinstance(text := options.get(name, ()), str):
            raise RequestInvalidError(f"{name} = {text!r}: expected a list of texts", name=name)
    hidden = tuple(options.get("patterns", ()))
    for pattern in hidden:
        try:
            re.compile(pattern)
        except re.error as error:
            raise RequestInvalidError(
                f"patterns = {pattern!r}: {error}; expected a regular expression", name="patterns"
            ) from None
    return Choice(
        frozenset(options.get("conversations", ())), frozenset(options.get("users", ())),
        options.get("redact", False) or bool(hidden),
        since, until, zone.name, options.get("pseudonyms", False), hidden,
    )  # fmt: skip


def check_has_messages(out: object, choice: Choice, messages: int) -> None:
    """Raise `RequestInvalidError` if the chosen conversations and users have no message."""
    if (choice.conversations or choice.users) and not messages:
        raise RequestInvalidError(
            f"{out}: no message is of {_chosen_words(choice)}: expected conversations or users of the export"
        )


def _chosen_words(choice: Choice) -> str:
    """Return the chosen conversations and users, such as `conversation 'group_den' or user 'ann'`."""
    conversations = [f"conversation {each!r}" for each in sorted(choice.conversations)]
    return " or ".join([*conversations, *(f"user {uid!r}" for uid in sorted(choice.users))])
