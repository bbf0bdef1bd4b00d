"""Moderation: lists of words, patterns and sentences that rules refer to."""

from typing import Final

from ...core.replies.decode import ACK, Ack, many, one
from ...core.requests.endpoint import Endpoint
from ...models.moderation import KeywordList
from ...queries.moderation import NewKeywordList
from ...walk.walk import Walk
from ..collection import Collection

LIST_KEYWORD_LISTS: Final = Endpoint(
    "moderation.list_keyword_lists", "GET", "/moderation/keywords", many(KeywordList)
)
GET_KEYWORD_LIST: Final = Endpoint(
    "moderation.get_keyword_list", "GET", "/moderation/keywords/{keywordId}", one(KeywordList)
)
CREATE_KEYWORD_LIST: Final = Endpoint(
    "moderation.create_keyword_list", "POST", "/moderation/keywords", one(KeywordList), "never",
    body=NewKeywordList, media="multipart",
)  # fmt: skip
UPDATE_KEYWORD_LIST: Final = Endpoint(
    "moderation.update_keyword_list", "PUT", "/moderation/keywords/{keywordId}", one(KeywordList),
    "idempotent", body=NewKeywordList, media="multipart",
)  # fmt: skip
DELETE_KEYWORD_LIST: Final = Endpoint(
    "moderation.delete_keyword_list", "DELETE", "/moderation/keywords/{keywordId}", ACK, "idempotent"
)


class KeywordLists(Collection):
    """The operations of keyword lists."""

    def list_keyword_lists(self) -> Walk[KeywordList]:
        """The keyword lists, in one reply."""
        return self._walk(LIST_KEYWORD_LISTS)

    async def get_keyword_list(self, keyword_id: str) -> KeywordList:
        """A keyword list; an error with the code ERR_KEYWORD_NOT_FOUND where there is none."""
        return await self._call(GET_KEYWORD_LIST, keywordId=keyword_id)

    async def create_keyword_list(self, keyword_list: NewKeywordList) -> KeywordList:
        """Make a keyword list, of terms or of a file. Sent once, as a form."""
        return await self._call(CREATE_KEYWORD_LIST, keyword_list)

    async def update_keyword_list(self, keyword_id: str, keyword_list: NewKeywordList) -> KeywordList:
        """Replace the terms of a keyword list; its `category` is needed. Sent as a form."""
        return await self._call(UPDATE_KEYWORD_LIST, keyword_list, keywordId=keyword_id)

    async def delete_keyword_list(self, keyword_id: str) -> Ack:
        """Delete a keyword list."""
        return await self._call(DELETE_KEYWORD_LIST, keywordId=keyword_id)
