"""The most documents of a kind that an app may have."""

from typing import Any

from .context import Call, Context
from .documents import DocumentCollection, Operation
from .refusals import Refusal


def with_quota(create: Operation, collection: DocumentCollection, most: int) -> Operation:
    """Return `create`, refused with 400 where there are `most` documents already (its status: not shown)."""

    def create_within_quota(context: Context, call: Call) -> Any:
        if len(collection.list(context, call)) >= most:
            message = f"The plan allows {most} of {collection.kind.replace('_', ' ')}."
            raise Refusal(400, "ERR_PLAN_QUOTA_RESTRICTION", message)
        return create(context, call)

    return create_within_quota
