"""Groups, as far as the operations of their members and messages need them."""

from .context import Context
from .refusals import no_group


def group_record(context: Context, guid: str) -> bytes:
    """Return a group's record; 404 for no such group."""
    record = context.store.people.group(guid)
    if record is None:
        raise no_group(guid)
    return record
