"""pydantic models with the same fields as the structs of `hand`, from which they are made."""

import types
from functools import cache
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from msgspec import NODEFAULT, inspect, structs
from pydantic import BaseModel, Field, create_model

from . import hand


def model_of(annotation: Any) -> Any:
    """Return a type with a model in the place of each struct in it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if hasattr(origin or annotation, "__struct_fields__"):
        return _model(annotation)
    if not arguments:
        return annotation
    models = tuple(map(model_of, arguments))
    if origin in (Union, types.UnionType):
        union: Any = Union.__getitem__(models)
        is_tagged = all(hasattr(each, "__struct_fields__") for each in arguments)
        return Annotated[union, Field(discriminator="category")] if is_tagged else union
    return origin[models]


@cache
def _model(kind: Any) -> type[BaseModel]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    fields: dict[str, Any] = {}
    for field in structs.fields(kind):
        default = ... if field.default is NODEFAULT else field.default
        fields[field.name] = (model_of(field.type), Field(default, alias=field.encode_name))
    if described.tag_field is not None:
        fields[described.tag_field] = (Literal[described.tag], ...)
    return create_model(described.cls.__name__, **fields)


Page: Final[Any] = _model(hand.TaggedPage)
