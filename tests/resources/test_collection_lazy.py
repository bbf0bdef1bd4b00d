"""Collections of a session: made once, their modules loaded when they are first used."""

import subprocess
import sys

import pytest

from chatrest import App, AsyncManagement, AsyncSession
from chatrest._resources import COLLECTIONS, OPERATIONS, LazyCollection, collection_class
from chatrest._resources.collection import Collection
from tests.support.cases import loop_over

APP = App("app-1", "k" * 20, base_url="http://127.0.0.1:9")
LOADED = (
    "print(*sorted(name.rpartition('.')[2] for name in sys.modules"
    " if name.startswith('chatrest._resources.') and name.count('.') == 2))"
)


def loaded_by(statement: str) -> set[str]:
    """Return the modules of `chatrest._resources` that a new interpreter has after `statement`."""
    command = (sys.executable, "-c", f"import sys; {statement}; {LOADED}")
    run = subprocess.run(command, check=True, capture_output=True, timeout=60, text=True)
    return set(run.stdout.split())


def test_a_collection_is_made_once_for_a_session() -> None:
    first, second = AsyncSession(APP), AsyncSession(APP)
    assert first.members is first.members
    assert first.members is not second.members


@pytest.mark.parametrize("door", [AsyncSession, AsyncManagement])
def test_the_attributes_are_in_the_order_of_the_alphabet(door: type) -> None:
    names = [name for name, value in vars(door).items() if isinstance(value, LazyCollection)]
    assert names == sorted(names)


def test_every_collection_is_an_attribute_of_session_or_management() -> None:
    names = [
        name
        for door in (AsyncSession, AsyncManagement)
        for name, value in vars(door).items()
        if isinstance(value, LazyCollection)
    ]
    assert sorted(names) == sorted(COLLECTIONS)


@loop_over("name", COLLECTIONS)
def test_the_class_of_a_collection_has_its_name_in_camel_case(name: str) -> None:
    kind = collection_class(name)
    assert issubclass(kind, Collection)
    assert kind.__name__.lower() == name.replace("_", "")


def test_an_import_loads_no_collection() -> None:
    assert loaded_by("import chatrest; chatrest.AsyncSession") == set()


def test_the_first_use_of_an_attribute_loads_its_collection() -> None:
    use = "from chatrest import App, AsyncSession; AsyncSession(App('a', 'k', base_url='http://[::1]')).users"
    assert loaded_by(use) & set(COLLECTIONS.values()) == {"users"}


def test_a_look_at_one_operation_loads_its_collection_alone() -> None:
    use = "from chatrest._resources import OPERATIONS; OPERATIONS['members.list']"
    assert loaded_by(use) & set(COLLECTIONS.values()) == {COLLECTIONS["members"]} == {"groups"}


@loop_over("name", ["", "members", "members.", "members.nothing", "nothing.list", "collection.x"])
def test_a_name_of_no_operation_is_not_in_the_table(name: str) -> None:
    assert name not in OPERATIONS
    assert OPERATIONS.get(name) is None
