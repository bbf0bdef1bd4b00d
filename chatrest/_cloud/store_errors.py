"""The errors of object stores, and the one line that is made of a store's fault.

A store's own text is never repeated, as it may hold the id of a key, a signature, or an address with a token.
Only its status and its error code are.

obstore shows by its own classes that an object is missing, exists or has changed, and gives all else as an
English text: of a status, an error code, a lost connection or missing credentials it says nothing in another
way. So that text is read here, and nowhere else.
"""

import re
from collections.abc import Mapping
from typing import Final

from ..errors import ChatRestError

_STATUS: Final = re.compile(r"status code: (\d{3})|status: (\d{3}),")
_CODE: Final = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")
_RETRIES: Final = re.compile(r"after (\d+) retries")
_KIND: Final = re.compile(r"kind: (Connect|Request|Timeout|Interrupted|Decode|Unknown)\b")
VARIABLES: Final[Mapping[str, str]] = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Those that have the credentials and the endpoint, by the scheme of an address."""
_CREDENTIALS: Final = re.compile(r"credential|oauth|token", re.IGNORECASE)
_METADATA_SERVICE: Final = re.compile(
    r"169\.254\.169\.254|fd00:ec2::254|metadata\.google\.internal|CredentialProvider"
)
_REDIRECT: Final = "redirect without LOCATION"
_REGION: Final = "; AWS_REGION may not be the region of the bucket"
_HINTS: Final = {
    **dict.fromkeys(("AuthorizationHeaderMalformed", "IllegalLocationConstraintException"), _REGION),
    "NoSuchBucket": "; make the bucket, or correct its name",
}
_NO_RESPONSE: Final[Mapping[str, str]] = {
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
    is_passing: bool = False
    """True if a reply was cut off, or did not come, and obstore did not repeat the request."""


class ObjectNotFoundError(ObjectStoreError):
    """There is no object of this name."""


class ObjectExistsError(ObjectStoreError):
    """An object of this name exists already, with other content; nothing was written."""


class ObjectChangedError(ObjectStoreError):
    """The object is no longer the one with this e-tag; nothing was written."""


class ObjectDamagedError(ObjectStoreError):
    """The content of the object is not that which was put there."""


class ConditionUnsupportedError(ObjectStoreError):
    """The store refuses conditional writes."""


class LeaseHeldError(ObjectStoreError):
    """Another writer holds the lease, and is at work."""


class LeaseLostError(ObjectStoreError):
    """The lease has passed to another writer or has run out: this writer must write nothing more."""


_WORDS: Final[Mapping[type[ObjectStoreError], str]] = {
    ObjectNotFoundError: "it does not exist",
    ObjectExistsError: "it exists already",
    ObjectChangedError: "it has changed",
    ConditionUnsupportedError: "the store does not offer this",
}


def store_error(error: Exception, action: str, target: str) -> ObjectStoreError:
    """Return the error for an exception of obstore.

    `action` is what was tried (`read`, `write` …), `target` the address of the object. The result has neither
    the exception's text nor the exception, as both may hold secrets.
    """
    text = str(error)
    status, code, retries = (_first_match(each, text) for each in (_STATUS, _CODE, _RETRIES))
    error_class: type[ObjectStoreError] = ObjectStoreError
    if isinstance(error, FileNotFoundError) and code != "NoSuchBucket":
        error_class = ObjectNotFoundError
    elif isinstance(error, FileExistsError) or type(error).__name__ == "AlreadyExistsError":
        error_class = ObjectExistsError
    elif type(error).__name__ == "PreconditionError":
        error_class = ObjectChangedError
    elif isinstance(error, NotImplementedError) or status == "501":
        error_class = ConditionUnsupportedError
    reason = _reason(error, text, status, code, target) or _WORDS.get(error_class)
    reason = reason or f"the store's client failed ({type(error).__name__})"
    result = error_class(f"could not {action} {target}: {reason}")
    result.status = int(status) if status else None
    result.is_passing = not status and not retries and bool(_first_match(_KIND, text))
    return result


def _first_match(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return next(filter(None, match.groups())) if match else ""


def _reason(error: Exception, text: str, status: str, code: str, target: str) -> str:
    """Return what the text of an error shows; empty if its class says it all."""
    retries = _first_match(_RETRIES, text)
    requests = f" ({int(retries) + 1} requests)" if retries else ""
    if _METADATA_SERVICE.search(text):
        names = VARIABLES.get(target.partition(":")[0], "those of the store")
        lack = "the environment variables have no credentials, and no metadata service gave any"
        return f"{lack}: expected {names}"
    if status:
        return f"the store answered {status}{code and f' {code}'}{requests}{_HINTS.get(code, '')}"
    if isinstance(error, FileNotFoundError | FileExistsError | NotImplementedError):
        return ""
    if _REDIRECT in text:
        return f"the store answered with a redirect{_REGION}"
    if kind := _first_match(_KIND, text):
        return _NO_RESPONSE[kind] + requests
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if _CREDENTIALS.search(text):
        return "the credentials in the environment variables could not be read"
    return ""
