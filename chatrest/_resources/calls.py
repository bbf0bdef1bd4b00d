"""Calls: the history of calls and meetings, on a separate interface.

A separate file, as the noun has one in `models` and `parameters`, too.
"""

from typing import Final, final

from .._core.replies.decode import many, one
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.calls import CallRecord, Transcription
from .._parameters.calls import CallQuery, TranscriptionQuery
from .._walk.walk import Walk
from .collection import Collection, Start

LIST: Final = Endpoint(
    "calls.list", "GET", "/calls", many(CallRecord),
    query=CallQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip
GET: Final = Endpoint(
    "calls.get", "GET", "/calls/{sessionId}", one(CallRecord), acting="optional", interface="calls"
)
LIST_TRANSCRIPTIONS: Final = Endpoint(
    "calls.list_transcriptions", "GET", "/calls/{sessionId}/transcriptions", many(Transcription),
    query=TranscriptionQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip


@final
class Calls(Collection):
    """The history of calls: `session.calls`."""

    def list(
        self, query: CallQuery | None = None, *, on_behalf_of: str | None = None, cursor: Start = None
    ) -> Walk[CallRecord]:
        """GET /calls: the calls, in the service's order. One request per page."""
        return self._walk(LIST, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, session_id: str, *, on_behalf_of: str | None = None) -> CallRecord:
        """GET /calls/{sessionId}: one call; `NotFoundError` for no such call."""
        return await self._call(GET, on_behalf_of=on_behalf_of, sessionId=session_id)

    def list_transcriptions(
        self,
        session_id: str,
        query: TranscriptionQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: Start = None,
    ) -> Walk[Transcription]:
        """GET /calls/{sessionId}/transcriptions: the transcriptions of a call, the newest first.

        One request per page. There is none right after a call has ended.
        """
        return self._walk(LIST_TRANSCRIPTIONS, query, cursor, on_behalf_of=on_behalf_of, sessionId=session_id)
