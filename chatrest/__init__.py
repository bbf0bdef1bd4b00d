"""chatrest: an asyncio client library for the REST service of a hosted chat platform.

    from chatrest import App, AsyncSession

    async with AsyncSession(App.from_env()) as session:
        async for message in session.messages.list_user("bob", on_behalf_of="alice"):
            print(message.id, message.text)

`session.users`, `.groups`, `.members`, `.messages`, `.conversations` and the others are the collections:
`help(session.messages)` shows the operations of one, `chatrest/guide/operations.md` those of all. A
filter or a body is a struct (`MessageQuery`, `NewUser`): `help(chatrest.MessageQuery)` shows its fields.
Records (`Message`, `User`, …) are frozen structs with `to_dict` and `to_json`. All errors are
`ChatRestError`s.

The public names are imported when they are first used (PEP 562): `import chatrest` is fast, and the structs,
filters and errors do not import aiohttp. `dir(chatrest)` has all of them; `help` and `import *` have those
with which most programs begin.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _public_names() -> tuple[dict[str, str], list[str]]:
    """Return the module of each public name, and `__all__`, both from `__init__.pyi`.

    The stub has each name as `Name as Name` in the import of its module. The package's loader reads it, so it
    is found in a zip file, too.
    """
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
    imports, _, others = stub.partition("\n__all__ = [")
    homes = {}
    for statement in imports.split("\nfrom .")[1:]:
        home, *names = statement.split(" as ")
        homes.update(dict.fromkeys((name.split()[0].rstrip(",") for name in names), home.split()[0]))
    return homes, others.partition("]")[0].replace('"', "").replace(",", "").split()


_HOME, __all__ = _public_names()


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
