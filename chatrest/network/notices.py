"""Notices that replies bring beside their records, logged at WARNING once for each operation of a session.

They are: an operation is deprecated; the service ignored the acting user.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, final

from ..core.replies.acting_user import is_of_others
from ..core.replies.faults import http_date
from ..core.requests.endpoint import Endpoint
from ..telemetry import LOGGER

DEPRECATION: Final = "Deprecation"
"""The header of RFC 9745: the time from which on an operation is deprecated, as `@` and epoch seconds."""
SUNSET: Final = "Sunset"
"""The header of RFC 8594: the time from which on an operation may be gone, as an HTTP date."""
_STRUCTURED_DATE: Final = re.compile(r"@(-?[0-9]{1,15})\s*(?:;.*)?", re.DOTALL)


@final
class Notices:
    """The notices that a session has logged."""

    def __init__(self) -> None:
        self._deprecated: set[str] = set()
        self._ignoring: set[str] = set()

    def log_deprecation(self, endpoint: Endpoint[Any], headers: Mapping[str, str]) -> None:
        """Log the headers `Deprecation` and `Sunset` of a reply, once for each operation.

        Of their values only times are logged, as the rest is the peer's text.
        """
        if endpoint.name in self._deprecated:
            return
        self._deprecated.add(endpoint.name)
        LOGGER.warning(
            "%s: the service says that this operation is deprecated%s%s%s",
            endpoint.name,
            _since(headers.get(DEPRECATION)),
            _until(headers.get(SUNSET)),
            f"; use {endpoint.deprecated}" if endpoint.deprecated else "",
        )

    def check_acting_user(self, endpoint: Endpoint[Any], acting_user: str, record: Any) -> None:
        """Log a record that shows another user than the acting one, once for each operation."""
        if endpoint.name in self._ignoring:
            return
        if not (endpoint.is_by_other or is_of_others)(record, acting_user):
            return
        self._ignoring.add(endpoint.name)
        LOGGER.warning(
            "%s: the service ignored the acting user (onBehalfOf): its reply shows another user",
            endpoint.name,
        )


def _since(value: str | None) -> str:
    """Return ` since DATE` for a `Deprecation` header; some services send `true`, or an HTTP date."""
    if value is None:
        return ""
    match = _STRUCTURED_DATE.fullmatch(value)
    seconds = float(match[1]) if match else http_date(value)
    return f" since {date}" if (date := _day(seconds)) else ""


def _until(value: str | None) -> str:
    seconds = None if value is None else http_date(value)
    return f", and may be gone from {date} on" if (date := _day(seconds)) else ""


def _day(seconds: float | None) -> str:
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
