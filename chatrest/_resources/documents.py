"""Documents: records of one kind that are listed, got, created, updated and deleted by the same requests.

Their endpoints are made together, as they differ in nothing but the names; each has its method in a
collection.
"""

from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from .._core.replies.decode import ACK, Ack, Listing, many, one
from .._core.requests.endpoint import Endpoint, Media, Reader
from .._parameters.checked import Body

T = TypeVar("T")


class DocumentEndpoints(NamedTuple, Generic[T]):
    """The operations on the documents of one kind."""

    list: Endpoint[Listing[T]]
    get: Endpoint[T]
    create: Endpoint[T]
    update: Endpoint[T]
    delete: Endpoint[Ack]


def documents(
    names: str,
    path: str,
    key: str,
    record: type[T],
    new: type[Body],
    changes: type[Body],
    *,
    reply: Callable[[type[T]], Reader[T]] = one,
    replies: Callable[[type[T]], Reader[Listing[T]]] = many,
    update: Literal["PUT", "PATCH"] = "PUT",
    media: Media = "json",
    listing: dict[str, Any] | None = None,
    **options: Any,
) -> DocumentEndpoints[T]:
    """Return the operations on the documents below `path`, with `key` for the path parameter.

    `names` is `agents.{}_api_tool`, or `roles.{}` where they are the collection itself. `listing` are options
    of the list, such as its query and paging, and `options` those of all five.
    """
    document, is_collection = f"{path}/{{{key}}}", names.endswith("{}")
    every = names.format("list") + ("" if is_collection else "s")
    create, change, delete = (names.format(verb) for verb in ("create", "update", "delete"))
    return DocumentEndpoints(
        Endpoint(every, "GET", path, replies(record), **(listing or {}), **options),
        Endpoint(names.format("get"), "GET", document, reply(record), **options),
        Endpoint(create, "POST", path, reply(record), "never", body=new, media=media, **options),
        Endpoint(change, update, document, reply(record), "idempotent", body=changes, media=media, **options),
        Endpoint(delete, "DELETE", document, ACK, "idempotent", **options),
    )
