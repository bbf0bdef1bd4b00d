"""Arguments of `call`: from the texts `KEY=VALUE` to the call of an endpoint.

All that is wrong with the names is one error, which says what is near and what is allowed. The values are
checked by the structs that are made of them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..._core.replies.decode import ManyRecords
from ..._core.requests.endpoint import Call, Endpoint
from ..._parameters.files import File
from ..._secrets import shown
from ...errors import RequestInvalidError
from ..value_types import read_json
from .parameters import ACTING, BODY, Parameter, Parameters

_LIST_OPTIONS: Final = ("limit", "cursor")
"""Options of the command of a list, which are no parameters of the service."""
ReadFile: TypeAlias = Callable[[str], str]
"""Return the text of the file of this name."""


class _GivenTexts(Struct):
    """The texts that are given by parameter, and what is wrong with their names."""

    texts: dict[str, list[str]]
    unknown: list[str]
    bare: list[str]


def call_of(endpoint: Endpoint[Any], texts: Sequence[str], read_file: ReadFile) -> Call[Any]:
    """Return the call that the texts `KEY=VALUE` ask for.

    Raises `RequestInvalidError` for a name that is unknown, missing or given twice, and for a value that is
    not allowed; what `read_file` raises for a file that cannot be read.
    """
    parameters = Parameters(endpoint)
    given = _given(parameters, texts)
    _check_names(endpoint, parameters, given)
    values: dict[str, dict[str, Any]] = {
        place: {} for place in ("acting", "path", "query", "headers", "whole body", "body")
    }
    for parameter in parameters.all:
        if parameter.name in given.texts:
            values[parameter.place][parameter.field] = _value(
                parameter, given.texts[parameter.name], read_file
            )
    return endpoint(
        query=endpoint.query(**values["query"]) if endpoint.query and values["query"] else None,
        body=_body(endpoint, parameters, values["whole body"].get(BODY), values["body"]),
        headers=endpoint.headers(**values["headers"]) if endpoint.headers else None,
        on_behalf_of=values["acting"].get(ACTING),
        **values["path"],
    )


def _given(parameters: Parameters, texts: Sequence[str]) -> _GivenTexts:
    given = _GivenTexts({}, [], [])
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator:
            given.bare.append(text)
        elif (parameter := parameters.get(key)) is None:
            given.unknown.append(key)
        else:
            given.texts.setdefault(parameter.name, []).append(value)
    return given


def _check_names(endpoint: Endpoint[Any], parameters: Parameters, given: _GivenTexts) -> None:
    names = {*given.texts}
    if BODY in names:  # it may hold any of them
        names.update(parameter.name for parameter in parameters.of("body"))
    missing = _missing(parameters, names)
    faults = [f"no parameter {shown(name)}{_hint(endpoint, parameters, name)}" for name in given.unknown]
    for index, text in enumerate(given.bare):
        hint = f" (did you mean {shown(f'{missing[index]}={text}')}?)" if index < len(missing) else ""
        faults.append(f"{shown(text)} is not KEY=VALUE{hint}")
    _check(endpoint, parameters, faults, missing)


def _hint(endpoint: Endpoint[Any], parameters: Parameters, name: str) -> str:
    """Return the nearest parameter, or the option of a list that has the name of an unknown parameter."""
    if name in _LIST_OPTIONS and isinstance(endpoint.reply, ManyRecords):
        return f" (did you mean '--{name}'?)"
    return parameters.hint(name)


def _missing(parameters: Parameters, names: Collection[str]) -> list[str]:
    return [each.name for each in parameters.all if each.is_required and each.name not in names]


def _check(
    endpoint: Endpoint[Any], parameters: Parameters, faults: Sequence[str], missing: Sequence[str]
) -> None:
    lacks = [f"missing {', '.join(missing)}"] if missing else []
    if not faults and not lacks:
        return
    allowed = ", ".join(parameter.name for parameter in parameters.all)
    rule = (f"expected {allowed}" if allowed else "it has no parameters",) if faults else ()
    error = RequestInvalidError(f"{endpoint.name}: {'; '.join((*faults, *lacks, *rule))}")
    error.add_note(f"see 'chatrest call {endpoint.name} --help'")
    raise error


def _value(parameter: Parameter, texts: Sequence[str], read_file: ReadFile) -> Any:
    """Return the value of one parameter; a list takes the items of every text."""
    name, rule = parameter.name, parameter.rule
    if parameter.place == "whole body":
        return read_json(name, _single(name, texts, read_file))
    if rule.takes_file:
        return _file(name, texts)
    if rule.per_second and texts[0][1:].isdecimal():  # @86400 is a timestamp, and no file
        return rule.convert(name, _once(name, texts))
    if rule.item is None or len(texts) == 1:
        text = _single(name, texts, read_file)
        if text == "null" and parameter.takes_null and not rule.takes_text:
            return None
        return rule.convert(name, text)
    lists = [rule.convert(name, _content(text, read_file)) for text in texts]
    return [item for items in lists for item in (items if isinstance(items, list) else [items])]


def _file(name: str, texts: Sequence[str]) -> File:
    """Return the file that `@FILE` names."""
    text = _once(name, texts)
    if not text.startswith("@") or text in ("@", "@-"):
        raise RequestInvalidError(f"{name} = {shown(text)}: expected @ and the path of a file")
    return File(text[1:])


def _single(name: str, texts: Sequence[str], read_file: ReadFile) -> str:
    return _content(_once(name, texts), read_file)


def _once(name: str, texts: Sequence[str]) -> str:
    if len(texts) > 1:
        raise RequestInvalidError(f"{name}: given {len(texts)} times, expected once")
    return texts[0]


def _content(text: str, read_file: ReadFile) -> str:
    """Return the text itself, or for `@file` that of the file; `@@` stands for `@`."""
    if not text.startswith("@"):
        return text
    return text[1:] if text.startswith("@@") else read_file(text[1:])


def _body(endpoint: Endpoint[Any], parameters: Parameters, whole: Any, fields: Mapping[str, Any]) -> Any:
    """Return the struct of the body, of `body=…` and the single fields, which replace members of it."""
    if endpoint.body is None:
        return whole
    fields = {**_fields(endpoint, parameters, whole), **fields}
    names = {parameter.name for parameter in parameters.of("body") if parameter.field in fields}
    outside = {parameter.name for parameter in parameters.all if parameter.place != "body"}
    _check(endpoint, parameters, (), _missing(parameters, names | outside))
    return endpoint.body(**fields)


def _fields(endpoint: Endpoint[Any], parameters: Parameters, whole: Any) -> dict[str, Any]:
    if whole is None:
        return {}
    if not isinstance(whole, dict):
        raise RequestInvalidError(f"{BODY} = {shown(whole)}: expected a JSON object")
    by_member = {name: parameters.get(f"{BODY}.{name}") for name in whole}
    unknown = [
        f"no member {shown(name)} in the body{parameters.hint(f'{BODY}.{name}')}"
        for name, parameter in by_member.items()
        if parameter is None
    ]
    _check(endpoint, parameters, unknown, ())
    return {each.field: whole[name] for name, each in by_member.items() if each is not None}
