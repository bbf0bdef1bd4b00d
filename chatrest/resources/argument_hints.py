"""The error of a call with an argument that its method does not have: it names the struct that has it.

`users.create(uid="bob")` is meant as `users.create(NewUser(uid="bob"))`. A method that was called rightly
pays one function call more; all else is done where it has failed.
"""

from collections.abc import Callable, Collection, Iterator
from functools import wraps
from types import FunctionType
from typing import Any, Final, get_args, get_type_hints

from ..queries.checked import Checked
from ..queries.checked_type import nearest

_COROUTINE: Final = 0x80
"""`inspect.CO_COROUTINE`; importing `inspect` takes 10 ms, and only an error needs it."""


def hinting(method: FunctionType) -> Callable[..., Any]:
    """Decorate a method of a collection, so that its `TypeError` for a wrong argument says what to give."""
    # A plain method may have a credential for an argument, and no frame of an error may hold it.
    if method.__code__.co_flags & _COROUTINE:

        @wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            try:
                coroutine = method(*args, **kwargs)
            except TypeError as error:
                failure = TypeError(argument_fault(method, kwargs.keys()) or str(error))
            else:
                return await coroutine
            finally:
                del args, kwargs
            raise failure

    else:

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return method(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # by the method itself
                failure = TypeError(argument_fault(method, kwargs.keys()) or str(error))
            finally:
                del args, kwargs
            raise failure

    return call


def argument_fault(method: FunctionType, names: Collection[str]) -> str:
    """Return what is wrong with the names of a call's arguments; empty where they are not the cause."""
    from inspect import signature

    known = [name for name in signature(method).parameters if name != "self"]
    structs = dict(_structs(method))
    unknown = [name for name in names if name not in known]
    faults = [f"no argument {name!r}{_hint(name, known, structs)}" for name in unknown]
    return f"{method.__qualname__}() has {', and '.join(faults)}" if faults else ""


def _structs(method: FunctionType) -> Iterator[tuple[str, type[Checked]]]:
    """Yield the arguments that are a filter or a body, each with its class."""
    for name, hint in get_type_hints(method).items():
        for kind in get_args(hint) or (hint,):
            if name != "return" and isinstance(kind, type) and issubclass(kind, Checked):
                yield name, kind


def _hint(name: str, known: list[str], structs: dict[str, type[Checked]]) -> str:
    for argument, kind in structs.items():
        if name in kind.__struct_fields__:
            return f": it is a field, give {argument}={kind.__name__}({name}=…)"
    if hint := nearest(name, known):
        return hint
    for argument, kind in structs.items():
        if hint := nearest(name, kind.__struct_fields__):
            return f"{hint}: {argument}={kind.__name__}(…) has it"
    if structs:
        return ": " + " and ".join(f"{argument} is a {kind.__name__}" for argument, kind in structs.items())
    return f": it has {', '.join(known)}" if known else ""
