"""Servers that do not heed the acting user of a request:

Emulator(weather=[IgnoredActingUser()]) or, where they take all callers for one user, IgnoredActingUser("ann")
"""

from typing import ClassVar, final

from ..service.request import Request
from .faults import Change


@final
class IgnoredActingUser(Change, frozen=True):
    """The header `onBehalfOf` has no effect: the acting user is always `uid`, or nobody where that is None.

    Accompanies other faults. Where nobody acts, an operation that needs a user refuses.
    """

    uid: str | None = None

    accompanies: ClassVar[bool] = True

    def rewritten(self, request: Request) -> Request:
        """Return the request of the one user, or of nobody."""
        headers = {name: value for name, value in request.headers.items() if name != "onbehalfof"}
        return request._replace(headers=headers | ({"onbehalfof": self.uid} if self.uid else {}))
