"""The help of a struct: its fields, each with its meaning, which is read from the source."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_type_hints

from msgspec import Struct, StructMeta, UnsetType
from msgspec.structs import FieldInfo, fields

from ._texts import nearest

_OF_EVERY_STRUCT: Final = frozenset(dir(Struct)) - {"__class__", "__doc__", "__init__", "__module__"}


def help_text(kind: Any) -> str:
    """Return the struct's own words, and a line for each field."""
    from inspect import cleandoc

    lines = [cleandoc(vars(kind).get("__doc__") or "")]
    for field in public_fields(kind):
        name, words = f"{field.name}{'*' if field.required else ''}", kind._field_words(field.name)
        lines.append(f"  {name}: {words}" if words else f"  {name}")
    lines[1:1] = ["", "Fields (* is required):"] if len(lines) > 1 else []
    return "\n".join(lines)


class StructHelp(StructMeta):
    """The metaclass of structs whose help has a line for each field."""

    if not TYPE_CHECKING:

        def __dir__(cls) -> list[str]:  # noqa: N805, a metaclass
            """The names of the class, without the methods of every struct, in which `help` would drown."""
            return sorted(set(super().__dir__()) - _OF_EVERY_STRUCT)

        __doc__ = property(help_text)  # a subclass with a docstring repeats it

        def _field_words(cls, field: str) -> str:  # noqa: N805
            return written_meaning(cls, field)


class NamedFields(StructHelp):
    """The metaclass of structs that users make, by the names of their fields.

    The error of a misspelt field names the nearest one.
    """

    if not TYPE_CHECKING:
        __doc__ = property(help_text)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
            try:
                return StructMeta.__call__(cls, *args, **kwargs)
            except TypeError as error:
                known = cls.__struct_fields__
                misspelt = next((name for name in kwargs if name not in known), None)
                fault = f": {error}"
                if misspelt is not None:
                    fault = f" has no field {misspelt!r}{nearest(misspelt, known)}"
                failure = TypeError(f"{cls.__name__}{fault}")
            finally:
                del args, kwargs  # no frame of the error holds a value: it may be a credential
            raise failure

        @property
        def __signature__(cls) -> Any:  # noqa: N805
            """The fields with the types that a caller may give: msgspec's writes out the rule of each field.

            `argument_types` of a class are those that differ from the types of its fields.
            """
            from inspect import Parameter, Signature  # 10 ms, and only help needs it

            hints = get_type_hints(cls) | getattr(cls, "argument_types", {})
            return Signature(
                Parameter(
                    field.name,
                    Parameter.KEYWORD_ONLY,
                    default=Parameter.empty if field.required else field.default,
                    annotation=_without_unset(hints[field.name]),
                )
                for field in public_fields(cls)
            )


def public_fields(kind: type[Struct]) -> list[FieldInfo]:
    return [field for field in fields(kind) if not field.name.startswith("_")]


def _without_unset(hint: Any) -> Any:
    parts = get_args(hint)
    return Union[tuple(part for part in parts if part is not UnsetType)] if UnsetType in parts else hint  # noqa: UP007


def written_meaning(kind: type, field: str) -> str:
    """Return the words under a field in the source, as a phrase; empty for a field whose name says all."""
    texts = (_field_texts(owner.__module__).get((owner.__name__, field), "") for owner in kind.__mro__)
    return phrase(next(filter(None, texts), ""))


def phrase(sentence: str) -> str:
    """Return a sentence as a part of another one: `The id.` is `the id`."""
    text = sentence.removesuffix(".")
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


@cache
def _field_texts(module: str) -> dict[tuple[str, str], str]:
    """Return what the source of a module has under its fields, by class and field."""
    import ast
    from inspect import getsource
    from itertools import pairwise

    texts: dict[tuple[str, str], str] = {}
    try:
        source = getsource(sys.modules[module])
    except (OSError, TypeError):  # compiled files alone
        return texts
    for kind in (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for field, under in pairwise(kind.body):
            match field, under:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[kind.name, name] = " ".join(text.split())
    return texts
