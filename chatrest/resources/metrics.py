"""Usage figures of an app."""

from datetime import date
from typing import Final, final

from ..core.replies.decode import bare, one
from ..core.requests.endpoint import Endpoint
from ..models.metrics import MessageMetrics, UsageMetrics
from ..parameters.metrics import UsageQuery
from .collection import Collection

GET_USAGE: Final = Endpoint("metrics.get_usage", "GET", "/stats", one(UsageMetrics), query=UsageQuery)
# Shown with and without `data` around it.
GET_MESSAGE_RECEIPTS: Final = Endpoint(
    "metrics.get_message_receipts", "GET", "/stats/messages", bare(MessageMetrics)
)


@final
class Metrics(Collection):
    """The usage figures of an app: `session.metrics`."""

    async def get_usage(self, from_date: int | date, to_date: int | date) -> UsageMetrics:
        """GET /stats: the figures of a window; numbers are epoch milliseconds, as in the reply.

        Raises `RequestInvalidError` for a window that ends before it begins.
        """
        return await self._call(GET_USAGE, query=UsageQuery(from_date=from_date, to_date=to_date))

    async def get_message_receipts(self) -> MessageMetrics:
        """GET /stats/messages: messages and receipts of the last hour, in 12 buckets of five minutes."""
        return await self._call(GET_MESSAGE_RECEIPTS)
