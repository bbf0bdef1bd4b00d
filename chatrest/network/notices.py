"""Notices that replies bring beside their records, logged at WARNING once a session.

They are: an operation is deprecated; the service ignored the acting user.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, final

from ..core.endpoint import Endpoint
from ..core.faults import http_date
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
        self._has_ignored = False

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
        """Log a record that names another user than the acting one, once a session.

        Services without acting users ignore the header, and act as the app.
        """
        assert endpoint.acting_field is not None
        actor = getattr(record, endpoint.acting_field, None)
        if self._has_ignored or not isinstance(actor, str) or actor == acting_user:
            return
        self._has_ignored = True
        LOGGER.warning(
            "%s: the service ignored the acting user (onBehalfOf): the %s of its reply is another user",
            endpoint.name,
            endpoint.acting_field,
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
