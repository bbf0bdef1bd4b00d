"""The names that users rely on: all there, loaded when first used, and cheap until then."""

import ast
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import chatrest
from tests.support.cases import loop_over

CONTRACT = [
    "App", "AsyncSession", "AsyncManagement", "Cursor", "Page", "Walk", "MessageQuery", "UserQuery",
    "NewMessage", "RetryPolicy", "Timeouts", "Message", "TextMessage", "MediaMessage", "CustomMessage",
    "ActionMessage", "CallMessage", "UnknownMessage", "User", "AuthToken", "ChatRestError",
    "RequestInvalidError", "ApiError", "BadRequestError", "AuthenticationError", "PermissionDeniedError",
    "NotFoundError", "ConflictError", "RateLimitError", "ServerError", "TransportError", "ConnectError",
    "RequestTimeoutError", "ReplyUnreadableError", "OutcomeUnknownError", "DeadlineExceededError",
    "CursorError", "parse", "to_datetime", "Ack", "Outcomes", "Member", "MemberScope", "AddedMember",
    "MemberQuery", "NewMembers", "MessageCount", "File", "ActingUserIgnoredError",
]  # fmt: skip
TREE = {
    "RequestInvalidError": "ChatRestError ValueError", "ApiError": "ChatRestError",
    "BadRequestError": "ApiError", "AuthenticationError": "ApiError", "PermissionDeniedError": "ApiError",
    "NotFoundError": "ApiError", "ConflictError": "ApiError", "RateLimitError": "ApiError",
    "ServerError": "ApiError", "TransportError": "ChatRestError", "ConnectError": "TransportError",
    "RequestTimeoutError": "TransportError TimeoutError", "ReplyUnreadableError": "TransportError",
    "OutcomeUnknownError": "ChatRestError", "DeadlineExceededError": "ChatRestError TimeoutError",
    "CursorError": "ChatRestError", "ActingUserIgnoredError": "ChatRestError",
    "ServerOutcomeUnknownError": "ServerError OutcomeUnknownError",
    "DeadlineOutcomeUnknownError": "DeadlineExceededError OutcomeUnknownError",
}  # fmt: skip
PROGRAM_NAMES: list[str] = vars(chatrest)["__all__"]
"""The names that most programs start from, and the errors; the stub has no `__all__`."""
NETWORK = ("aiohttp", "yarl", "multidict", "tenacity", "ssl", "asyncio")


def fresh(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", f"import sys\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@loop_over("name", CONTRACT)
def test_every_name_of_the_contract_exists(name: str) -> None:
    assert getattr(chatrest, name).__class__
    assert name in PROGRAM_NAMES
    assert name in dir(chatrest)


@loop_over("name", TREE)
def test_the_tree_of_errors_is_that_of_the_contract(name: str) -> None:
    assert " ".join(base.__name__ for base in getattr(chatrest, name).__bases__) == TREE[name]


def test_a_star_import_gives_all_names() -> None:
    scope: dict[str, object] = {}
    exec("from chatrest import *", scope)
    assert set(PROGRAM_NAMES) <= set(scope)


def test_the_names_at_run_time_are_those_for_type_checkers() -> None:
    tree = ast.parse(Path(chatrest.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes == chatrest._HOME
    assert sorted(PROGRAM_NAMES) == PROGRAM_NAMES
    assert set(PROGRAM_NAMES) < set(homes) <= set(dir(chatrest))
    assert {name for name, home in homes.items() if home == "errors"} <= set(PROGRAM_NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'chatrest' has no attribute 'Sesion'"):
        _ = chatrest.Sesion
    with pytest.raises(ImportError, match="Sesion"):
        exec("from chatrest import Sesion")
    assert not hasattr(chatrest, "__wrapped__")


def test_a_name_is_stored_after_its_first_use() -> None:
    output = fresh("import chatrest\na = chatrest.App\nprint('App' in vars(chatrest), a is chatrest.App)")
    assert output == "True True"


def test_importing_chatrest_imports_no_large_module() -> None:
    loaded = fresh("import chatrest\nprint(*sys.modules)").split()
    assert not set(loaded) & {*NETWORK, "msgspec", "obstore", "chatrest.session", "chatrest.errors"}


def test_modules_below_the_network_do_not_import_it() -> None:
    modules = (
        "errors", "_parameters.messages", "_walk", "_resources.messages", "_resources.users",
        "_resources.apps", "_core.requests.wire", "_core.pace.retry", "_core.replies.error_reply",
        "_models.messages",
    )  # fmt: skip
    imports = "\n".join(f"import chatrest.{module}" for module in modules)
    loaded = fresh(f"{imports}\nprint(*sys.modules)").split()
    assert not set(loaded) & {*NETWORK, "chatrest._network.transport"}


def test_names_without_network_do_not_import_aiohttp() -> None:
    names = (
        "App Cursor Page Walk MessageQuery UserQuery NewMessage RetryPolicy Timeouts Message User ApiError"
    )
    loaded = fresh(f"from chatrest import {names.replace(' ', ', ')}\nprint(*sys.modules)").split()
    assert not set(loaded) & set(NETWORK)


def test_public_classes_are_final() -> None:
    """Errors and structs apart, and what other classes are derived from: outcomes."""
    kinds = {name: getattr(chatrest, name) for name in chatrest._HOME}
    open_to_all = [
        name
        for name, kind in kinds.items()
        if isinstance(kind, type)
        and not issubclass(kind, Exception | msgspec.Struct)
        and getattr(kind, "__final__", False) is not True
    ]
    assert sorted(open_to_all) == ["Outcomes"]
    assert issubclass(chatrest.PermissionOutcomes, chatrest.Outcomes)
    for kind in (chatrest.Success, chatrest.Failure):
        assert issubclass(kind, chatrest.Outcome)  # type: ignore[arg-type]


def test_values_are_frozen() -> None:
    for value, name in (
        (chatrest.App("a", "k"), "app_id"),
        (chatrest.Timeouts(), "read"),
        (chatrest.RetryPolicy(), "attempts"),
        (chatrest.MessageQuery(), "limit"),
        (chatrest.Cursor("q"), "at"),
    ):
        with pytest.raises(AttributeError):
            setattr(value, name, None)
        assert hash(value) is not None
    assert issubclass(chatrest.Page, msgspec.Struct)


def test_every_public_name_has_a_docstring() -> None:
    for name in chatrest._HOME:
        kind = getattr(chatrest, name)
        assert not isinstance(kind, type) or (kind.__doc__ or "").strip(), name


def test_no_docstring_cites_a_document_that_is_not_here() -> None:
    """Nor does a comment: a reader of the package cannot look it up."""
    root = Path(chatrest.__file__).parent
    cited = re.compile(r"\b(?:specification|operations\s+table)\b", re.IGNORECASE)
    files = [*root.rglob("*.py"), *root.rglob("*.md")]
    assert [str(file) for file in files if cited.search(file.read_text(encoding="utf-8"))] == []


def test_the_help_of_the_package_can_be_read() -> None:
    """The main names, each with its own help; 25,642 lines once."""
    shown = pydoc.render_doc(chatrest, renderer=pydoc.plaintext).splitlines()
    assert len(shown) < 8000  # from 3.13 on a parameter a line
    assert any("help(session.messages)" in line for line in shown[:20])
