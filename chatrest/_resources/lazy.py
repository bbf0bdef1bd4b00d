"""An attribute of a session that is a collection, whose module is loaded when the attribute is first used."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, final, overload

from . import collection_class

if TYPE_CHECKING:
    from .collection import Collection

C = TypeVar("C", bound="Collection")


@final
class collection(Generic[C]):  # noqa: N801, used as a function: `collection()`
    """A collection, made when it is first used and kept for the session's life.

    The attribute has the collection's name. Its annotation names the class for type checkers, so nothing is
    imported before the attribute is used. The session has a `sender`; it is not a protocol, as type checkers
    disagree on a `cached_property` in one.
    """

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, session: None, owner: type[Any]) -> "collection[C]": ...

    @overload
    def __get__(self, session: Any, owner: type[Any]) -> C: ...

    def __get__(self, session: Any, owner: type[Any]) -> "collection[C] | C":
        if session is None:
            return self
        kind = collection_class(self._name)
        made = session.__dict__[self._name] = cast("C", kind(session.sender))
        return made

    def __repr__(self) -> str:
        kind = collection_class(self._name)
        count = sum(not name.startswith("_") for name in dir(kind))
        return f"<{kind.__name__}: {count} operations, see help(session.{self._name})>"
