"""The errors of object stores, and the one line that is made of a store's fault.

A store's own text is never repeated, as it may hold the id of a key, a signature, or an address with a token.
Only its status and its error code are.
"""

import re
from typing import Final, final

from ..errors import ChatRestError

_STATUS: Final = re.compile(r"status code: (\d{3})")
_RESPONSE_STATUS: Final = re.compile(r"status: (\d{3}),")
_CODE: Final = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")
_RETRIES: Final = re.compile(r"after (\d+) retries")
_KIND: Final = re.compile(r"kind: (Connect|Request|Timeout|Interrupted|Decode|Unknown)\b")
_METADATA_SERVICES: Final = (
    "169.254.169.254",
    "fd00:ec2::254",
    "metadata.google.internal",
    "CredentialProvider",
)
_REDIRECT: Final = "redirect without LOCATION"
_REGION_HINTS: Final = {
    "AuthorizationHeaderMalformed": "; AWS_REGION may not be the region of the bucket",
    "IllegalLocationConstraintException": "; AWS_REGION may not be the region of the bucket",
}
_CREDENTIALS: Final = re.compile(r"credential|oauth|token", re.IGNORECASE)
_NO_RESPONSE: Final = {
    "Connect": "no connection could be made",
    "Request": "the connection ended before the reply",
    "Timeout": "no reply came in time",
    "Interrupted": "the connection ended before the reply",
    "Decode": "the reply was cut off or unreadable",
    "Unknown": "the request could not be sent, or its reply could not be read",
}


class ObjectStoreError(ChatRestError):
    """A store did not do what was asked, after its retries.

    `status` is the status of its last reply; None if none came. A write may have been applied.
    """

    status: int | None = None


@final
class ObjectNotFoundError(ObjectStoreError):
    """There is no object of this name."""


@final
class ObjectExistsError(ObjectStoreError):
    """An object of this name exists already, with other content; nothing was written."""


@final
class ObjectChangedError(ObjectStoreError):
    """The object is no longer the one with this e-tag; nothing was written."""


@final
class ConditionUnsupportedError(ObjectStoreError):
    """The store refuses conditional writes."""


@final
class LeaseHeldError(ObjectStoreError):
    """Another writer holds the lease. `seconds` is the time until it ends unless it is renewed."""

    seconds: float = 0.0


@final
class LeaseLostError(ObjectStoreError):
    """The lease has passed to another writer or has run out: this writer must write nothing more."""


def store_error(error: Exception, action: str, target: str) -> ObjectStoreError:
    """Return the error for an exception of obstore.

    `action` is what was tried (`read`, `write` …), `target` the address of the object. The result has neither
    the exception's text nor the exception, as both may hold secrets.
    """
    text = str(error)
    status = _status(text)
    kind = type(error).__name__
    code = _CODE.search(text)
    is_missing_bucket = code is not None and code[1] == "NoSuchBucket"
    error_class: type[ObjectStoreError] = ObjectStoreError
    if isinstance(error, FileNotFoundError) and not is_missing_bucket:
        error_class = ObjectNotFoundError
    elif kind == "AlreadyExistsError":
        error_class = ObjectExistsError
    elif kind == "PreconditionError":
        error_class = ObjectChangedError
    elif isinstance(error, NotImplementedError) or status == 501:
        error_class = ConditionUnsupportedError
    result = error_class(f"could not {action} {target}: {_reason(error, text, status)}")
    result.status = status
    return result


def _status(text: str) -> int | None:
    match = _STATUS.search(text) or _RESPONSE_STATUS.search(text)
    return int(match[1]) if match else None


def _reason(error: Exception, text: str, status: int | None) -> str:
    if status is not None:
        return _reply_reason(text, status)
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    if isinstance(error, NotImplementedError):
        return "the store does not offer this"
    if any(name in text for name in _METADATA_SERVICES):
        return "the environment variables have no credentials, and no metadata service gave any"
    if _REDIRECT in text:
        return "the store answered with a redirect; AWS_REGION may not be the region of the bucket"
    if kind := _KIND.search(text):
        return _NO_RESPONSE[kind[1]] + _requests(text)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if _CREDENTIALS.search(text):
        return "the credentials in the environment variables could not be read"
    return {
        "AlreadyExistsError": "it exists already",
        "PreconditionError": "it has changed",
    }.get(type(error).__name__, f"the store's client failed ({type(error).__name__})")


def _reply_reason(text: str, status: int) -> str:
    if any(name in text for name in _METADATA_SERVICES):
        return "the environment variables have no credentials, and no metadata service gave any"
    code = _CODE.search(text)
    name, hint = (f" {code[1]}", _REGION_HINTS.get(code[1], "")) if code else ("", "")
    return f"the store answered {status}{name}{_requests(text)}{hint}"


def _requests(text: str) -> str:
    retries = _RETRIES.search(text)
    return f" ({int(retries[1]) + 1} requests)" if retries else ""
