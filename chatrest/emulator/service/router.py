"""From a request's method and path to its operation: a regular expression for each first word, made once.

Rules:
- A literal segment wins over a parameter; where it leads nowhere, the parameter is tried.
- A path is split before it is decoded, so `a%2Fb` is one segment and `..` is only a name.
- An empty segment is no parameter: `/users/` is not `/users/{uid}`.
- The first segment of a request's path is the interface's base: `v3` for chat and calls, `management`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from ..._core.requests.endpoint import Endpoint, RateClass
from ..._resources import OPERATIONS

_BASES: Final = {"chat": "v3", "calls": "v3", "management": "management"}


class Route(NamedTuple):
    """The operation that a request asks for, and what its path says."""

    endpoint: Endpoint[Any]
    parameters: Mapping[str, str]
    """The values of the path's parameters by name, decoded."""


class Router:
    def __init__(self, endpoints: Iterable[Endpoint[Any]]) -> None:
        self._endpoints = {f"_{number}": each for number, each in enumerate(endpoints)}
        paths: dict[tuple[str, str, str], list[tuple[list[bool], str]]] = {}
        for name, each in self._endpoints.items():
            segments = each.path[1:].split("/")
            pattern = "/".join("([^/]+)" if segment[0] == "{" else re.escape(segment) for segment in segments)
            # The group at the end says which operation it is.
            row = [segment[0] == "{" for segment in segments], f"{pattern}(?P<{name}>)"
            paths.setdefault((_BASES[each.interface], each.method, segments[0]), []).append(row)
        self._patterns = {
            place: re.compile("|".join(pattern for _, pattern in sorted(rows)))
            for place, rows in paths.items()
        }

    def route(self, method: str, path: str) -> Route | None:
        """Return the operation at `path`, as sent, with the base's own segment; None if there is none."""
        base, _, path = path.removeprefix("/").partition("/")
        pattern = self._patterns.get((base, method, path.partition("/")[0]))
        match = None if pattern is None else pattern.fullmatch(path)
        if match is None:
            return None
        endpoint, end = self._endpoints[str(match.lastgroup)], match.lastindex or 0
        values = (unquote(match[index]) for index in range(end - len(endpoint.parameters), end))
        return Route(endpoint, dict(zip(endpoint.parameters, values, strict=True)))


ROUTER: Final = Router(OPERATIONS.values())


def rate_class(method: str, path: str) -> RateClass:
    """Return the class of the operation at `path`; for a path of none, import below data_import, else
    standard.
    """
    if route := ROUTER.route(method, path):
        return route.endpoint.rate_class
    return "import" if path.removeprefix("/").split("/")[1:2] == ["data_import"] else "standard"
