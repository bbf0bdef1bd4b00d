"""From a request's method and path to its operation: a tree of path segments, built once from the endpoints.

Rules:
- A literal segment wins over a parameter; where it leads nowhere, the parameter is tried.
- A path is split before it is decoded, so `a%2Fb` is one segment and `..` is only a name.
- An empty segment is no parameter: `/users/` is not `/users/{uid}`.
- The first segment of a request's path is the interface's base: `v3` for chat and calls, `management`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, final
from urllib.parse import unquote

from ...core.requests.endpoint import Endpoint, RateClass
from ...resources import OPERATIONS

_BASES: Final = {"chat": "v3", "calls": "v3", "management": "management"}
_IMPORT: Final = "data_import"


class Route(NamedTuple):
    """The operation that a request asks for, and what its path says."""

    endpoint: Endpoint[Any]
    parameters: Mapping[str, str]
    """The values of the path's parameters by name, decoded."""


class _Node:
    """The continuations of the segments so far."""

    __slots__ = ("endpoint", "literals", "parameter")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.endpoint: Endpoint[Any] | None = None

    def child(self, segment: str) -> "_Node":
        """Return the node of one more segment of a template; add it where there is none."""
        if not segment.startswith("{"):
            return self.literals.setdefault(segment, _Node())
        if self.parameter is None:
            self.parameter = _Node()
        return self.parameter


@final
class Router:
    """A lookup of operations by method and path. Raises ValueError where two of them have the same path."""

    def __init__(self, endpoints: Iterable[Endpoint[Any]]) -> None:
        self._root = _Node()
        for endpoint in endpoints:
            node = self._root
            for segment in (_BASES[endpoint.interface], endpoint.method, *endpoint.path[1:].split("/")):
                node = node.child(segment)
            if node.endpoint is not None:
                raise ValueError(f"{endpoint.name} and {node.endpoint.name} have the same path")
            node.endpoint = endpoint

    def route(self, method: str, path: str) -> Route | None:
        """Return the operation at `path`, as sent, with the base's own segment; None where there is none."""
        base, *segments = path.removeprefix("/").split("/")
        for node, values in _descend(self._root, (base, method, *segments), 0, ()):
            if (endpoint := node.endpoint) is not None:
                decoded = (unquote(value) for value in values)
                return Route(endpoint, dict(zip(endpoint.parameters, decoded, strict=True)))
        return None


def _descend(
    node: _Node, segments: tuple[str, ...], depth: int, values: tuple[str, ...]
) -> Iterator[tuple[_Node, tuple[str, ...]]]:
    """Yield the nodes that all segments lead to, the one with the most literals in front first."""
    if depth == len(segments):
        yield node, values
        return
    segment = segments[depth]
    if literal := node.literals.get(segment):
        yield from _descend(literal, segments, depth + 1, values)
    if node.parameter is not None and segment:
        yield from _descend(node.parameter, segments, depth + 1, (*values, segment))


ROUTER: Final = Router(OPERATIONS.values())


def rate_class(method: str, path: str) -> RateClass:
    """Return the class of the operation at `path`; for a path of none, import below data_import, else
    standard.
    """
    if route := ROUTER.route(method, path):
        return route.endpoint.rate_class
    return "import" if path.removeprefix("/").split("/")[1:2] == [_IMPORT] else "standard"
