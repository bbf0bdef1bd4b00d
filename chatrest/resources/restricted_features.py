"""Features that are switched off for a role."""

from collections.abc import Sequence
from typing import Final, final

from msgspec import UNSET

from ..core.paging.paging import BY_REPLY_PAGE
from ..core.replies.decode import ACK, Ack, Outcomes, each, many
from ..core.requests.endpoint import Endpoint
from ..models.item_ack import ItemAck
from ..models.role import Feature
from ..queries.restricted_features import Allowance, Restriction
from ..walk.walk import Walk
from .collection import Collection, Start

_PATH: Final = "/roles/{role}/restrictedfeatures"

LIST: Final = Endpoint("restricted_features.list", "GET", _PATH, many(Feature), paging=BY_REPLY_PAGE)
RESTRICT: Final = Endpoint(
    "restricted_features.restrict", "POST", _PATH, each(ItemAck), "idempotent", body=Restriction
)
ALLOW: Final = Endpoint("restricted_features.allow", "DELETE", _PATH, ACK, "idempotent", body=Allowance)


@final
class RestrictedFeatures(Collection):
    """The features that are switched off for roles: `session.restricted_features`."""

    def list(self, role: str, *, cursor: Start = None) -> Walk[Feature]:
        """The features that are switched off for a role, in the service's order. One request a page."""
        return self._walk(LIST, None, cursor, role=role)

    async def restrict(self, role: str, features_to_restrict: Sequence[str]) -> Outcomes[ItemAck]:
        """Switch features off, and give the outcome of each by its key."""
        return await self._call(RESTRICT, Restriction(features_to_restrict=features_to_restrict), role=role)

    async def allow(
        self, role: str, features_to_allow: Sequence[str] | None = None, *, allow_all: bool | None = None
    ) -> Ack:
        """Switch features on again: those of the keys given, or all with `allow_all=True`."""
        body = Allowance(
            features_to_allow=UNSET if features_to_allow is None else features_to_allow,
            allow_all=UNSET if allow_all is None else allow_all,
        )
        return await self._call(ALLOW, body, role=role)
