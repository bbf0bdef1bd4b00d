"""A line of `call --each`: from a JSON object or a single value to the texts `KEY=VALUE` of one call."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from ..errors import RequestInvalidError
from ..secrets import shown
from .call_parameters import Parameter, Parameters
from .call_values import alternatives, takes_file, takes_text


def texts_of(parameters: Parameters, given: Sequence[str], line: str) -> list[str]:
    """Return the texts for a line, beside those that are `given` for all lines.

    A line that begins with `{` is a JSON object of parameters, one that begins with `"` a JSON text, and any
    other one a text as it is. A text is the value of the path's one parameter that is not given. Raises
    `RequestInvalidError` for what is no JSON, and where the path has no such parameter or several.
    """
    value = _decoded(line) if line[:1] in ("{", '"') else line
    if isinstance(value, dict):
        return list(_of_object(parameters, value))
    names = {parameter.name for text in given if (parameter := parameters.get(text.partition("=")[0]))}
    missing = [each.name for each in parameters.of("path") if each.name not in names]
    if len(missing) != 1:
        left = ", ".join(missing) or "none"
        raise RequestInvalidError(
            f"the line is {shown(_shortened(line))}: allowed is a JSON object of parameters, and a single "
            f"value only for the one parameter of the path that is left: here {left}"
        )
    return [f"{missing[0]}={_escaped(value)}"]


def _decoded(line: str) -> Any:
    try:
        return json.loads(line)  # unlike msgspec's it takes lone surrogates
    except (ValueError, RecursionError) as error:
        raise RequestInvalidError(f"the line is not JSON ({error})") from None


def _of_object(parameters: Parameters, values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        parameter = parameters.get(name)
        text = _escaped(_text(name, value, parameter))
        if parameter is not None and takes_file(parameter.rule):
            text = f"@{value}"
        yield f"{name}={text}"


def _text(name: str, value: Any, parameter: Parameter | None) -> str:
    """Return the text of a `KEY=VALUE` that stands for a JSON value."""
    rule = inspect.AnyType() if parameter is None else parameter.rule
    is_any = any(isinstance(kind, inspect.AnyType) for kind in alternatives(rule))
    if isinstance(value, str) and not is_any:
        return value
    if value is None and (parameter is None or not parameter.takes_null or takes_text(rule)):
        raise RequestInvalidError(f"{name} = None: leave it out, or give the whole body as body")
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def _escaped(text: Any) -> str:
    """Return a text that is not taken for the name of a file."""
    return f"@{text}" if str(text).startswith("@") else str(text)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
