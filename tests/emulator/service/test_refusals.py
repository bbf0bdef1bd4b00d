"""The table of errors: each use of a row gives the values that its text needs."""

import ast
from pathlib import Path

import chatrest.emulator
from chatrest.emulator.service.refusals import ERRORS

FILES = sorted(Path(chatrest.emulator.__file__).parent.rglob("*.py"))


def test_each_error_is_raised_with_the_values_that_its_text_names() -> None:
    calls = [node for file in FILES for node in ast.walk(ast.parse(file.read_text())) if _is_use(node)]
    assert len(calls) > 40
    for call in calls:
        assert isinstance(call, ast.Call)
        code, *values = call.args
        assert isinstance(code, ast.Constant)
        assert ERRORS[str(code.value)][1].count("{}") == len(values), code.value


def _is_use(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "refused"
        and isinstance(node.args[0], ast.Constant)
    )
