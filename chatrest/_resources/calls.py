"""The history of calls and meetings, on a separate interface."""

from typing import Final, final

from .._core.replies.decode import many, one
from .._core.requests.dialects import BY_PAGE
from .._core.requests.endpoint import Endpoint
from .._models.calls import CallRecord, Transcription
from .._parameters.conversations import CallQuery, TranscriptionQuery
from .._walk.walk import Walk
from .collection import Collection, WalkStart

CALLS_LIST: Final = Endpoint(
    "calls.list", "GET", "/calls", many(CallRecord),
    query=CallQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip
CALLS_GET: Final = Endpoint(
    "calls.get", "GET", "/calls/{sessionId}", one(CallRecord), acting="optional", interface="calls"
)
LIST_TRANSCRIPTIONS: Final = Endpoint(
    "calls.list_transcriptions", "GET", "/calls/{sessionId}/transcriptions", many(Transcription),
    query=TranscriptionQuery, paging=BY_PAGE, acting="optional", interface="calls",
)  # fmt: skip


@final
class Calls(Collection):
    """The history of calls: `session.calls`; `NotFoundError` if there is no such call."""

    def list(
        self, query: CallQuery | None = None, *, on_behalf_of: str | None = None, cursor: WalkStart = None
    ) -> Walk[CallRecord]:
        """The calls that `query` selects. One request per page."""
        return self._walk(CALLS_LIST, query, cursor, on_behalf_of=on_behalf_of)

    async def get(self, session_id: str, *, on_behalf_of: str | None = None) -> CallRecord:
        """A call by the id of its session; `NotFoundError` if there is none."""
        return await self._call(CALLS_GET, on_behalf_of=on_behalf_of, sessionId=session_id)

    def list_transcriptions(
        self,
        session_id: str,
        query: TranscriptionQuery | None = None,
        *,
        on_behalf_of: str | None = None,
        cursor: WalkStart = None,
    ) -> Walk[Transcription]:
        """The transcriptions of a call, newest first; none right after its end. One request per page."""
        return self._walk(LIST_TRANSCRIPTIONS, query, cursor, on_behalf_of=on_behalf_of, sessionId=session_id)
