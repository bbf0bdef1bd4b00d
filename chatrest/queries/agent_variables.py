"""The filter and the bodies of variables."""

from typing import Annotated, ClassVar, Final, Literal, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Filter, Flag

_VALID: Final = r"\A[^\ud800-\udfff]*\Z"

_SourceKind: TypeAlias = Annotated[
    Literal["message_metadata", "user_metadata", "constant"],
    Meta(description="'message_metadata', 'user_metadata' or 'constant'"),
]
_Name: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[a-zA-Z][a-zA-Z0-9_.]{0,49}\Z",
        description="a letter and at most 49 letters a to z, digits, '_' and '.'",
    ),
]
_Path: TypeAlias = Annotated[
    str, Meta(max_length=100, pattern=_VALID, description="a text of at most 100 characters, valid Unicode")
]
_Words: TypeAlias = Annotated[
    str, Meta(max_length=200, pattern=_VALID, description="a text of at most 200 characters, valid Unicode")
]
_Constant: TypeAlias = Annotated[
    str, Meta(max_length=500, pattern=_VALID, description="a text of at most 500 characters, valid Unicode")
]


@final
class VariableQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """The form of the list of all variables: with `group_by_category` it is served by category."""

    group_by_category: Flag | None = None


@final
class NewVariable(Body, frozen=True, kw_only=True, rename="camel"):
    """A variable to create. `constant_value` is needed for every source, and may be a credential."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    name: _Name
    source_type: _SourceKind
    constant_value: _Constant
    description: _Words | UnsetType = UNSET
    source_path: _Path | UnsetType = UNSET
    default_value: _Words | UnsetType = UNSET


@final
class VariableChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of a variable but its name."""

    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    source_type: _SourceKind | UnsetType = UNSET
    description: _Words | UnsetType = UNSET
    source_path: _Path | UnsetType = UNSET
    constant_value: _Constant | UnsetType = UNSET
    default_value: _Words | UnsetType = UNSET
