"""Checked arguments: structs whose annotations say what a field may hold, for options, limits and faults.

Unlike the structs of requests they take functions and other structs, too: only a field whose type has a rule
is checked.
"""

from functools import cache
from typing import Annotated, Any, ClassVar, TypeAlias, dataclass_transform, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from .._parameters.checked import words_of_type
from ..errors import RequestInvalidError

Count: TypeAlias = Annotated[int, Meta(ge=1, description="a whole number from 1")]
FromZero: TypeAlias = Annotated[int, Meta(ge=0, description="a whole number from 0")]
# No time without end: a test would wait for it.
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9, description="a number from 0 to a billion")]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")]


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class CheckedArguments(Struct, frozen=True):
    """Arguments that are checked when they are given; `RequestInvalidError` names the one that is wrong.

    Checked are the fields with a description or with literals; other rules are for the class.
    """

    subject: ClassVar[str | None] = None
    """What is before a field's name in an error; None for the name of the class."""

    def __post_init__(self) -> None:
        for name, (rule, words) in _rules(type(self)).items():
            value = getattr(self, name)
            try:
                msgspec.convert(value, rule)
            except msgspec.ValidationError:
                subject = f"{type(self).__name__}." if self.subject is None else self.subject
                raise RequestInvalidError(f"{subject}{name} = {value!r}: expected {words}") from None


@cache
def _rules(kind: type[CheckedArguments]) -> dict[str, tuple[Any, str]]:
    hints = get_type_hints(kind, include_extras=True)
    rules = {}
    for name in kind.__struct_fields__:
        if words := words_of_type(hints[name]):
            rules[name] = hints[name], words + (", or None" if type(None) in get_args(hints[name]) else "")
    return rules
