"""The lenient decoder: what a strict decode of a reply refuses is read here, record by record.

`scanner` splits a reply into its members and records, whatever its bytes; `coercion` makes a struct of a
decoded record, where a value does not have its documented type.
"""

from ....models.raw_json import REFUSED as REFUSED, bytes_of as bytes_of, text_of as text_of
from .coercion import (
    CoercionError as CoercionError,
    Coercions as Coercions,
    coerced as coerced,
    shape as shape,
    type_name as type_name,
    whole_number as whole_number,
)
from .scanner import (
    TooDeep as TooDeep,
    elements as elements,
    is_too_deep as is_too_deep,
    members as members,
    read_record as read_record,
    reply_parts as reply_parts,
    whole as whole,
)
