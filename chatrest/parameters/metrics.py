"""The window of the usage figures."""

from typing import final

from ..errors import RequestInvalidError
from .checked import Filter, Millis


@final
class UsageQuery(Filter):
    """The window of GET /stats, in epoch milliseconds; datetimes and dates are converted.

    Raises `RequestInvalidError` if it ends before it begins.
    """

    from_date: Millis
    to_date: Millis

    def __post_init__(self) -> None:
        super().__post_init__()
        start, end = self.from_date, self.to_date
        if isinstance(start, int) and isinstance(end, int) and end < start:
            raise RequestInvalidError(
                f"to_date = {end}: the window ends before it begins; allowed is from_date ({start}) or later"
            )
